//! Amounts on the wire: text, or a bare number, or null.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Visitor};

use crate::model::Quantity;

/// An amount as the API accepts and stores it.
///
/// Kubernetes: `resource/quantity.go`, `UnmarshalJSON`: null is zero, quotes are optional, white
/// space around the amount is trimmed. `SetDefaults_ResourceList`: rounded up to thousandths.
#[derive(Clone, Debug)]
pub struct WireQuantity(pub Quantity);

impl<'de> Deserialize<'de> for WireQuantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct QuantityVisitor;
        impl Visitor<'_> for QuantityVisitor {
            type Value = WireQuantity;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an amount such as 10Gi")
            }

            fn visit_unit<E>(self) -> Result<WireQuantity, E> {
                Ok(WireQuantity(Quantity::ZERO))
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<WireQuantity, E> {
                let amount = Quantity::parse(text.trim()).map_err(E::custom)?;
                Ok(WireQuantity(amount.rounded_up_to_thousandths()))
            }

            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<WireQuantity, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<WireQuantity, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<WireQuantity, E> {
                self.visit_str(&number.to_string())
            }
        }
        deserializer.deserialize_any(QuantityVisitor)
    }
}
