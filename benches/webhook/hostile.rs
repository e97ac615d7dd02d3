//! Bodies of exactly the size that is asked for, each made to cost its reader as much as it can.
//!
//! Not here: sending them (`memory`).

use std::fmt::Write as _;

/// A large body, in bytes: two objects of what etcd stores, and what the API server makes of their letters.
pub(crate) const BODY_BYTES: usize = 7 * 1024 * 1024;

/// What a body is full of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A list of `{"a":0}`: the worst for a tree of maps.
    Objects,
    /// A list of zeros: the worst for a tree of values.
    Zeros,
    /// Distinct keys in one object.
    Keys,
    /// One string, as the value of an annotation that rules read.
    Text,
    /// The same with an escape, so that it cannot be borrowed.
    Escaped,
    /// Lists in lists.
    Nesting,
    /// 30,000 labels, which the API server accepts.
    Labels,
    /// Distinct annotations of which rules read each one.
    Annotations,
    /// Finalizers that rules read, and others.
    Finalizers,
}

impl Shape {
    /// All of them.
    pub(crate) const ALL: [Self; 9] = [
        Self::Objects,
        Self::Zeros,
        Self::Keys,
        Self::Text,
        Self::Escaped,
        Self::Nesting,
        Self::Labels,
        Self::Annotations,
        Self::Finalizers,
    ];

    /// A review of a creation of a bound volume that is full of this, `size` bytes long.
    pub(crate) fn body(self, size: usize) -> String {
        let filling = |bytes: usize| match self {
            Self::Objects => list(bytes, |_| r#"{"a":0}"#.to_owned()),
            Self::Zeros => list(bytes, |_| "0".to_owned()),
            Self::Keys => map(bytes, |n| format!(r#""k{n:08}":0"#)),
            Self::Text => long_value(bytes, "x"),
            Self::Escaped => long_value(bytes, r"\n"),
            Self::Nesting => format!("{}{}", "[".repeat(bytes / 2), "]".repeat(bytes / 2)),
            Self::Labels => map(bytes, |n| format!(r#""l{n:08}":"{}""#, "v".repeat(LABEL_BYTES))),
            Self::Annotations => map(bytes, |n| format!(r#""pv.kubernetes.io/{n}":"yes""#)),
            Self::Finalizers => list(bytes, |n| format!(r#""kubernetes.io/pv-protection-{n}""#)),
        };
        let (before, after) = ENVELOPE.split_once(self.slot()).unwrap_or((ENVELOPE, ""));
        let room = size - before.len() - after.len() - self.slot().len();
        let slot = self.slot().trim_end_matches("null");
        let mut body = format!("{before}{slot}{}{after}", filling(room));
        // White space to the last byte: every shape costs its transport the same.
        let missing = size.saturating_sub(body.len());
        body.extend(std::iter::repeat_n(' ', missing));
        body
    }

    /// Returns where in the volume it goes.
    fn slot(self) -> &'static str {
        match self {
            Self::Objects | Self::Zeros | Self::Keys | Self::Nesting => r#""unknown":null"#,
            Self::Text | Self::Escaped | Self::Annotations => r#""annotations":null"#,
            Self::Labels => r#""labels":null"#,
            Self::Finalizers => r#""finalizers":null"#,
        }
    }
}

/// A value that makes 30,000 labels fill a body.
const LABEL_BYTES: usize = 229;

const ENVELOPE: &str = r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{
"uid":"5cb30b05-bc0a-4e10-88dc-ab915aa799a7","resource":{"group":"","version":"v1","resource":"persistentvolumes"},
"name":"pv-hostile","operation":"CREATE","userInfo":{"username":"mallory","groups":["system:authenticated"]},
"object":{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pv-hostile","annotations":null,
"labels":null,"finalizers":null},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],
"unknown":null},"status":{"phase":"Bound"}}}}"#;

/// An annotation whose value begins with `first` and goes on to the end.
fn long_value(bytes: usize, first: &str) -> String {
    let before = format!(r#"{{"allow.bindery.dev/bound-volume-delete":"{first}"#);
    let after = r#""}"#;
    format!("{before}{}{after}", "x".repeat(bytes - before.len() - after.len()))
}

fn list(bytes: usize, item: impl Fn(usize) -> String) -> String {
    fill(bytes, ('[', ']'), item)
}

fn map(bytes: usize, entry: impl Fn(usize) -> String) -> String {
    fill(bytes, ('{', '}'), entry)
}

/// As many items as fit into `bytes`.
fn fill(bytes: usize, (open, close): (char, char), item: impl Fn(usize) -> String) -> String {
    let mut filled = String::with_capacity(bytes);
    filled.push(open);
    for number in 0.. {
        let item = item(number);
        if filled.len() + item.len() + 2 > bytes {
            break;
        }
        if number > 0 {
            filled.push(',');
        }
        // Writing to a string cannot fail.
        let _ = write!(filled, "{item}");
    }
    filled.push(close);
    filled
}
