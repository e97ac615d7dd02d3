//! The wire form of API objects: types that are parsed within a [`ParseBudget`].

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess,
    Unexpected, Visitor,
};
use serde_json::value::RawValue;

use super::reader::{RAW_TEXT, VALUE_AND_TEXT};
use super::{ByteMeter, LabelUse, ParseBudget, Source, parse_metered};

/// A type that is parsed within a budget.
pub trait Parse<'de>: Sized {
    /// Parses the value.
    fn parse<D: Deserializer<'de>>(
        budget: &ParseBudget<'_>,
        deserializer: D,
    ) -> Result<Self, D::Error>;
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

/// Parses a type as the [`WireCollection`] that it is; with these parameters, if it has any.
macro_rules! parsed_as_collection {
    ($type:ty $(, $param:ident)?) => {
        impl<'de $(, $param: $crate::api::bounded::Parse<'de>)?> $crate::api::bounded::Parse<'de> for $type {
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
    /// The names of its fields in JSON.
    const FIELDS: &'static [&'static str];

    /// Parses the value of a field, by its place in [`FIELDS`](Self::FIELDS).
    fn set<A: MapAccess<'de>>(
        &mut self,
        field: usize,
        budget: &ParseBudget<'_>,
        map: &mut A,
    ) -> Result<(), A::Error>;
}

/// Parses a [`WireObject`] from a map: unknown fields are skipped, a known one may be there once.
pub fn parse_object<'de, T: WireObject<'de>, D: Deserializer<'de>>(
    budget: &ParseBudget<'_>,
    deserializer: D,
) -> Result<T, D::Error> {
    struct ObjectVisitor<'b, T>(Seed<'b, T>);
    impl<'de, T: WireObject<'de>> Visitor<'de> for ObjectVisitor<'_, T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a map")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
            let (mut object, mut seen) = (T::default(), 0_u64);
            let place = |key: &str| T::FIELDS.iter().position(|field| *field == key);
            while let Some(place) = map.next_key_seed(StrSeed("a key", place))? {
                let Some((place, name)) = place.zip(place.and_then(|at| T::FIELDS.get(at))) else {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                };
                if seen & (1 << place) != 0 {
                    return Err(A::Error::duplicate_field(name));
                }
                seen |= 1 << place;
                object.set(place, self.0.0, &mut map)?;
            }
            Ok(object)
        }
    }
    deserializer.deserialize_map(ObjectVisitor(Seed::new(budget)))
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

        impl<'de $(: $life, $life $(, $param: $crate::api::bounded::Parse<'de>)?)?>
            $crate::api::bounded::WireObject<'de> for $name $(<$life $(, $param)?>)?
        {
            const FIELDS: &'static [&'static str] = &[$($json,)*];

            fn set<A: serde::de::MapAccess<'de>>(
                &mut self,
                field: usize,
                budget: &$crate::api::bounded::ParseBudget<'_>,
                map: &mut A,
            ) -> Result<(), A::Error> {
                let mut places = 0..;
                $(if places.next() == Some(field) {
                    self.$field = map.next_value_seed($crate::api::bounded::Seed::new(budget))?;
                    return Ok(());
                })*
                Ok(())
            }
        }

        impl<'de $(: $life, $life $(, $param: $crate::api::bounded::Parse<'de>)?)?>
            $crate::api::bounded::Parse<'de> for $name $(<$life $(, $param)?>)?
        {
            fn parse<D: serde::de::Deserializer<'de>>(
                budget: &$crate::api::bounded::ParseBudget<'_>,
                deserializer: D,
            ) -> Result<Self, D::Error> {
                $crate::api::bounded::parse_object(budget, deserializer)
            }
        }
    )*};
}
pub(in crate::api) use wire;

/// A value as it stands in the text; it is JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawText<'a>(pub &'a str);

