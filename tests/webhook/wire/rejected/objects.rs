//! Objects with a field of the wrong type, in each place where an object is read: created, new, stored, and
//! deleted. One row for each field and each type that cannot stand there.

use bindery::model::Quantity;

use super::{Row, row};
use crate::wire::{about, review};

/// One value of each type of JSON, and what a reader calls it.
pub(super) const WRONG: [(&str, &str); 7] = [
    ("7", "integer `7`"),
    ("1.5", "floating point `1.5`"),
    ("true", "boolean `true`"),
    ("\"a\"", "string \"a\""),
    ("[]", "sequence"),
    ("{}", "map"),
    ("null", "null"),
];

/// What a field takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    Text,
    Uid,
    Bool,
    Whole,
    Map,
    List,
    Amount,
    Labels,
    Notes,
    Finalizers,
    Finalizer,
}

impl Takes {
    /// Returns whether a value of that type is taken; null is a question of its own.
    pub(super) fn accepts(self, value: &str) -> bool {
        match self {
            Self::Text | Self::Uid | Self::Finalizer => value == "\"a\"",
            Self::Bool => value == "true",
            Self::Whole => value == "7",
            Self::Map | Self::Labels | Self::Notes => value == "{}",
            Self::List | Self::Finalizers => value == "[]",
            // A text is read, and then rejected in words of its own.
            Self::Amount => matches!(value, "7" | "1.5" | "\"a\""),
        }
    }

    pub(super) fn expects(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Uid => "a string",
            Self::Bool => "a boolean",
            Self::Whole => "i64",
            Self::Map => "a map",
            Self::List => "a list",
            Self::Amount => "an amount such as 10Gi",
            Self::Labels => "a map of labels",
            Self::Notes => "a map of annotations",
            Self::Finalizers => "a list of finalizers",
            Self::Finalizer => "a finalizer's name",
        }
    }
}

/// Fields that all kinds have in common; `[]` is an item of a list. Keys are separated by spaces.
pub(super) const COMMON: &[(&str, Takes)] = &[
    ("metadata", Takes::Map),
    ("metadata name", Takes::Text),
    ("metadata namespace", Takes::Text),
    ("metadata uid", Takes::Text),
    ("metadata resourceVersion", Takes::Text),
    ("metadata creationTimestamp", Takes::Text),
    ("metadata labels", Takes::Labels),
    ("metadata labels topology.kubernetes.io/zone", Takes::Text),
    ("metadata annotations", Takes::Notes),
    ("metadata annotations pv.kubernetes.io/x", Takes::Text),
    ("metadata finalizers", Takes::Finalizers),
    ("metadata finalizers []", Takes::Finalizer),
    ("metadata ownerReferences", Takes::List),
    ("metadata ownerReferences []", Takes::Map),
    ("metadata ownerReferences [] apiVersion", Takes::Text),
    ("metadata ownerReferences [] kind", Takes::Text),
    ("metadata ownerReferences [] name", Takes::Text),
    ("metadata ownerReferences [] uid", Takes::Text),
    ("status", Takes::Map),
    ("status phase", Takes::Text),
    ("status accessModes", Takes::List),
    ("status accessModes []", Takes::Text),
    ("status capacity", Takes::Map),
    ("status capacity storage", Takes::Amount),
    ("status currentVolumeAttributesClassName", Takes::Text),
    ("status allocatedResources", Takes::Map),
    ("status allocatedResources storage", Takes::Amount),
    ("status modifyVolumeStatus", Takes::Map),
    ("status modifyVolumeStatus targetVolumeAttributesClassName", Takes::Text),
];

pub(super) const VOLUME: &[(&str, Takes)] = &[
    ("spec", Takes::Map),
    ("spec capacity", Takes::Map),
    ("spec capacity storage", Takes::Amount),
    ("spec accessModes", Takes::List),
    ("spec accessModes []", Takes::Text),
    ("spec volumeMode", Takes::Text),
    ("spec storageClassName", Takes::Text),
    ("spec volumeAttributesClassName", Takes::Text),
    ("spec persistentVolumeReclaimPolicy", Takes::Text),
    ("spec claimRef", Takes::Map),
    ("spec claimRef kind", Takes::Text),
    ("spec claimRef apiVersion", Takes::Text),
    ("spec claimRef namespace", Takes::Text),
    ("spec claimRef name", Takes::Text),
    ("spec claimRef uid", Takes::Text),
    ("spec nodeAffinity", Takes::Map),
    ("spec nodeAffinity required", Takes::Map),
    ("spec nodeAffinity required nodeSelectorTerms", Takes::List),
    ("spec nodeAffinity required nodeSelectorTerms []", Takes::Map),
    ("spec nodeAffinity required nodeSelectorTerms [] matchExpressions", Takes::List),
    ("spec nodeAffinity required nodeSelectorTerms [] matchExpressions []", Takes::Map),
    ("spec nodeAffinity required nodeSelectorTerms [] matchExpressions [] key", Takes::Text),
    ("spec nodeAffinity required nodeSelectorTerms [] matchExpressions [] operator", Takes::Text),
    ("spec nodeAffinity required nodeSelectorTerms [] matchExpressions [] values", Takes::List),
    ("spec nodeAffinity required nodeSelectorTerms [] matchExpressions [] values []", Takes::Text),
    ("spec nodeAffinity required nodeSelectorTerms [] matchFields", Takes::List),
    ("spec nodeAffinity required nodeSelectorTerms [] matchFields []", Takes::Map),
    ("spec nodeAffinity required nodeSelectorTerms [] matchFields [] key", Takes::Text),
];

