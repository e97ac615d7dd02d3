//! Bounded reading: however large or odd an object is, only so much of it is collected.
//!
//! The API server accepts objects with tens of thousands of labels, and nobody stops a stranger
//! from sending worse. What decisions read by its name is read however much else there is. Each
//! part that a user may make long has an allowance of its own ([`Section`]) and stops growing there;
//! whoever reads the part is told. Text is cut where no name can be that long.

mod labels;

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::model::annotations::{
    ATTACHER_PREFIX, LAST_APPLIED, PairsBuilder, ReadAs, is_read_finalizer, read_as,
};
use crate::model::{AccessMode, AccessModes, Annotations, Finalizers};

pub use self::labels::{MatchLabels, ReadLabels};

/// How many bytes are collected from one object beside its sections: of a pod, its volumes; of a
/// node or a volume that is stored, its labels. 864 KiB: 30,000 labels, which is what the API server
/// was seen to take.
pub const ALLOWANCE_BYTES: usize = 864 * 1024;

/// How many bytes are collected of annotations that decisions read as a family: under `pv.kubernetes.io/`, exemptions, and
/// what populators write. 48 KiB: three hundred where a handful is usual. Those that are read by their key are
/// kept however many there are of others.
///
/// What is not kept is as if it were not there, which is the safe side: an exemption does not count, and a claim is no
/// helper of a populator.
pub const FAMILY_BYTES: usize = 48 * 1024;

/// How many bytes are collected from a section. 48 KiB: 300 expressions of a selector or names of
/// nodes, where a handful is usual.
pub const SECTION_BYTES: usize = 48 * 1024;

/// How many finalizers of attachers are kept: a volume has one for each driver that attaches it.
const ATTACHERS_COUNT_MAX: usize = 16;

/// How many access modes that are not known here are kept: an API has a handful in all.
const NEWER_MODES_COUNT_MAX: usize = 16;

/// What an entry of a list or map takes beside its text: itself, its share of room that is not used
/// yet, and what the allocator adds. Measured with 20,000 entries.
const ENTRY_BYTES: usize = 96;

/// Where text is cut: names have at most 253 characters, a reason in an annotation a few hundred.
const TEXT_BYTES_MAX: usize = 1024;

thread_local! {
    /// What may still be collected for the object that this thread is reading. serde gives a
    /// visitor no context of ours, and a seed for each type would double this file.
    static BYTES_LEFT: Cell<usize> = const { Cell::new(ALLOWANCE_BYTES) };
    static IS_CUT: Cell<bool> = const { Cell::new(false) };
    static LABELS: Cell<LabelUse> = const { Cell::new(LabelUse::Collect) };
    /// What was collected on this thread so far.
    static COLLECTED: Cell<usize> = const { Cell::new(0) };
}

/// How many bytes `read` collected on this thread.
pub fn counted<T>(read: impl FnOnce() -> T) -> (T, usize) {
    let before = COLLECTED.get();
    let value = read();
    (value, COLLECTED.get().wrapping_sub(before))
}

fn count(bytes: usize) {
    COLLECTED.set(COLLECTED.get().wrapping_add(bytes));
}

/// Which labels of an object are wanted: matching reads all, a verdict a few. The labels that a selector
/// names are always wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelUse {
    /// All are collected.
    Collect,
    /// Those that verdicts read are.
    Judged,
    /// All are skipped.
    Skip,
}

/// A value, and whether all of it was collected.
#[derive(Debug)]
pub struct Bounded<T> {
    /// The value.
    pub value: T,
    /// Whether collections had to stop.
    pub is_cut: bool,
}

/// Reads one value from JSON text, with an allowance of its own.
pub fn read<'a, T: Deserialize<'a>>(
    text: &'a str,
    labels: LabelUse,
) -> Result<Bounded<T>, serde_json::Error> {
    begin(labels);
    let Object(value) = serde_json::from_str(text).map_err(shortened)?;
    Ok(Bounded { value, is_cut: IS_CUT.get() })
}

/// The same from bytes, which need not be UTF-8 until they were read.
pub fn read_bytes<'a, T: Deserialize<'a>>(
    bytes: &'a [u8],
) -> Result<Bounded<T>, serde_json::Error> {
    begin(LabelUse::Judged);
    let Object(value) = serde_json::from_slice(bytes).map_err(shortened)?;
    Ok(Bounded { value, is_cut: IS_CUT.get() })
}

fn begin(labels: LabelUse) {
    BYTES_LEFT.set(ALLOWANCE_BYTES);
    IS_CUT.set(false);
    LABELS.set(labels);
}

