//! Names and identities of objects: what a volume, a claim or a class is called, and which one it is.
//!
//! Each is a type of its own, so that a volume's name never stands where a claim's is expected.
//! Nothing is validated here: the API server has done that, and a manifest that has not met it yet
//! is invalid there, not here. A clone shares the text: indices and writes repeat names all the time.

use std::fmt;

use arcstr::ArcStr;

/// Declares a text newtype: private field, cheap to compare and to clone, printed as it is.
macro_rules! text_name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(ArcStr);

        impl $name {
            /// The name for this text.
            pub fn new(text: impl Into<ArcStr>) -> Self {
                Self(text.into())
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The text itself, shared.
            pub fn text(&self) -> ArcStr {
                self.0.clone()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }
    };
}

text_name! {
    /// `metadata.name` of a volume; volumes are cluster-scoped.
    VolumeName
}
text_name! {
    /// `metadata.name` of a storage class.
    ClassName
}
/// `metadata.uid`: never used twice, so two objects with one uid are the same object.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uid(Identity);

/// A UUID as the API server writes it takes no text of its own; whatever else was sent is kept as it is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Identity {
    Uuid([u8; 16]),
    Text(ArcStr),
}

impl Uid {
    /// The uid for this text.
    pub fn new(text: impl AsRef<str>) -> Self {
        let text = text.as_ref();
        Self(uuid(text).map_or_else(|| Identity::Text(text.into()), Identity::Uuid))
    }

    /// Returns whether this text spells it.
    pub fn is(&self, text: &str) -> bool {
        *self == Self::new(text)
    }
}

/// Where the bytes of a UUID stand in its text, two digits each.
const UUID_PLACES: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

const HEX: &[u8; 16] = b"0123456789abcdef";

/// The value of each hexadecimal digit in small letters; above 15 for what is none.
const DIGITS: [u8; 256] = {
    let mut values = [u8::MAX; 256];
    let mut value = 0;
    while value < 16 {
        values[HEX[value as usize] as usize] = value;
        value += 1;
    }
    values
};

/// The UUID that the text spells with small letters: five groups of digits, 16 bytes in all.
fn uuid(text: &str) -> Option<[u8; 16]> {
    let text: &[u8; 36] = text.as_bytes().try_into().ok()?;
    let mut uuid = [0; 16];
    let mut seen = 0;
    for (byte, place) in uuid.iter_mut().zip(UUID_PLACES) {
        let high = DIGITS[usize::from(text[place])];
        let low = DIGITS[usize::from(text[place + 1])];
        seen |= high | low;
        *byte = high << 4 | low & 15;
    }
    let has_dashes = [8, 13, 18, 23].iter().all(|place| text[*place] == b'-');
    (seen < 16 && has_dashes).then_some(uuid)
}

/// The text of a UUID.
fn spelled(uuid: &[u8; 16]) -> [u8; 36] {
    let mut text = [b'-'; 36];
    for (byte, place) in uuid.iter().zip(UUID_PLACES) {
        text[place] = HEX[usize::from(byte >> 4)];
        text[place + 1] = HEX[usize::from(byte & 15)];
    }
    text
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Identity::Uuid(bytes) => {
                f.write_str(str::from_utf8(&spelled(bytes)).unwrap_or_default())
            }
            Identity::Text(text) => f.write_str(text),
        }
    }
}

impl fmt::Debug for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

/// `metadata.resourceVersion`: a whole number that grows with every write to any object of its kind.
///
/// Kubernetes: opaque to clients for long, comparable since 1.35 (KEP-5504); upstream's own binder has
/// always compared it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceVersion(Version);

/// A number as the API server writes it takes no text of its own; whatever else was sent is kept as it is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Version {
    Number(u64),
    Text(ArcStr),
}

impl ResourceVersion {
    /// The version for this text.
    pub fn new(text: impl AsRef<str>) -> Self {
        let text = text.as_ref();
        let is_canonical = text == "0" || !text.starts_with(['0', '+']);
        match text.parse() {
            Ok(number) if is_canonical => Self(Version::Number(number)),
            Ok(_) | Err(_) => Self(Version::Text(text.into())),
        }
    }

    /// Returns whether this is the version of a later write than `other`.
    pub fn is_newer_than(&self, other: &Self) -> bool {
        if let (Version::Number(ours), Version::Number(theirs)) = (&self.0, &other.0) {
            return ours > theirs;
        }
        // As numbers without leading zeros, so that no size is too large.
        let (ours, theirs) = (self.to_string(), other.to_string());
        (ours.len(), ours) > (theirs.len(), theirs)
    }
}

impl fmt::Display for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Version::Number(number) => write!(f, "{number}"),
            Version::Text(text) => f.write_str(text),
        }
    }
}

impl fmt::Debug for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

/// Namespace and name of a claim.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClaimKey {
    /// The namespace; empty only in an incomplete reference.
    pub namespace: ArcStr,
    /// The name.
    pub name: ArcStr,
}

impl ClaimKey {
    /// The key of claim `name` in `namespace`.
    pub fn new(namespace: impl Into<ArcStr>, name: impl Into<ArcStr>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// Returns the key that the new volume of a local disk is reserved for until the disk is offered, so that no claim can get it.
    /// There can be no claim of that key ([`ClaimKey::may_exist`]), and no other volume is reserved for it.
    pub fn before_offer(volume: &VolumeName) -> Self {
        Self::new("bindery.dev", volume.as_str())
    }

    /// Returns whether there can be a claim of this key: the name of a namespace has no dot.
    ///
    /// Kubernetes: `apimachinery/pkg/api/validation/generic.go`, `ValidateNamespaceName`.
    pub fn may_exist(&self) -> bool {
        !self.namespace.is_empty() && !self.namespace.contains('.')
    }
}

impl fmt::Display for ClaimKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl fmt::Debug for ClaimKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uids_are_kept_as_they_were_sent() {
        let uuid = "0a1b2c3d-4e5f-6789-abcd-ef0123456789";
        let texts = [
            uuid,
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
            "0A1B2C3D-4E5F-6789-ABCD-EF0123456789",
            "0a1b2c3d4-e5f-6789-abcd-ef0123456789",
            "0a1b2c3d-4e5f-6789-abcd-ef0123456789-",
            "0a1b2c3d-4e5f-6789-abcd-ef012345678",
            "0a1b2c3d-4e5f-6789-abcd-ef012345678g",
            "any",
            "",
        ];
        for text in texts {
            assert_eq!(Uid::new(text).to_string(), text);
            assert_eq!(Uid::new(text).is(uuid), text == uuid);
        }
    }

    #[test]
    fn versions_are_kept_as_they_were_sent_and_compared_as_numbers() {
        let texts = ["0", "7", "007", "+7", "18446744073709551616", "v1"];
        for text in texts {
            assert_eq!(ResourceVersion::new(text).to_string(), text);
        }
        let is_newer = |one: &str, other: &str| {
            ResourceVersion::new(one).is_newer_than(&ResourceVersion::new(other))
        };
        assert!(is_newer("10", "9") && !is_newer("9", "10") && !is_newer("9", "9"));
        assert!(is_newer("18446744073709551616", "18446744073709551615"));
        assert!(!is_newer("18446744073709551615", "18446744073709551616"));
        assert_ne!(ResourceVersion::new("7"), ResourceVersion::new("007"));
    }
}
