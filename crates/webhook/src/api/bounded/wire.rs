//! The wire form of API objects: types that are parsed within a [`ParseBudget`].

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess,
    Unexpected, Visitor,
};

use super::ParseBudget;

/// A type that is parsed within a budget.
pub trait Parse<'de>: Sized {
    /// Parses the value.
    fn parse<D: Deserializer<'de>>(
        budget: &ParseBudget<'_>,
        deserializer: D,
    ) -> Result<Self, D::Error>;

    /// Parses the value into its place, where the default value is so far.
    fn parse_in_place<D: Deserializer<'de>>(
        &mut self,
        budget: &ParseBudget<'_>,
        deserializer: D,
    ) -> Result<(), D::Error> {
        *self = Self::parse(budget, deserializer)?;
        Ok(())
    }
}

/// Passes the budget to a value of a map or list.
#[derive(Debug)]
pub struct Seed<'b, T>(&'b ParseBudget<'b>, PhantomData<T>);

impl<'b, T> Seed<'b, T> {
    /// Passes this budget.
    pub fn new(budget: &'b ParseBudget<'b>) -> Self {
        Self(budget, PhantomData)
    }
}

impl<'de, T: Parse<'de>> DeserializeSeed<'de> for Seed<'_, T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        T::parse(self.0, deserializer)
    }
}

/// Parses a text by a function, without keeping it. The first field says what an error expected.
#[derive(Debug)]
pub struct StrSeed<F>(pub &'static str, pub F);

impl<'de, T, F: FnOnce(&str) -> T> DeserializeSeed<'de> for StrSeed<F> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<T, F: FnOnce(&str) -> T> Visitor<'_> for StrSeed<F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok((self.1)(text))
    }
}

/// A type that is made of a list or map; null is an empty one.
pub trait WireCollection<'de>: Default {
    /// What an error says was expected.
    const EXPECTED: &'static str;

    /// Makes it of a list.
    fn from_seq<A: SeqAccess<'de>>(_: &ParseBudget<'_>, _: A) -> Result<Self, A::Error> {
        Err(A::Error::invalid_type(Unexpected::Seq, &Self::EXPECTED))
    }

    /// Makes it of a map.
    fn from_map<A: MapAccess<'de>>(_: &ParseBudget<'_>, _: A) -> Result<Self, A::Error> {
        Err(A::Error::invalid_type(Unexpected::Map, &Self::EXPECTED))
    }
}

/// Parses a [`WireCollection`].
pub fn parse_collection<'de, T: WireCollection<'de>, D: Deserializer<'de>>(
    budget: &ParseBudget<'_>,
    deserializer: D,
) -> Result<T, D::Error> {
    struct CollectionVisitor<'b, T>(Seed<'b, T>);
    impl<'de, T: WireCollection<'de>> Visitor<'de> for CollectionVisitor<'_, T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(T::EXPECTED)
        }

        fn visit_unit<E>(self) -> Result<T, E> {
            Ok(T::default())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<T, A::Error> {
            T::from_seq(self.0.0, items)
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            T::from_map(self.0.0, map)
        }
    }
    deserializer.deserialize_any(CollectionVisitor(Seed::new(budget)))
}

/// Parses a type as the [`WireCollection`] that it is; with this lifetime and this parameter, if it has them.
macro_rules! parsed_as_collection {
    ($type:ty $(, $life:lifetime)? $(, $param:ident)?) => {
        impl<'de $(: $life, $life)? $(, $param: $crate::api::bounded::Parse<'de>)?>
            $crate::api::bounded::Parse<'de> for $type
        {
            fn parse<D: serde::de::Deserializer<'de>>(
                budget: &$crate::api::bounded::ParseBudget<'_>,
                deserializer: D,
            ) -> Result<Self, D::Error> {
                $crate::api::bounded::parse_collection(budget, deserializer)
            }
        }
    };
}
pub(in crate::api) use parsed_as_collection;