/// Takes `bytes` from the allowance. Where there are not as many left, they are not collected, nothing
/// is any more, and the object counts as cut.
fn collects(bytes: usize) -> bool {
    let left = BYTES_LEFT.get().checked_sub(bytes);
    BYTES_LEFT.set(left.unwrap_or(0));
    IS_CUT.set(IS_CUT.get() || left.is_none());
    count(left.map_or(0, |_| bytes));
    left.is_some()
}

/// A part of an object with an allowance of its own: however much of it there is, nothing else of the
/// object is read less for it, nor it for the rest.
#[derive(Clone, Debug, Default)]
pub struct Section<T> {
    /// What was read.
    pub value: T,
    /// Whether collections had to stop.
    pub is_cut: bool,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Section<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let outside = (BYTES_LEFT.replace(SECTION_BYTES), IS_CUT.replace(false));
        let read = T::deserialize(deserializer);
        BYTES_LEFT.set(outside.0);
        let is_cut = IS_CUT.replace(outside.1);
        Ok(Self { value: read?, is_cut })
    }
}

/// A value that is written as a map. What serde derives also takes a list of the fields in their
/// order, which no API server does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }
        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

/// Text that is cut at `TEXT_BYTES_MAX`; numbers and the like are errors.
///
/// Borrowed where it stands without an escape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text<'a>(pub Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(charged(if text.len() <= TEXT_BYTES_MAX {
                    Cow::Borrowed(text)
                } else {
                    Cow::Owned(cut(text).into())
                })))
            }

            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(charged(Cow::Owned(cut(text).into()))))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

/// Takes a text from the allowance, also where it is only borrowed: what is made of it is a copy. The
/// fields of an object are few, so a text is kept, and what is collected next pays.
fn charged(text: Cow<'_, str>) -> Cow<'_, str> {
    BYTES_LEFT.set(BYTES_LEFT.get().saturating_sub(text.len()));
    count(text.len());
    text
}

/// The text, or its head and its length, so that a change of either is still a change.
fn cut(text: &str) -> Box<str> {
    if text.len() <= TEXT_BYTES_MAX {
        return text.into();
    }
    let end = text.floor_char_boundary(TEXT_BYTES_MAX);
    let head = text.get(..end).unwrap_or_default();
    format!("{head}… ({} bytes)", text.len()).into()
}

pub(super) fn duplicate<E: Error>(key: &str) -> E {
    E::custom(format!("duplicate key `{}`", key.escape_debug()))
}

/// How much of a reason is kept before and after what is too long in it: it quotes the value, and ends with
/// what was expected instead.
const REASON_HEAD_CHARS: usize = 160;
const REASON_TAIL_CHARS: usize = 80;

/// The error with the middle of its reason left out, if that is long: a stranger's text must not come back
/// whole. The place is kept.
fn shortened(error: serde_json::Error) -> serde_json::Error {
    let place = format!(" at line {} column {}", error.line(), error.column());
    let told = error.to_string();
    let reason = told.strip_suffix(&place).unwrap_or(&told);
    let count = reason.chars().count();
    if count <= REASON_HEAD_CHARS + REASON_TAIL_CHARS {
        return error;
    }
    let head: String = reason.chars().take(REASON_HEAD_CHARS).collect();
    let tail: String = reason.chars().skip(count - REASON_TAIL_CHARS).collect();
    // Read back from the text, the place is that of the new error too.
    Error::custom(format!("{head}…{tail}{place}"))
}

/// A list that stops growing when the allowance is used up.
#[derive(Debug)]
pub struct List<T>(pub Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
            type Value = List<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_unit<E>(self) -> Result<List<T>, E> {
                Ok(List::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<List<T>, A::Error> {
                let mut list = Vec::new();
                while BYTES_LEFT.get() > 0 {
                    let Some(item) = items.next_element()? else { return Ok(List(list)) };
                    if collects(ENTRY_BYTES) {
                        list.push(item);
                    }
                }
                while items.next_element::<IgnoredAny>()?.is_some() {
                    collects(ENTRY_BYTES);
                }
                Ok(List(list))
            }
        }
        deserializer.deserialize_any(ListVisitor(PhantomData))
    }
}

/// Finalizers that decisions read.
#[derive(Debug, Default)]
pub struct ReadFinalizers(pub Finalizers);

impl<'de> Deserialize<'de> for ReadFinalizers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FinalizersVisitor;
        impl<'de> Visitor<'de> for FinalizersVisitor {
            type Value = ReadFinalizers;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of finalizers")
            }

            fn visit_unit<E>(self) -> Result<ReadFinalizers, E> {
                Ok(ReadFinalizers::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut names: A,
            ) -> Result<ReadFinalizers, A::Error> {
                let mut kept = BTreeSet::<Box<str>>::new();
                let mut attachers = 0;
                while let Some(name) = names.next_element::<KeptFinalizer>()? {
                    let Some(name) = name.0.filter(|name| !kept.contains(name)) else { continue };
                    attachers += usize::from(name.starts_with(ATTACHER_PREFIX));
                    if !name.starts_with(ATTACHER_PREFIX) || attachers <= ATTACHERS_COUNT_MAX {
                        kept.insert(name);
                    }
                }
                Ok(ReadFinalizers(kept.into_iter().collect()))
            }
        }
        deserializer.deserialize_any(FinalizersVisitor)
    }
}

