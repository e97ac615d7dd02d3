//! Lists of objects, and of the resources of an API group.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::bounded::{ByteMeter, LabelUse, RawText, parse_usual, wire};

wire! {
    /// A list whose items stay text.
    #[derive(Debug)]
    pub struct ListText<'a> {
        /// Its kind.
        pub kind: Option<String> = "kind",
        /// Its apiVersion.
        pub api_version: Option<String> = "apiVersion",
        /// Its metadata.
        pub metadata: Option<RawText<'a>> = "metadata",
        /// Its items.
        pub items: Option<Vec<RawText<'a>>> = "items",
        /// When a snapshot was taken.
        pub taken_at: Option<String> = "takenAt",
    }
}

#[derive(Deserialize)]
struct ListWire<'a> {
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct ResourcesWire {
    #[serde(default)]
    resources: Vec<ResourceWire>,
}

#[derive(Deserialize)]
struct ResourceWire {
    name: String,
    kind: String,
    namespaced: bool,
}

/// The items of a list (JSON text), as JSON texts.
pub fn items(list: &str) -> Result<Vec<&str>, serde_json::Error> {
    let list: ListWire<'_> = serde_json::from_str(list)?;
    Ok(list.items.unwrap_or_default().into_iter().map(RawValue::get).collect())
}

/// The list that a text is, if it is JSON as it usually is: for large ones, as `serde_json` takes twice as long.
pub fn usual_list(text: &str) -> Option<ListText<'_>> {
    parse_usual(text, LabelUse::Skip, &ByteMeter::default()).map(|list| list.value)
}

/// The resource under which an API group serves a kind, and whether it has namespaces, from the group's
/// `APIResourceList` (JSON text). Nothing if it does not serve the kind.
pub fn resource_of(list: &str, kind: &str) -> Result<Option<(String, bool)>, serde_json::Error> {
    let list: ResourcesWire = serde_json::from_str(list)?;
    // Subresources stand there too, some under the kind of their object.
    let is_it = |resource: &ResourceWire| resource.kind == kind && !resource.name.contains('/');
    let found = list.resources.into_iter().find(is_it);
    Ok(found.map(|resource| (resource.name, resource.namespaced)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_served_under_its_own_resource() {
        let list = r#"{"kind": "APIResourceList", "resources": [
            {"name": "disks/status", "kind": "Disk", "namespaced": true},
            {"name": "disks", "kind": "Disk", "namespaced": true},
            {"name": "racks", "kind": "Rack", "namespaced": false}]}"#;
        assert_eq!(resource_of(list, "Disk").unwrap(), Some(("disks".to_owned(), true)));
        assert_eq!(resource_of(list, "Rack").unwrap(), Some(("racks".to_owned(), false)));
        assert_eq!(resource_of(list, "Tape").unwrap(), None);
    }

    #[test]
    fn a_list_without_items_is_empty() {
        assert_eq!(items(r#"{"items": [{"a": 1}, 2]}"#).unwrap(), [r#"{"a": 1}"#, "2"]);
        assert!(items("{}").unwrap().is_empty() && items(r#"{"items": null}"#).unwrap().is_empty());
    }
}