/// A type with named fields, declared by `wire!`.
pub trait WireObject<'de>: Default {
    /// Its fields.
    type Field: WireField;

    /// Parses the value of a field.
    fn set<A: MapAccess<'de>>(
        &mut self,
        field: Self::Field,
        budget: &ParseBudget<'_>,
        map: &mut A,
    ) -> Result<(), A::Error>;
}

/// The fields of a type of the wire, declared with it.
pub trait WireField: Copy {
    /// The field with this name in JSON.
    fn named(name: &str) -> Option<Self>;

    /// Its name in JSON.
    fn name(self) -> &'static str;

    /// A bit for each field.
    fn bit(self) -> u64;
}

/// Parses a [`WireObject`] from a map: unknown fields are skipped, a known one may be there once.
pub fn parse_object<'de, T: WireObject<'de>, D: Deserializer<'de>>(
    object: &mut T,
    budget: &ParseBudget<'_>,
    deserializer: D,
) -> Result<(), D::Error> {
    struct ObjectVisitor<'b, T>(&'b mut T, &'b ParseBudget<'b>);
    impl<'de, T: WireObject<'de>> Visitor<'de> for ObjectVisitor<'_, T> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a map")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            let mut seen = 0_u64;
            while let Some(field) = map.next_key_seed(StrSeed("a key", T::Field::named))? {
                let Some(field) = field else {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                };
                if seen & field.bit() != 0 {
                    return Err(A::Error::duplicate_field(field.name()));
                }
                seen |= field.bit();
                self.0.set(field, self.1, &mut map)?;
            }
            Ok(())
        }
    }
    deserializer.deserialize_map(ObjectVisitor(object, budget))
}

/// A value that is parsed where it will stay: an object has some hundred bytes, which would be moved from function to
/// function.
#[derive(Debug)]
pub struct InPlace<'b, T>(pub &'b mut T, pub &'b ParseBudget<'b>);

impl<'de, T: Parse<'de>> DeserializeSeed<'de> for InPlace<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0.parse_in_place(self.1, deserializer)
    }
}

/// Declares types of the wire, each field with its name in JSON. An absent field is its default.
macro_rules! wire {
    ($($(#[$meta:meta])* $vis:vis struct $name:ident $(<$life:lifetime $(, $param:ident)?>)? {
        $($(#[$doc:meta])* $field_vis:vis $field:ident: $type:ty = $json:literal,)*
    })*) => {$(
        $(#[$meta])*
        $vis struct $name $(<$life $(, $param)?>)? {
            $($(#[$doc])* $field_vis $field: $type,)*
        }

        impl $(<$life $(, $param)?>)? Default for $name $(<$life $(, $param)?>)? {
            fn default() -> Self {
                Self { $($field: Default::default(),)* }
            }
        }

        const _: () = {
            #[derive(Clone, Copy, Debug)]
            #[allow(non_camel_case_types, unreachable_pub, reason = "each has the name of its field; the type of a public trait cannot be less")]
            pub enum KnownField { $($field,)* }

            impl $crate::api::bounded::WireField for KnownField {
                fn named(name: &str) -> Option<Self> {
                    match name {
                        $($json => Some(Self::$field),)*
                        _ => None,
                    }
                }

                fn name(self) -> &'static str {
                    match self { $(Self::$field => $json,)* }
                }

                fn bit(self) -> u64 {
                    1 << self as u32
                }
            }

            impl<'de $(: $life, $life $(, $param: $crate::api::bounded::Parse<'de> + Default)?)?>
                $crate::api::bounded::WireObject<'de> for $name $(<$life $(, $param)?>)?
            {
                type Field = KnownField;

                fn set<A: serde::de::MapAccess<'de>>(
                    &mut self,
                    field: KnownField,
                    budget: &$crate::api::bounded::ParseBudget<'_>,
                    map: &mut A,
                ) -> Result<(), A::Error> {
                    match field {
                        $(KnownField::$field => map.next_value_seed($crate::api::bounded::InPlace(&mut self.$field, budget)),)*
                    }
                }
            }

            impl<'de $(: $life, $life $(, $param: $crate::api::bounded::Parse<'de> + Default)?)?>
                $crate::api::bounded::Parse<'de> for $name $(<$life $(, $param)?>)?
            {
                fn parse<D: serde::de::Deserializer<'de>>(
                    budget: &$crate::api::bounded::ParseBudget<'_>,
                    deserializer: D,
                ) -> Result<Self, D::Error> {
                    let mut object = Self::default();
                    $crate::api::bounded::parse_object(&mut object, budget, deserializer)?;
                    Ok(object)
                }

                fn parse_in_place<D: serde::de::Deserializer<'de>>(
                    &mut self,
                    budget: &$crate::api::bounded::ParseBudget<'_>,
                    deserializer: D,
                ) -> Result<(), D::Error> {
                    $crate::api::bounded::parse_object(self, budget, deserializer)
                }
            }
        };
    )*};
}
pub(in crate::api) use wire;