/// The sources of a volume, and the fields by which each distinguishes its storage from another.
pub(super) const SOURCES: &[(&str, Takes)] = &[
    ("spec csi", Takes::Map),
    ("spec csi driver", Takes::Text),
    ("spec csi volumeHandle", Takes::Text),
    ("spec nfs", Takes::Map),
    ("spec nfs server", Takes::Text),
    ("spec nfs path", Takes::Text),
    ("spec hostPath", Takes::Map),
    ("spec hostPath path", Takes::Text),
    ("spec local", Takes::Map),
    ("spec local path", Takes::Text),
    ("spec iscsi", Takes::Map),
    ("spec iscsi iqn", Takes::Text),
    ("spec iscsi lun", Takes::Whole),
    ("spec fc", Takes::Map),
    ("spec fc targetWWNs", Takes::List),
    ("spec fc targetWWNs []", Takes::Text),
    ("spec fc wwids", Takes::List),
    ("spec rbd", Takes::Map),
    ("spec rbd monitors", Takes::List),
    ("spec rbd monitors []", Takes::Text),
    ("spec rbd pool", Takes::Text),
    ("spec rbd image", Takes::Text),
    ("spec cephfs", Takes::Map),
    ("spec cephfs monitors", Takes::List),
    ("spec gcePersistentDisk", Takes::Map),
    ("spec gcePersistentDisk pdName", Takes::Text),
    ("spec awsElasticBlockStore", Takes::Map),
    ("spec awsElasticBlockStore volumeID", Takes::Text),
    ("spec azureDisk", Takes::Map),
    ("spec azureDisk diskURI", Takes::Text),
    ("spec azureFile", Takes::Map),
    ("spec azureFile shareName", Takes::Text),
    ("spec azureFile secretNamespace", Takes::Text),
    ("spec cinder", Takes::Map),
    ("spec vsphereVolume", Takes::Map),
    ("spec vsphereVolume volumePath", Takes::Text),
    ("spec portworxVolume", Takes::Map),
    ("spec scaleIO", Takes::Map),
    ("spec scaleIO system", Takes::Text),
    ("spec scaleIO volumeName", Takes::Text),
];

pub(super) const CLAIM: &[(&str, Takes)] = &[
    ("spec", Takes::Map),
    ("spec accessModes", Takes::List),
    ("spec accessModes []", Takes::Text),
    ("spec resources", Takes::Map),
    ("spec resources requests", Takes::Map),
    ("spec resources requests storage", Takes::Amount),
    ("spec volumeMode", Takes::Text),
    ("spec storageClassName", Takes::Text),
    ("spec volumeAttributesClassName", Takes::Text),
    ("spec volumeName", Takes::Text),
    ("spec selector", Takes::Map),
    ("spec selector matchLabels", Takes::Labels),
    ("spec selector matchLabels tier", Takes::Text),
    ("spec selector matchExpressions", Takes::List),
    ("spec selector matchExpressions []", Takes::Map),
    ("spec selector matchExpressions [] key", Takes::Text),
    ("spec selector matchExpressions [] operator", Takes::Text),
    ("spec selector matchExpressions [] values", Takes::List),
    ("spec selector matchExpressions [] values []", Takes::Text),
];

/// Fields by their path, and what each takes.
type Fields = &'static [(&'static str, Takes)];

/// A resource and its fields.
pub(super) const KINDS: [(&str, &[Fields]); 3] = [
    ("persistentvolumes", &[COMMON, VOLUME, SOURCES]),
    ("persistentvolumeclaims", &[COMMON, CLAIM]),
    ("namespaces", &[COMMON]),
];

