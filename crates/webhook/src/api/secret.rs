//! Secrets with certificates, and the patches that store others.
//!
//! No error shows any of their contents.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::write::WritePatch;
use crate::certificates::KeyedPem;
use crate::certificates::rotation::{RenewalRequest, Stored};

/// A Secret as it is stored.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret {
    version: String,
    asked: Option<RenewalRequest>,
    texts: BTreeMap<String, String>,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secret").field("version", &self.version).finish_non_exhaustive()
    }
}

/// The object is no Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the API server's response is no Secret; its content is not logged, as it may be secret")]
pub struct SecretError;

/// The annotation of either Secret that requests a renewal, `ca` or `certificate`.
pub const RENEW: &str = "bindery.dev/renew";

const CA_CERTIFICATE: &str = "ca.crt";
const CA_KEY: &str = "ca.key";
const FORMER: &str = "former.crt";
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";

#[derive(Deserialize)]
struct SecretWire {
    metadata: MetadataWire,
    #[serde(default)]
    data: Option<BTreeMap<String, Option<String>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MetadataWire {
    resource_version: String,
    #[serde(default)]
    annotations: Option<BTreeMap<String, Option<String>>>,
}

impl Secret {
    /// Reads a Secret from its JSON text. What is not base64 of a text counts as missing.
    pub fn read(text: &str) -> Result<Self, SecretError> {
        // The library's error may quote the contents.
        let wire: SecretWire = serde_json::from_str(text).map_err(|_| SecretError)?;
        let annotations = wire.metadata.annotations.unwrap_or_default();
        let plain = |text: Option<String>| String::from_utf8(STANDARD.decode(text?).ok()?).ok();
        let data = wire.data.unwrap_or_default().into_iter();
        Ok(Self {
            version: wire.metadata.resource_version,
            asked: match annotations.get(RENEW).and_then(Option::as_deref) {
                Some("ca") => Some(RenewalRequest::Ca),
                Some("certificate") => Some(RenewalRequest::Leaf),
                Some(_) | None => None,
            },
            texts: data.filter_map(|(key, text)| Some((key, plain(text)?))).collect(),
        })
    }

    /// The pair that replicas serve, if both halves are there.
    pub fn serving(&self) -> Option<KeyedPem> {
        self.pair(CERTIFICATE, KEY)
    }

