//! Events: wire form to a value.
//!
//! Both forms are parsed: `source` with `lastTimestamp`, and `reportingComponent` with `eventTime`. No decision depends
//! on an event.

use super::bounded::{LabelUse, OptionalText, Text, parse, wire};
use super::list::items;
use super::metadata::Metadata;

/// An event about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The kind of the object.
    pub kind: String,
    /// The namespace of the object.
    pub namespace: String,
    /// The name of the object.
    pub name: String,
    /// The uid of the object; empty if it does not say.
    pub uid: String,
    /// The component that it names as its source, else as its reporter. The API server checks neither:
    /// an account that may write events can write any name.
    pub component: String,
    /// The component that it names as its reporter; empty if it names none.
    pub reporter: String,
    /// The reason: one word for programs.
    pub reason: String,
    /// The message.
    pub message: String,
    /// When it was written last, as RFC 3339; empty if it does not say.
    pub time: String,
}

wire! {
    struct EventWire<'a> {
        metadata: Metadata<'a> = "metadata",
        involved_object: AboutWire<'a> = "involvedObject",
        reason: Option<Text<'a>> = "reason",
        message: Option<Text<'a>> = "message",
        source: Option<SourceWire<'a>> = "source",
        reporting_component: Option<Text<'a>> = "reportingComponent",
        last_timestamp: Option<Text<'a>> = "lastTimestamp",
        event_time: Option<Text<'a>> = "eventTime",
        series: Option<SeriesWire<'a>> = "series",
    }

    struct AboutWire<'a> {
        kind: Option<Text<'a>> = "kind",
        namespace: Option<Text<'a>> = "namespace",
        name: Option<Text<'a>> = "name",
        uid: Option<Text<'a>> = "uid",
    }

    struct SourceWire<'a> {
        component: Option<Text<'a>> = "component",
    }

    struct SeriesWire<'a> {
        last_observed_time: Option<Text<'a>> = "lastObservedTime",
    }
}

/// Reads an event from its JSON text.
pub fn event(text: &str) -> Result<Event, serde_json::Error> {
    let wire: EventWire<'_> = parse(text, LabelUse::Skip)?.value;
    let about = wire.involved_object;
    let source = wire.source.as_ref().and_then(|source| source.component.filled());
    let series = wire.series.as_ref().and_then(|series| series.last_observed_time.filled());
    let times = [
        series,
        wire.last_timestamp.filled(),
        wire.event_time.filled(),
        wire.metadata.creation_timestamp.filled(),
    ];
    Ok(Event {
        kind: about.kind.or_empty().to_owned(),
        namespace: about.namespace.or_empty().to_owned(),
        name: about.name.or_empty().to_owned(),
        uid: about.uid.or_empty().to_owned(),
        component: source.or(wire.reporting_component.filled()).unwrap_or_default().to_owned(),
        reporter: wire.reporting_component.or_empty().to_owned(),
        reason: wire.reason.or_empty().to_owned(),
        message: wire.message.or_empty().to_owned(),
        time: times.into_iter().flatten().next().unwrap_or_default().to_owned(),
    })
}

/// Reads a list of events from its JSON text.
pub fn events(list: &str) -> Result<Vec<Event>, serde_json::Error> {
    items(list)?.into_iter().map(event).collect()
}
