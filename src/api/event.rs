//! Events: wire form to a value.
//!
//! Both forms are parsed: `source` with `lastTimestamp`, and `reportingComponent` with `eventTime`. No decision depends
//! on an event.

use super::bounded::{LabelUse, Text, filled, or_empty, parse, wire};
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
    let source = wire.source.as_ref().and_then(|source| filled(source.component.as_ref()));
    let series = wire.series.as_ref().and_then(|series| filled(series.last_observed_time.as_ref()));
    let times = [
        series,
        filled(wire.last_timestamp.as_ref()),
        filled(wire.event_time.as_ref()),
        filled(wire.metadata.creation_timestamp.as_ref()),
    ];
    Ok(Event {
        kind: or_empty(about.kind.as_ref()).to_owned(),
        namespace: or_empty(about.namespace.as_ref()).to_owned(),
        name: or_empty(about.name.as_ref()).to_owned(),
        uid: or_empty(about.uid.as_ref()).to_owned(),
        component: source
            .or(filled(wire.reporting_component.as_ref()))
            .unwrap_or_default()
            .to_owned(),
        reporter: or_empty(wire.reporting_component.as_ref()).to_owned(),
        reason: or_empty(wire.reason.as_ref()).to_owned(),
        message: or_empty(wire.message.as_ref()).to_owned(),
        time: times.into_iter().flatten().next().unwrap_or_default().to_owned(),
    })
}

/// Reads a list of events from its JSON text.
pub fn events(list: &str) -> Result<Vec<Event>, serde_json::Error> {
    items(list)?.into_iter().map(event).collect()
}
