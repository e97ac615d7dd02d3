//! Lists and maps of which only the entries that decisions read are kept.

use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess};

use super::wire::{Seed, StrSeed, WireCollection, parsed_as_collection};
use super::{LabelUse, ParseBudget, Text, cut};
use crate::model::annotations::{
    ATTACHER_PREFIX, JUDGED_LABELS, LAST_APPLIED, PairsBuilder, ReadAs, is_read_finalizer, read_as,
};
use crate::model::{AccessMode, AccessModes, Annotations, Finalizers, Labels};

/// How many bytes are collected of annotations that decisions read as a family: under `pv.kubernetes.io/`, exemptions,
/// and what populators write. 48 KiB: three hundred where a handful is usual. Those that are read by their key are
/// kept however many there are of others.
///
/// What is not kept is as if it were not there, which is the safe side: an exemption does not count, and a claim is no
/// helper of a populator.
pub(super) const FAMILY_BYTES: usize = 48 * 1024;

/// How many finalizers of attachers are kept: a volume has one for each driver that attaches it.
pub(super) const ATTACHERS_COUNT_MAX: usize = 16;

/// How many access modes that are not known here are kept: an API has a handful in all.
pub(super) const NEWER_MODES_COUNT_MAX: usize = 16;

fn duplicate<E: Error>(key: &str) -> E {
    E::custom(format!("duplicate key `{}`", key.escape_debug()))
}

/// The value of the next entry; null is an empty text.
fn value<'de, A: MapAccess<'de>>(
    budget: &ParseBudget<'_>,
    map: &mut A,
) -> Result<Text<'de>, A::Error> {
    Ok(map.next_value_seed(Seed::<Option<Text<'_>>>::new(budget))?.unwrap_or_default())
}

parsed_as_collection!(ReadLabels);
parsed_as_collection!(MatchLabels);
parsed_as_collection!(Finalizers);
parsed_as_collection!(AccessModes);
parsed_as_collection!(Annotations);

/// The labels of an object, as far as they are wanted.
#[derive(Debug, Default)]
pub struct ReadLabels(pub Labels);

impl<'de> WireCollection<'de> for ReadLabels {
    const EXPECTED: &'static str = "a map of labels";

    fn from_map<A: MapAccess<'de>>(budget: &ParseBudget<'_>, mut map: A) -> Result<Self, A::Error> {
        match budget.labels {
            LabelUse::Collect => all_labels(budget, map).map(Self),
            LabelUse::Judged => {
                let judged = |key: &str| JUDGED_LABELS.into_iter().find(|judged| *judged == key);
                some_labels(budget, map, judged).map(Self)
            }
            LabelUse::Only(keys) => {
                let wanted = |key: &str| keys.iter().map(String::as_str).find(|one| *one == key);
                some_labels(budget, map, wanted).map(Self)
            }
            LabelUse::Skip => {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Self::default())
            }
        }
    }
}

/// The labels that a selector names.
#[derive(Debug, Default)]
pub struct MatchLabels(pub Labels);

impl<'de> WireCollection<'de> for MatchLabels {
    const EXPECTED: &'static str = "a map of labels";

    fn from_map<A: MapAccess<'de>>(budget: &ParseBudget<'_>, map: A) -> Result<Self, A::Error> {
        all_labels(budget, map).map(Self)
    }
}

/// Collects labels. Those that verdicts read are collected however many others there are.
fn all_labels<'de, A: MapAccess<'de>>(
    budget: &ParseBudget<'_>,
    mut map: A,
) -> Result<Labels, A::Error> {
    let mut kept = PairsBuilder::default();
    while let Some(key) = map.next_key_seed(Seed::<Text<'_>>::new(budget))? {
        let value = value(budget, &mut map)?;
        if budget.collects(PairsBuilder::ENTRY_BYTES) || JUDGED_LABELS.contains(&&*key.0) {
            kept.push(&key.0, &value.0);
        }
    }
    Labels::new(kept).map_err(|key| duplicate(&key))
}

/// Collects the labels whose key `wanted` returns.
fn some_labels<'de, 'k, A: MapAccess<'de>>(
    budget: &ParseBudget<'_>,
    mut map: A,
    wanted: impl Fn(&str) -> Option<&'k str>,
) -> Result<Labels, A::Error> {
    let mut kept = PairsBuilder::default();
    while let Some(key) = map.next_key_seed(StrSeed("a key", &wanted))? {
        match key {
            Some(key) => kept.push(key, &value(budget, &mut map)?.0),
            None => drop(map.next_value::<IgnoredAny>()?),
        }
    }
    Labels::new(kept).map_err(|key| duplicate(&key))
}

/// Finalizers that decisions read.
impl<'de> WireCollection<'de> for Finalizers {
    const EXPECTED: &'static str = "a list of finalizers";

    fn from_seq<A: SeqAccess<'de>>(_: &ParseBudget<'_>, mut names: A) -> Result<Self, A::Error> {
        // A list, as there are few.
        let (mut kept, mut attachers) = (Vec::<Box<str>>::new(), 0);
        let read = |name: &str| is_read_finalizer(name).then(|| cut(name));
        while let Some(name) = names.next_element_seed(StrSeed("a finalizer's name", read))? {
            let Some(name) = name.filter(|name| !kept.contains(name)) else { continue };
            let is_attacher = name.starts_with(ATTACHER_PREFIX);
            attachers += usize::from(is_attacher);
            if !is_attacher || attachers <= ATTACHERS_COUNT_MAX {
                kept.push(name);
            }
        }
        Ok(kept.into_iter().collect())
    }
}

/// Access modes, each once: the API server accepts as many of the same as a list may hold.
impl<'de> WireCollection<'de> for AccessModes {
    const EXPECTED: &'static str = "a list";

    fn from_seq<A: SeqAccess<'de>>(
        budget: &ParseBudget<'_>,
        mut names: A,
    ) -> Result<Self, A::Error> {
        // A list, as there are few.
        let mut kept = Vec::new();
        while let Some(Text(name)) = names.next_element_seed(Seed::<Text<'_>>::new(budget))? {
            let is_known = AccessMode::ALL.iter().any(|mode| mode.as_str() == name);
            if !kept.contains(&name) && (is_known || kept.len() < NEWER_MODES_COUNT_MAX) {
                kept.push(name);
            }
        }
        Ok(Self::from_names(kept.iter().map(|name| &**name)))
    }
}

/// Annotations that decisions read; the others are skipped.
impl<'de> WireCollection<'de> for Annotations {
    const EXPECTED: &'static str = "a map of annotations";

    fn from_map<A: MapAccess<'de>>(budget: &ParseBudget<'_>, mut map: A) -> Result<Self, A::Error> {
        let (mut kept, mut family_bytes) = (PairsBuilder::default(), 0);
        let read = |key: &str| (read_as(key) != ReadAs::Unread).then(|| cut(key));
        while let Some(key) = map.next_key_seed(StrSeed("a key", read))? {
            let Some(key) = key else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            // Only its presence counts, and it holds a whole manifest.
            let value = if &*key == LAST_APPLIED {
                map.next_value::<IgnoredAny>()?;
                Text::default()
            } else {
                value(budget, &mut map)?
            };
            let more = key.len() + value.0.len() + PairsBuilder::ENTRY_BYTES;
            if read_as(&key) == ReadAs::Family {
                family_bytes += more;
                if family_bytes > FAMILY_BYTES {
                    continue;
                }
            }
            budget.meter.count(more);
            kept.push(&key, &value.0);
        }
        Self::new(kept).map_err(|key| duplicate(&key))
    }
}