    fn pair(&self, certificate: &str, key: &str) -> Option<KeyedPem> {
        let text = |name| self.texts.get(name).filter(|text| !text.trim().is_empty()).cloned();
        Some(KeyedPem { certificate: text(certificate)?, key: text(key)? })
    }
}

/// Returns what is stored in the two Secrets of an installation.
pub fn stored(ca: &Secret, serving: &Secret) -> Stored {
    Stored {
        ca: ca.pair(CA_CERTIFICATE, CA_KEY),
        former: ca.texts.get(FORMER).cloned().unwrap_or_default(),
        // Each for what is in it: the patch that stores another takes the annotation off that Secret alone.
        asked: ca
            .asked
            .filter(|asked| *asked == RenewalRequest::Ca)
            .or(serving.asked.filter(|asked| *asked == RenewalRequest::Leaf)),
        serving: serving.serving(),
    }
}

/// The patch that stores the CAs in the Secret at `path`, provided that it is as it was seen.
pub fn ca_patch(path: String, seen: &Secret, stored: &Stored) -> WritePatch {
    let pair = stored.ca.as_ref();
    let data = [
        (CA_CERTIFICATE, pair.map(|pair| pair.certificate.as_str())),
        (CA_KEY, pair.map(|pair| pair.key.as_str())),
        (FORMER, Some(stored.former.as_str()).filter(|former| !former.is_empty())),
    ];
    patch(path, seen, &data, stored.asked == Some(RenewalRequest::Ca))
}

/// The patch that stores the serving pair in the Secret at `path`, provided that it is as it was seen.
pub fn serving_patch(path: String, seen: &Secret, stored: &Stored) -> WritePatch {
    let pair = stored.serving.as_ref();
    let trust = stored.trust();
    let data = [
        (CERTIFICATE, pair.map(|pair| pair.certificate.as_str())),
        (KEY, pair.map(|pair| pair.key.as_str())),
        // For people; replicas do not read it.
        (CA_CERTIFICATE, Some(trust.as_str())),
    ];
    patch(path, seen, &data, stored.asked == Some(RenewalRequest::Leaf))
}

/// Every patch but one that leaves open what was asked for takes the annotation off.
fn patch(path: String, seen: &Secret, data: &[(&str, Option<&str>)], is_open: bool) -> WritePatch {
    let entry = |(key, text): &(&str, Option<&str>)| {
        ((*key).to_owned(), text.map_or(Value::Null, |text| json!(STANDARD.encode(text))))
    };
    let data: Map<String, Value> = data.iter().map(entry).collect();
    let mut metadata = json!({"resourceVersion": seen.version});
    if !is_open {
        metadata["annotations"] = json!({RENEW: null});
    }
    WritePatch {
        path,
        content_type: "application/merge-patch+json",
        body: json!({"metadata": metadata, "data": data}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(data: &Value) -> String {
        json!({"kind": "Secret", "metadata": {"resourceVersion": "7"}, "data": data}).to_string()
    }

    fn encoded(text: &str) -> String {
        STANDARD.encode(text)
    }

    #[test]
    fn halves_and_what_is_no_text_count_as_missing() {
        for data in [
            Value::Null,
            json!({}),
            json!({"tls.crt": encoded("c")}),
            json!({"tls.crt": encoded("c"), "tls.key": ""}),
            json!({"tls.crt": encoded("c"), "tls.key": null}),
            json!({"tls.crt": encoded("c"), "tls.key": "%%"}),
            json!({"tls.crt": encoded("c"), "tls.key": STANDARD.encode([0xff])}),
            json!({"tls.crt": encoded(" \n"), "tls.key": encoded("k")}),
        ] {
            assert_eq!(Secret::read(&object(&data)).unwrap().serving(), None, "{data}");
        }
        let whole = json!({"tls.crt": encoded("c"), "tls.key": encoded("k")});
        let pair = Secret::read(&object(&whole)).unwrap().serving().unwrap();
        assert_eq!((pair.certificate.as_str(), pair.key.as_str()), ("c", "k"));
    }

    #[test]
    fn no_error_and_no_output_shows_the_contents() {
        let odd = r#"{"metadata": {"resourceVersion": "7"}, "data": {"tls.key": ["hunter2"]}}"#;
        let shown = format!("{:?} {}", Secret::read(odd).unwrap_err(), SecretError);
        assert!(!shown.contains("hunter2"), "{shown}");
        let good = Secret::read(&object(&json!({"tls.key": encoded("hunter2")}))).unwrap();
        assert_eq!(format!("{good:?}"), "Secret { version: \"7\", .. }");
    }

    #[test]
    fn what_is_stored_is_read_back() {
        let stored = Stored {
            ca: Some(KeyedPem { certificate: "a".to_owned(), key: "b".to_owned() }),
            former: "f".to_owned(),
            asked: Some(RenewalRequest::Ca),
            serving: Some(KeyedPem { certificate: "c".to_owned(), key: "d".to_owned() }),
        };
        let seen = Secret { version: "7".to_owned(), ..Secret::default() };
        let read = |patch: WritePatch| {
            assert_eq!(patch.body["metadata"]["resourceVersion"], "7");
            Secret::read(&patch.body.to_string()).unwrap()
        };
        let ca = ca_patch("/a".to_owned(), &seen, &stored);
        assert_eq!(ca.body["metadata"]["annotations"], Value::Null, "it is not done yet");
        let done = Stored { asked: None, ..stored.clone() };
        let patch = ca_patch("/a".to_owned(), &seen, &done);
        assert_eq!(patch.body["metadata"]["annotations"], json!({RENEW: null}));
        let mut body = ca.body;
        body["metadata"]["annotations"] = json!({RENEW: "ca"});
        let ca = Secret::read(&body.to_string()).unwrap();
        let serving = read(serving_patch("/s".to_owned(), &seen, &stored));
        assert_eq!(super::stored(&ca, &serving), stored);
        let without = Stored { former: String::new(), ..stored };
        let patch = ca_patch("/a".to_owned(), &seen, &without);
        assert_eq!(patch.body["data"]["former.crt"], Value::Null);
    }
}
