//! Amounts on the wire: text, or a bare number, or null.

use std::fmt;

use serde::de::{Deserializer, Visitor};

use super::bounded::{Parse, ParseBudget, wire};
use crate::model::Quantity;

/// An amount as the API accepts and stores it.
///
/// Kubernetes: `resource/quantity.go`, `UnmarshalJSON`: null is zero, quotes are optional, white
/// space around the amount is trimmed. `SetDefaults_ResourceList`: rounded up to thousandths.
impl<'de> Parse<'de> for Quantity {
    fn parse<D: Deserializer<'de>>(_: &ParseBudget<'_>, deserializer: D) -> Result<Self, D::Error> {
        struct QuantityVisitor;
        impl Visitor<'_> for QuantityVisitor {
            type Value = Quantity;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an amount such as 10Gi")
            }

            fn visit_unit<E>(self) -> Result<Quantity, E> {
                Ok(Quantity::ZERO)
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Quantity, E> {
                let amount = Quantity::parse(text.trim()).map_err(E::custom)?;
                Ok(amount.rounded_up_to_thousandths())
            }

            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Quantity, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Quantity, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Quantity, E> {
                self.visit_str(&number.to_string())
            }
        }
        deserializer.deserialize_any(QuantityVisitor)
    }
}

wire! {
    /// Amounts of a volume or a claim by resource; only storage is read.
    #[derive(Debug)]
    pub(super) struct CapacityWire {
        pub(super) storage: Option<Quantity> = "storage",
    }
}

impl CapacityWire {
    /// The amount of storage, zero where absent.
    pub(super) fn storage(amounts: Option<Self>) -> Quantity {
        amounts.and_then(|amounts| amounts.storage).unwrap_or(Quantity::ZERO)
    }
}
