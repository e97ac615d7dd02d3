//! Labels, as many as are wanted: all, those that verdicts read, or none.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::{LABELS, LabelUse, Text, collects, duplicate};
use crate::model::Labels;
use crate::model::annotations::{JUDGED_LABELS, PairsBuilder};

/// The labels of an object, if they are wanted.
#[derive(Debug, Default)]
pub struct ReadLabels(pub Labels);

impl<'de> Deserialize<'de> for ReadLabels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LabelsVisitor(LABELS.get())).map(Self)
    }
}

/// The labels that a selector names.
#[derive(Debug, Default)]
pub struct MatchLabels(pub Labels);

impl<'de> Deserialize<'de> for MatchLabels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LabelsVisitor(LabelUse::Collect)).map(Self)
    }
}

struct LabelsVisitor(LabelUse);

impl<'de> Visitor<'de> for LabelsVisitor {
    type Value = Labels;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of labels")
    }

    fn visit_unit<E>(self) -> Result<Labels, E> {
        Ok(Labels::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
        let mut kept = PairsBuilder::default();
        match self.0 {
            LabelUse::Collect => collect_labels(&mut map, &mut kept)?,
            LabelUse::Judged => {
                while let Some(JudgedKey(key)) = map.next_key()? {
                    let Some(key) = key else {
                        map.next_value::<IgnoredAny>()?;
                        continue;
                    };
                    let value = map.next_value::<Option<Text<'_>>>()?.unwrap_or_default();
                    kept.push(key, &value.0);
                }
            }
            LabelUse::Skip => while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {},
        }
        Labels::new(kept).map_err(|key| duplicate(&key))
    }
}

/// Those that verdicts read are collected however many others there are.
fn collect_labels<'de, A: MapAccess<'de>>(
    map: &mut A,
    kept: &mut PairsBuilder,
) -> Result<(), A::Error> {
    while let Some((key, value)) = map.next_entry::<Text<'_>, Option<Text<'_>>>()? {
        let value = value.unwrap_or_default().0;
        if collects(PairsBuilder::ENTRY_BYTES) || JUDGED_LABELS.contains(&&*key.0) {
            kept.push(&key.0, &value);
        }
    }
    Ok(())
}

/// A key of a label, kept only if a verdict reads it.
struct JudgedKey(Option<&'static str>);

impl<'de> Deserialize<'de> for JudgedKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl Visitor<'_> for KeyVisitor {
            type Value = JudgedKey;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_str<E>(self, key: &str) -> Result<JudgedKey, E> {
                Ok(JudgedKey(JUDGED_LABELS.into_iter().find(|judged| *judged == key)))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}