/// Where an object is read.
const PLACES: [(&str, &str); 4] = [
    ("CREATE", r#","object":@"#),
    ("UPDATE", r#","oldObject":{},"object":@"#),
    ("UPDATE", r#","oldObject":@,"object":{}"#),
    ("DELETE", r#","oldObject":@"#),
];

pub(super) fn rows() -> Vec<Row> {
    let mut rows: Vec<Row> = wrong_fields();
    rows.extend(wrong_objects());
    rows.extend(wrong_amounts());
    rows
}

/// Each wrong type of each field, in one place after the other, so that each field is wrong in each of
/// them at least once.
fn wrong_fields() -> Vec<Row> {
    let mut rows = Vec::new();
    for (resource, tables) in KINDS {
        for (path, takes) in tables.iter().copied().flatten() {
            let wrong = WRONG.iter().filter(|(value, _)| !takes.accepts(value));
            let wrong = wrong.filter(|(value, _)| *value != "null" || !may_be_null(path));
            for (number, (value, found)) in wrong.enumerate() {
                let reason = format!("invalid type: {found}, expected {}", takes.expects());
                rows.push(placed(resource, PLACES[number % PLACES.len()], path, value, &reason));
            }
        }
    }
    rows
}

/// The API server leaves out what is empty, and may send null for it; but for an item, and for what every
/// object has.
fn may_be_null(path: &str) -> bool {
    path != "metadata" && !path.ends_with("[]")
}

/// A row about an object that has `value` at `path`, in one of the places.
pub(super) fn placed(
    resource: &str,
    (operation, rest): (&str, &str),
    path: &str,
    value: &str,
    reason: &str,
) -> Row {
    let object = if rest.contains("\"oldObject\":@") { "oldObject" } else { "object" };
    let part = if path.starts_with("spec") && resource != "namespaces" { ".spec" } else { "" };
    let rest = rest.replace('@', &object_with(path, value));
    row(
        review(&about(resource, operation, &rest)),
        format!("request.{object}{part} cannot be read: {reason} @"),
    )
}

/// An object with nothing but `value` at `path`.
pub(super) fn object_with(path: &str, value: &str) -> String {
    path.rsplit(' ').fold(value.to_owned(), |inner, key| match key {
        "[]" => format!("[{inner}]"),
        key => format!("{{\"{key}\":{inner}}}"),
    })
}

/// Returns what is no object at all.
fn wrong_objects() -> Vec<Row> {
    let mut rows = Vec::new();
    for (resource, _) in KINDS {
        for (operation, rest) in PLACES {
            for (value, found) in WRONG {
                if matches!(value, "{}" | "null") {
                    continue;
                }
                let object = if rest.contains("\"oldObject\":@") { "oldObject" } else { "object" };
                rows.push(row(
                    review(&about(resource, operation, &rest.replace('@', value))),
                    format!(
                        "request.{object} cannot be read: invalid type: {found}, expected a map @"
                    ),
                ));
            }
        }
    }
    // A list of an object's fields is none, though some readers take it for one.
    let listed = r#","object":[{"name":"a"},null,null]"#;
    rows.push(row(
        review(&about("persistentvolumes", "CREATE", listed)),
        "request.object cannot be read: invalid type: sequence, expected a map @",
    ));
    rows
}

/// Amounts that are texts or numbers, but no amounts.
fn wrong_amounts() -> Vec<Row> {
    let fields = [
        ("persistentvolumes", "spec capacity storage"),
        ("persistentvolumeclaims", "spec resources requests storage"),
        ("persistentvolumeclaims", "status capacity storage"),
        ("persistentvolumeclaims", "status allocatedResources storage"),
    ];
    let spellings = [
        "",
        " ",
        "a",
        "Gi",
        "Ei",
        "5K",
        "10GB",
        "1.2.3",
        "1e",
        "1 Gi",
        "5eeee",
        "é",
        "1e9223372036854775808",
    ];
    let mut rows = Vec::new();
    for (number, spelling) in spellings.into_iter().enumerate() {
        let Err(error) = Quantity::parse(spelling.trim()) else { continue };
        let (resource, path) = fields[number % fields.len()];
        let value = format!("\"{spelling}\"");
        rows.push(placed(
            resource,
            PLACES[number % PLACES.len()],
            path,
            &value,
            &error.to_string(),
        ));
    }
    for (resource, path) in fields {
        rows.push(placed(resource, PLACES[0], path, "1e999", "number out of range"));
    }
    for (value, reason) in [
        ("9223372036854775808", "invalid value: integer `9223372036854775808`, expected i64"),
        ("1e999", "number out of range"),
    ] {
        rows.push(placed("persistentvolumes", PLACES[0], "spec iscsi lun", value, reason));
    }
    rows
}