/// Types that collect nothing are parsed as serde does it.
macro_rules! plain {
    ($($type:ty),*) => {$(
        impl<'de> Parse<'de> for $type {
            fn parse<D: Deserializer<'de>>(_: &ParseBudget<'_>, deserializer: D) -> Result<Self, D::Error> {
                Self::deserialize(deserializer)
            }
        }
    )*};
}
plain!(bool, i64, String, IgnoredAny);

/// A whole text, borrowed where it stands without an escape.
impl<'de: 'a, 'a> Parse<'de> for Cow<'a, str> {
    fn parse<D: Deserializer<'de>>(_: &ParseBudget<'_>, deserializer: D) -> Result<Self, D::Error> {
        struct WholeVisitor;
        impl<'de> Visitor<'de> for WholeVisitor {
            type Value = Cow<'de, str>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Cow<'de, str>, E> {
                Ok(Cow::Borrowed(text))
            }

            fn visit_str<E>(self, text: &str) -> Result<Cow<'de, str>, E> {
                Ok(Cow::Owned(text.to_owned()))
            }
        }
        deserializer.deserialize_str(WholeVisitor)
    }
}

/// All of a list, however long: for answers of the API server.
impl<'de, T: Parse<'de>> Parse<'de> for Vec<T> {
    fn parse<D: Deserializer<'de>>(
        budget: &ParseBudget<'_>,
        deserializer: D,
    ) -> Result<Self, D::Error> {
        struct VecVisitor<'b, T>(&'b ParseBudget<'b>, PhantomData<T>);
        impl<'de, T: Parse<'de>> Visitor<'de> for VecVisitor<'_, T> {
            type Value = Vec<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a sequence")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
                let mut all = Vec::new();
                while let Some(item) = items.next_element_seed(Seed::new(self.0))? {
                    all.push(item);
                }
                Ok(all)
            }
        }
        deserializer.deserialize_any(VecVisitor(budget, PhantomData))
    }
}

impl<'de, T: Parse<'de> + Default> Parse<'de> for Box<T> {
    fn parse<D: Deserializer<'de>>(
        budget: &ParseBudget<'_>,
        deserializer: D,
    ) -> Result<Self, D::Error> {
        let mut value = Self::default();
        value.as_mut().parse_in_place(budget, deserializer)?;
        Ok(value)
    }
}

impl<'de, T: Parse<'de>> Parse<'de> for Option<T> {
    fn parse<D: Deserializer<'de>>(
        budget: &ParseBudget<'_>,
        deserializer: D,
    ) -> Result<Self, D::Error> {
        struct OptionVisitor<'b, T>(Seed<'b, T>);
        impl<'de, T: Parse<'de>> Visitor<'de> for OptionVisitor<'_, T> {
            type Value = Option<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("option")
            }

            fn visit_unit<E>(self) -> Result<Option<T>, E> {
                Ok(None)
            }

            fn visit_none<E>(self) -> Result<Option<T>, E> {
                Ok(None)
            }

            fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<Option<T>, D::Error> {
                self.0.deserialize(value).map(Some)
            }
        }
        deserializer.deserialize_option(OptionVisitor(Seed::new(budget)))
    }
}
