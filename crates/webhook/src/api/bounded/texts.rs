//! Values of which the text is kept as it was sent.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::reader::{RAW_TEXT, VALUE_AND_TEXT};
use super::{ByteMeter, LabelUse, Parse, ParseBudget, Seed, Source, parse_metered};

/// A value as it stands in the text; it is JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawText<'a>(pub &'a str);

impl Default for RawText<'_> {
    fn default() -> Self {
        Self("null")
    }
}

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

impl<'a, T: Parse<'a> + Default> Nested<'a, T> {
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

impl<'de: 'a, 'a, T: Parse<'de> + Default> Parse<'de> for Nested<'a, T> {
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