impl<'de: 'a, 'a> Parse<'de> for RawText<'a> {
    fn parse<D: Deserializer<'de>>(
        budget: &ParseBudget<'_>,
        deserializer: D,
    ) -> Result<Self, D::Error> {
        struct RawVisitor;
        impl<'de> Visitor<'de> for RawVisitor {
            type Value = RawText<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any valid JSON value")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<RawText<'de>, E> {
                Ok(RawText(text))
            }
        }
        match budget.source {
            Source::Reader => deserializer.deserialize_newtype_struct(RAW_TEXT, RawVisitor),
            Source::SerdeJson => {
                <&RawValue>::deserialize(deserializer).map(|value| Self(value.get()))
            }
        }
    }
}

/// A value, and as it stands in the text.
#[derive(Debug)]
pub struct WithText<'a, T> {
    /// The value.
    pub value: T,
    /// Its text; it is JSON.
    pub text: &'a str,
}

impl<'de: 'a, 'a, T: Parse<'de>> Parse<'de> for WithText<'a, T> {
    fn parse<D: Deserializer<'de>>(
        budget: &ParseBudget<'_>,
        deserializer: D,
    ) -> Result<Self, D::Error> {
        struct BothVisitor<'b, T>(Seed<'b, T>);
        impl<'de, T: Parse<'de>> Visitor<'de> for BothVisitor<'_, T> {
            type Value = WithText<'de, T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any valid JSON value")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut both: A) -> Result<Self::Value, A::Error> {
                let value = both.next_element_seed(self.0)?;
                let text = both.next_element::<&str>()?;
                let (value, text) = value
                    .zip(text)
                    .ok_or_else(|| A::Error::invalid_length(1, &"a value and its text"))?;
                Ok(WithText { value, text })
            }
        }
        match budget.source {
            Source::Reader => {
                let visitor = BothVisitor(Seed::new(budget));
                deserializer.deserialize_newtype_struct(VALUE_AND_TEXT, visitor)
            }
            Source::SerdeJson => {
                let text = <&RawValue>::deserialize(deserializer)?.get();
                let value = T::parse(budget, &mut serde_json::Deserializer::from_str(text));
                Ok(Self { value: value.map_err(D::Error::custom)?, text })
            }
        }
    }
}

/// An object inside another: with an allowance of its own, and without labels.
///
/// Where the text is usual, it is read in the same pass as what is around it. Else only its text is kept, so that an error
/// has its place in this object.
#[derive(Debug)]
pub struct Nested<'a, T> {
    /// Its text; it is JSON.
    pub text: &'a str,
    /// In a box, as it is moved more often than it is read.
    read: Option<Box<T>>,
}

impl<'a, T: Parse<'a>> Nested<'a, T> {
    /// What it says.
    pub fn value(self, meter: &ByteMeter) -> Result<T, serde_json::Error> {
        match self.read {
            Some(read) => Ok(*read),
            None => Ok(parse_metered(self.text, LabelUse::Skip, meter)?.value),
        }
    }
}

impl<'a, T> Nested<'a, T> {
    /// Its text alone, to be read as something else.
    pub fn unread<U>(self) -> Nested<'a, U> {
        Nested { text: self.text, read: None }
    }
}

impl<'de: 'a, 'a, T: Parse<'de>> Parse<'de> for Nested<'a, T> {
    fn parse<D: Deserializer<'de>>(
        budget: &ParseBudget<'_>,
        deserializer: D,
    ) -> Result<Self, D::Error> {
        match budget.source {
            Source::Reader => {
                let own = ParseBudget::new(LabelUse::Skip, budget.meter, budget.source);
                let WithText { value, text } = WithText::<Box<T>>::parse(&own, deserializer)?;
                Ok(Self { text, read: Some(value) })
            }
            Source::SerdeJson => {
                let RawText(text) = RawText::parse(budget, deserializer)?;
                Ok(Self { text, read: None })
            }
        }
    }
}

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
plain!(bool, i64, String, IgnoredAny, Cow<'de, str>);

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

impl<'de, T: Parse<'de>> Parse<'de> for Box<T> {
    fn parse<D: Deserializer<'de>>(
        budget: &ParseBudget<'_>,
        deserializer: D,
    ) -> Result<Self, D::Error> {
        T::parse(budget, deserializer).map(Self::new)
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
