//! What every object says of itself, and the line of a watch that shows one.
//!
//! Of most lines no more is read: they show what our own writes made. Not here: the objects themselves.

use std::str::from_utf8;

use serde::de::{Error as _, IgnoredAny};

use super::bounded::{LabelUse, OptionalText, Text, WithText, parse, wire};
use crate::model::{ResourceVersion, Uid};

wire! {
    /// A line of a watch.
    #[derive(Debug)]
    pub struct WatchLine<'a> {
        event_type: Option<Text<'a>> = "type",
        object: Option<WithText<'a, ObjectHead<'a>>> = "object",
    }

    /// The part of an object, or of the status of an error, that every kind has.
    #[derive(Debug)]
    pub struct ObjectHead<'a> {
        metadata: HeadMetadata<'a> = "metadata",
        code: Option<i64> = "code",
        message: Option<Text<'a>> = "message",
    }

    /// What an object says of itself.
    #[derive(Debug)]
    struct HeadMetadata<'a> {
        name: Option<Text<'a>> = "name",
        namespace: Option<Text<'a>> = "namespace",
        uid: Option<Text<'a>> = "uid",
        resource_version: Option<Text<'a>> = "resourceVersion",
        annotations: Option<HeadAnnotations> = "annotations",
    }

    /// The annotation of the bookmark that ends a list.
    #[derive(Debug)]
    struct HeadAnnotations {
        initial_events_end: Option<IgnoredAny> = "k8s.io/initial-events-end",
    }
}

/// What a watch shows in one line.
#[derive(Debug)]
pub struct ShownObject<'a> {
    /// The type of the event.
    pub event_type: Text<'a>,
    /// The head of the object.
    pub head: ObjectHead<'a>,
    /// The object.
    pub text: &'a str,
}

/// Parses a line of a watch.
pub fn shown_object(line: &[u8]) -> Result<ShownObject<'_>, serde_json::Error> {
    let text = from_utf8(line).map_err(serde_json::Error::custom)?;
    let WatchLine { event_type, object } = parse(text, LabelUse::Skip)?.value;
    let event_type = event_type.ok_or_else(|| serde_json::Error::missing_field("type"))?;
    let object = object.ok_or_else(|| serde_json::Error::missing_field("object"))?;
    Ok(ShownObject { event_type, head: object.value, text: object.text })
}

/// Parses the head of an object.
pub fn object_head(text: &str) -> Result<ObjectHead<'_>, serde_json::Error> {
    Ok(parse(text, LabelUse::Skip)?.value)
}

impl ObjectHead<'_> {
    /// Its name.
    pub fn name(&self) -> &str {
        self.metadata.name.or_empty()
    }

    /// Its namespace; empty where it is in none.
    pub fn namespace(&self) -> &str {
        self.metadata.namespace.or_empty()
    }

    /// Its uid.
    pub fn uid(&self) -> Uid {
        Uid::new(self.metadata.uid.or_empty())
    }

    /// Its uid as it was sent.
    pub fn uid_text(&self) -> &str {
        self.metadata.uid.or_empty()
    }

    /// Its resourceVersion.
    pub fn version(&self) -> ResourceVersion {
        ResourceVersion::new(self.version_text())
    }

    /// Its resourceVersion as it was sent.
    pub fn version_text(&self) -> &str {
        self.metadata.resource_version.or_empty()
    }

    /// Returns whether it is the bookmark that ends a list.
    pub fn ends_list(&self) -> bool {
        let annotations = self.metadata.annotations.as_ref();
        annotations.is_some_and(|annotations| annotations.initial_events_end.is_some())
    }

    /// The code, if it is an error.
    pub fn code(&self) -> Option<i64> {
        self.code
    }

    /// The message, if it is an error.
    pub fn message(&self) -> &str {
        self.message.or_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: &str = r#"{"kind":"PersistentVolumeClaim","metadata":{"name":"data","namespace":"db","uid":"u",
        "resourceVersion":"7","annotations":{"a":"b"}},"spec":{"metadata":{"name":"no"}}}"#;

    #[test]
    fn a_line_has_the_head_of_its_object_and_all_of_its_text() {
        for (before, after) in [("", r#","type":"MODIFIED""#), (r#""type":"MODIFIED","#, "")] {
            // The last one is read by serde_json, which knows what is unusual here.
            for object in [OBJECT.to_owned(), format!(" {OBJECT} "), OBJECT.replace("\"b\"", "-0")]
            {
                let line = format!("{{{before}\"object\":{object}{after}}}");
                let shown = shown_object(line.as_bytes()).unwrap();
                assert_eq!((&*shown.event_type.0, shown.text), ("MODIFIED", object.trim()));
                let head = shown.head;
                assert_eq!((head.name(), head.namespace()), ("data", "db"));
                assert_eq!(
                    (head.uid(), head.version()),
                    (Uid::new("u"), ResourceVersion::new("7"))
                );
                assert!(!head.ends_list());
            }
        }
    }

    #[test]
    fn a_bookmark_may_end_a_list_and_an_error_has_a_code() {
        let text = r#"{"metadata":{"annotations":{"k8s.io/initial-events-end":"true"}}}"#;
        assert!(object_head(text).unwrap().ends_list());
        let error = object_head(r#"{"code":410,"message":"too old","metadata":{}}"#).unwrap();
        assert_eq!((error.code(), error.message()), (Some(410), "too old"));
    }

    #[test]
    fn a_line_that_lacks_its_object_is_an_error() {
        for line in [&b"{}"[..], br#"{"type":"ADDED"}"#, br#"{"object":{}}"#, b"\xff", b""] {
            assert!(shown_object(line).is_err());
        }
    }
}
