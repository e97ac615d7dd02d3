//! The objects in a JSON text, lists taken apart, each with its text and its kind.
//!
//! Of an object only the beginning is looked at: the API server and kubectl write the kind before everything
//! that is long. Not here: what an object says (`api`).

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::api::list::{ListText, usual_list};
use crate::cli::exit::Failure;
use crate::cli::input::listing::{Listing, SNAPSHOT_KIND};
use crate::cli::input::metadata::{DEFAULT_NAMESPACE, JsonText};
use crate::cli::input::object_id::ObjectKind;
use crate::cli::input::text::{error_reason, not_json};

/// An object in a text.
#[derive(Debug)]
pub(in crate::cli) struct DumpObject<'a> {
    /// Its kind; empty if it says none.
    pub(in crate::cli) kind: Cow<'a, str>,
    /// The object.
    pub(in crate::cli) text: &'a str,
}

/// The fields that identify an object.
#[derive(Debug, Default)]
struct Head<'a> {
    kind: Option<Cow<'a, str>>,
    api_version: Option<Cow<'a, str>>,
    /// Whether metadata was seen; what has a kind says it before.
    has_metadata: bool,
    /// The metadata of what was read to its end.
    metadata: Option<&'a str>,
    items: Option<Vec<&'a str>>,
    /// When a snapshot was taken, as it is written.
    taken_at: Option<JsonText<'a>>,
}

/// A list of a text with its items, or an object that stands alone.
#[derive(Debug)]
pub(in crate::cli) struct DumpSection<'a> {
    pub(in crate::cli) listing: Listing,
    /// When it was taken, if it is a snapshot that says so.
    pub(in crate::cli) taken: Option<Timestamp>,
    pub(in crate::cli) items: Vec<DumpItem<'a>>,
}

/// A text in which objects are still to be found: one object, or a list of them.
#[derive(Debug)]
pub(in crate::cli) struct DumpItem<'a> {
    text: &'a str,
    /// The kind that its list gives to all items; empty if it gives none.
    of_list: Arc<str>,
}

/// The sections of `text`, which `source` gave.
pub(in crate::cli) fn sections<'a>(
    text: &'a str,
    source: &str,
) -> Result<Vec<DumpSection<'a>>, Failure> {
    // Nearly every dump is one list.
    let usual = usual_list(text).map(Head::of);
    if let Some(section) = usual.and_then(Head::into_list) {
        return Ok(vec![section]);
    }
    let mut sections = Vec::new();
    let mut begin = 0;
    let mut heads = serde_json::Deserializer::from_str(text).into_iter::<Head<'a>>();
    while let Some(head) = heads.next() {
        let head = head.map_err(|error| {
            if error.is_data() {
                unreadable(source, &error)
            } else {
                not_json(source, text, &error)
            }
        })?;
        let end = heads.byte_offset();
        let listing = head.listing();
        sections.push(head.into_list().unwrap_or_else(|| {
            let text = text.get(begin..end).unwrap_or_default();
            let items = vec![DumpItem { text, of_list: Arc::default() }];
            DumpSection { listing, taken: None, items }
        }));
        begin = end;
    }
    Ok(sections)
}

impl DumpObject<'_> {
    /// Its text with the namespace in which it would be stored, if it says none.
    pub(in crate::cli) fn in_default_namespace(&self) -> Option<String> {
        let mut object: Value = serde_json::from_str(self.text).ok()?;
        object.get_mut("metadata")?["namespace"] = DEFAULT_NAMESPACE.into();
        Some(object.to_string())
    }
}

impl<'a> DumpItem<'a> {
    /// Adds its objects to `found`.
    pub(in crate::cli) fn find(
        &self,
        source: &str,
        found: &mut Vec<DumpObject<'a>>,
    ) -> Result<(), Failure> {
        let mut head = self.head(source)?;
        if let Some((of_list, texts)) = head.of_items(&self.of_list).zip(head.items.take()) {
            return texts.iter().try_for_each(|text| {
                DumpItem { text, of_list: of_list.clone() }.find(source, found)
            });
        }
        let kind = match head.kind {
            Some(_) => head.qualified_kind(),
            None => Cow::Owned(self.of_list.to_string()),
        };
        found.push(DumpObject { kind, text: self.text });
        Ok(())
    }

    /// The head of what was found to be JSON.
    fn head(&self, source: &str) -> Result<Head<'a>, Failure> {
        let of_list = &*self.of_list;
        let mut head = Head::default();
        let reader = HeadReader { head: &mut head, until: Until::Enough { of_list } };
        let read = reader.deserialize(&mut serde_json::Deserializer::from_str(self.text));
        match read {
            // Where enough was read, the error is the one that stopped the reading.
            Err(error) if !head.is_enough(of_list) => Err(unreadable(source, &error)),
            Ok(()) | Err(_) => Ok(head),
        }
    }
}

fn unreadable(source: &str, error: &serde_json::Error) -> Failure {
    let reason = error_reason(error);
    Failure::usage(format!("{source}: an object cannot be read: {reason}; make a new dump"))
}

impl<'de> Deserialize<'de> for Head<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut head = Self::default();
        HeadReader { head: &mut head, until: Until::End }.deserialize(deserializer)?;
        Ok(head)
    }
}

impl<'a> Head<'a> {
    /// That of a list.
    fn of(list: ListText<'a>) -> Self {
        Self {
            kind: list.kind.map(Cow::Owned),
            api_version: list.api_version.map(Cow::Owned),
            has_metadata: list.metadata.is_some(),
            metadata: list.metadata.map(|metadata| metadata.0),
            items: list.items.map(|items| items.into_iter().map(|item| item.0).collect()),
            taken_at: list.taken_at.map(|text| JsonText(Cow::Owned(text))),
        }
    }