/// A finalizer, kept only if a decision reads it.
struct KeptFinalizer(Option<Box<str>>);

impl<'de> Deserialize<'de> for KeptFinalizer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;
        impl Visitor<'_> for NameVisitor {
            type Value = KeptFinalizer;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a finalizer's name")
            }

            fn visit_str<E>(self, name: &str) -> Result<KeptFinalizer, E> {
                Ok(KeptFinalizer(is_read_finalizer(name).then(|| cut(name))))
            }
        }
        deserializer.deserialize_str(NameVisitor)
    }
}

/// Access modes, each once: the API server takes as many of the same as a list may hold.
#[derive(Debug, Default)]
pub struct ReadModes(pub AccessModes);

impl<'de> Deserialize<'de> for ReadModes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ModesVisitor;
        impl<'de> Visitor<'de> for ModesVisitor {
            type Value = ReadModes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_unit<E>(self) -> Result<ReadModes, E> {
                Ok(ReadModes::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> Result<ReadModes, A::Error> {
                let mut kept = BTreeSet::new();
                while let Some(Text(name)) = names.next_element()? {
                    let is_known = AccessMode::ALL.iter().any(|mode| mode.as_str() == name);
                    if is_known || kept.len() < NEWER_MODES_COUNT_MAX {
                        kept.insert(name);
                    }
                }
                Ok(ReadModes(AccessModes::from_names(kept.iter().map(|name| &**name))))
            }
        }
        deserializer.deserialize_any(ModesVisitor)
    }
}

/// Annotations that decisions read; the others are skipped without being kept.
#[derive(Debug, Default)]
pub struct ReadAnnotations(pub Annotations);

impl<'de> Deserialize<'de> for ReadAnnotations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnnotationsVisitor;
        impl<'de> Visitor<'de> for AnnotationsVisitor {
            type Value = ReadAnnotations;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of annotations")
            }

            fn visit_unit<E>(self) -> Result<ReadAnnotations, E> {
                Ok(ReadAnnotations::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ReadAnnotations, A::Error> {
                let (mut kept, mut bytes) = (PairsBuilder::default(), 0);
                while let Some(KeptKey(key)) = map.next_key()? {
                    let Some(key) = key else {
                        map.next_value::<IgnoredAny>()?;
                        continue;
                    };
                    // Only its presence counts, and it holds a whole manifest.
                    let value = if &*key == LAST_APPLIED {
                        map.next_value::<IgnoredAny>()?;
                        Text::default()
                    } else {
                        map.next_value::<Option<Text<'_>>>()?.unwrap_or_default()
                    };
                    let more = key.len() + value.0.len() + PairsBuilder::ENTRY_BYTES;
                    if read_as(&key) == ReadAs::Family {
                        bytes += more;
                        if bytes > FAMILY_BYTES {
                            continue;
                        }
                    }
                    count(more);
                    kept.push(&key, &value.0);
                }
                let kept = Annotations::new(kept);
                kept.map(ReadAnnotations).map_err(|key| duplicate(&key))
            }
        }
        deserializer.deserialize_any(AnnotationsVisitor)
    }
}

/// A key of an annotation, kept only if a decision reads it.
struct KeptKey(Option<Box<str>>);

impl<'de> Deserialize<'de> for KeptKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl Visitor<'_> for KeyVisitor {
            type Value = KeptKey;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_str<E>(self, key: &str) -> Result<KeptKey, E> {
                Ok(KeptKey((read_as(key) != ReadAs::Unread).then(|| cut(key))))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}

#[cfg(test)]
mod tests;
