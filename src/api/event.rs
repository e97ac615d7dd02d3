//! Events: what a component wrote about an object, for people.
//!
//! Both ways to write one are read: `source` with `lastTimestamp`, and `reportingComponent` with
//! `eventTime`. Nothing is decided on an event.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::bounded::{LabelUse, Object, Text, read};
use super::metadata::{Metadata, filled, or_empty};

/// What a component wrote about an object.
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
    /// whoever may write events can write any name.
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

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EventWire<'a> {
    #[serde(borrow, default)]
    metadata: Object<Metadata<'a>>,
    #[serde(default)]
    involved_object: Object<AboutWire<'a>>,
    reason: Option<Text<'a>>,
    message: Option<Text<'a>>,
    #[serde(default)]
    source: Option<Object<SourceWire<'a>>>,
    reporting_component: Option<Text<'a>>,
    last_timestamp: Option<Text<'a>>,
    event_time: Option<Text<'a>>,
    #[serde(default)]
    series: Option<Object<SeriesWire<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AboutWire<'a> {
    #[serde(borrow)]
    kind: Option<Text<'a>>,
    namespace: Option<Text<'a>>,
    name: Option<Text<'a>>,
    uid: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct SourceWire<'a> {
    #[serde(borrow)]
    component: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SeriesWire<'a> {
    #[serde(borrow)]
    last_observed_time: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct ListWire<'a> {
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

/// Reads an event from its JSON text.
pub fn event(text: &str) -> Result<Event, serde_json::Error> {
    let wire: EventWire<'_> = read(text, LabelUse::Skip)?.value;
    let about = wire.involved_object.0;
    let source = wire.source.as_ref().and_then(|source| filled(source.0.component.as_ref()));
    let series =
        wire.series.as_ref().and_then(|series| filled(series.0.last_observed_time.as_ref()));
    let times = [
        series,
        filled(wire.last_timestamp.as_ref()),
        filled(wire.event_time.as_ref()),
        filled(wire.metadata.0.creation_timestamp.as_ref()),
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
    let wire: ListWire<'_> = serde_json::from_str(list)?;
    wire.items.iter().flatten().map(|item| event(item.get())).collect()
}