    /// The section of what was read to its end, if it is a list.
    fn into_list(self) -> Option<DumpSection<'a>> {
        let (listing, of_list) = (self.listing(), self.of_items("")?);
        let taken_at = self.taken_at.as_ref().filter(|_| listing.is_snapshot());
        let taken = taken_at.and_then(|text| text.0.parse().ok());
        let texts = self.items?.into_iter();
        let items = texts.map(|text| DumpItem { text, of_list: Arc::clone(&of_list) }).collect();
        Some(DumpSection { listing, taken, items })
    }

    /// Returns what it proves about other objects.
    fn listing(&self) -> Listing {
        if self.items.is_none() {
            return Listing::part();
        }
        let list = self.metadata.map(serde_json::from_str);
        let Position { r#continue } = list.and_then(Result::ok).unwrap_or_default();
        let is_page = r#continue.is_some_and(|token| !token.0.is_empty());
        Listing::of(&self.qualified_kind(), is_page)
    }

    /// Its kind, empty if it says none; after its API group if that has a kind of a name that decisions read.
    fn qualified_kind(&self) -> Cow<'a, str> {
        let kind = self.kind.clone().unwrap_or_default();
        let known = ObjectKind::from_name(kind.strip_suffix("List").unwrap_or(&kind));
        match (known, &self.api_version) {
            (Some(known), Some(version)) if !known.is_of_group(version) => {
                Cow::Owned(format!("{version}/{kind}"))
            }
            _ => kind,
        }
    }

    /// If it is that of a list: the kind of the items, empty if the list gives none. `of_list` as of an
    /// [`DumpItem`].
    fn of_items(&self, of_list: &str) -> Option<Arc<str>> {
        let own = self.kind.as_ref().map(|_| self.qualified_kind());
        let kind = own.as_deref().unwrap_or(of_list);
        if kind == SNAPSHOT_KIND {
            return Some(Arc::default());
        }
        kind.strip_suffix("List").map(Into::into)
    }

    /// Returns whether the kind of an object that is no list is known.
    fn is_enough(&self, of_list: &str) -> bool {
        let is_list = |kind: &str| kind.ends_with("List") || kind == SNAPSHOT_KIND;
        let is_object = |kind: &str| !kind.is_empty() && !is_list(kind);
        match &self.kind {
            Some(kind) => is_object(kind),
            None => self.has_metadata && is_object(of_list),
        }
    }
}

/// Reads the head of an object.
struct HeadReader<'h, 'a> {
    head: &'h mut Head<'a>,
    until: Until<'h>,
}

/// How far an object is read.
#[derive(Clone, Copy)]
enum Until<'h> {
    /// To its end: what follows it is still to be found.
    End,
    /// Until it is known which object it is; the reading then ends with an error.
    Enough { of_list: &'h str },
}

impl<'de> DeserializeSeed<'de> for HeadReader<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for HeadReader<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(JsonText(key)) = map.next_key()? {
            self.head.has_metadata |= key == "metadata";
            match (&*key, self.until) {
                ("kind", _) => {
                    let kind: Option<JsonText<'de>> = map.next_value()?;
                    self.head.kind = kind.map(|text| text.0);
                }
                ("apiVersion", _) => {
                    let version: Option<JsonText<'de>> = map.next_value()?;
                    self.head.api_version = version.map(|text| text.0);
                }
                ("items", _) => {
                    let items: Option<Vec<&RawValue>> = map.next_value()?;
                    let texts = |items: Vec<&'de RawValue>| items.into_iter().map(RawValue::get);
                    self.head.items = items.map(|items| texts(items).collect());
                }
                ("metadata", Until::End) => {
                    let metadata: Option<&RawValue> = map.next_value()?;
                    self.head.metadata = metadata.map(RawValue::get);
                }
                ("takenAt", Until::End) => self.head.taken_at = map.next_value()?,
                (_, Until::Enough { of_list }) if self.head.is_enough(of_list) => {
                    return Err(A::Error::custom("the rest is not needed"));
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// Where the page of a list ends; nothing if it is the last.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Position<'a> {
    #[serde(borrow)]
    r#continue: Option<JsonText<'a>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A member that is nested too deep for the reader of usual JSON.
    fn deep() -> String {
        format!(r#""deep": {}{},"#, "[".repeat(100), "]".repeat(100))
    }

    #[test]
    fn a_list_is_the_same_whichever_reader_reads_it() {
        let items = r#"[ {"kind": "PersistentVolume"} , {"metadata": {"name": "a"}}, {} ]"#;
        for (kind, metadata) in [
            (r#""List""#, r#"{"continue": "more"}"#),
            (r#""PersistentVolumeList""#, "null"),
            (r#""Snapshot""#, "{}"),
        ] {
            let list = |rest: &str| {
                format!(
                    r#" {{{rest}"items": {items}, "kind": {kind}, "metadata": {metadata},
                    "takenAt": "2026-01-01T00:00:00Z"}}"#
                )
            };
            let (usual, unusual) = (list(""), list(&deep()));
            assert!(usual_list(&usual).is_some() && usual_list(&unusual).is_none());
            let read = |text: &str| format!("{:?}", sections(text, "dump.json").unwrap());
            assert_eq!(read(&usual), read(&unusual), "{kind}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_reported_as_before() {
        let error = |text: &str| sections(text, "dump.json").unwrap_err().message;
        let text = "{\"kind\": \"List\",\n\"items\": [{},]}";
        assert_eq!(error(text), "dump.json:2:14: is not readable as JSON; make a new dump");
        let text = r#"{"kind": "List", "items": {}}"#;
        assert!(
            error(text).starts_with("dump.json: an object cannot be read: "),
            "{}",
            error(text)
        );
    }
}
