//! Enumerations that the API spells as text, and that a newer API may extend.

/// Declares one: its known values, spelled as they are called, the first of which an absent or empty text means, and
/// what keeps any other text.
macro_rules! text_enum {
    ($(#[$meta:meta])* $vis:vis enum $name:ident {
        $(#[$default_doc:meta])* $default:ident $(, $(#[$doc:meta])* $known:ident)*;
        $(#[$other_doc:meta])* $other:ident($text:ty)
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis enum $name {
            $(#[$default_doc])* $default,
            $($(#[$doc])* $known,)*
            $(#[$other_doc])* $other($text),
        }

        impl $name {
            /// Returns what an optional text spells.
            pub fn from_text(text: Option<&str>) -> Self {
                match text.unwrap_or_default() {
                    "" => Self::$default,
                    text if text == stringify!($default) => Self::$default,
                    $(text if text == stringify!($known) => Self::$known,)*
                    text => Self::$other(text.into()),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self {
                    Self::$default => stringify!($default),
                    $(Self::$known => stringify!($known),)*
                    Self::$other(text) => text,
                })
            }
        }
    };
}
pub(super) use text_enum;
