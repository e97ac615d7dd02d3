//! What registrations trust: the caBundle of each entry that calls an installation, and the patch that changes it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use super::installation::Installation;
use super::write::WritePatch;

/// One configuration, as far as it calls an installation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registered {
    entries: Vec<Entry>,
}

/// An entry that calls it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    place: usize,
    name: String,
    trust: String,
}

#[derive(Deserialize)]
struct ConfigurationWire {
    #[serde(default)]
    webhooks: Option<Vec<EntryWire>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EntryWire {
    name: String,
    #[serde(default)]
    client_config: ClientWire,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ClientWire {
    ca_bundle: Option<String>,
    service: Option<ServiceWire>,
}

#[derive(Deserialize)]
struct ServiceWire {
    namespace: String,
    name: String,
}

impl Registered {
    /// Reads a configuration, validating or mutating, from its JSON text.
    pub fn read(text: &str, installation: &Installation) -> Result<Self, serde_json::Error> {
        let wire: ConfigurationWire = serde_json::from_str(text)?;
        let is_ours = |service: &ServiceWire| {
            (service.namespace.as_str(), service.name.as_str())
                == (installation.namespace(), installation.name())
        };
        let entries = wire.webhooks.unwrap_or_default().into_iter().enumerate();
        let ours =
            entries.filter(|(_, entry)| entry.client_config.service.as_ref().is_some_and(is_ours));
        let entries = ours.map(|(place, entry)| {
            let bundle = entry.client_config.ca_bundle.unwrap_or_default();
            let trust = STANDARD.decode(bundle).unwrap_or_default();
            Entry { place, name: entry.name, trust: String::from_utf8_lossy(&trust).into_owned() }
        });
        Ok(Self { entries: entries.collect() })
    }

    /// What each entry trusts, PEM.
    pub fn trust(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.trust.as_str())
    }

    /// The patch of the configuration at `path` after which each entry trusts this; nothing if each does. An entry is
    /// changed only where it stands still.
    pub fn patch(&self, path: String, trust: &str) -> Option<WritePatch> {
        let bundle = STANDARD.encode(trust);
        let others = self.entries.iter().filter(|entry| entry.trust != trust);
        let operations: Vec<Value> = others
            .flat_map(|entry| {
                let at = format!("/webhooks/{}", entry.place);
                [
                    json!({"op": "test", "path": format!("{at}/name"), "value": entry.name}),
                    json!({"op": "add", "path": format!("{at}/clientConfig/caBundle"), "value": bundle}),
                ]
            })
            .collect();
        if operations.is_empty() {
            return None;
        }
        let body = Value::Array(operations);
        Some(WritePatch { path, content_type: "application/json-patch+json", body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn installation() -> Installation {
        "storage/keeper".parse().unwrap()
    }

    fn configuration() -> Value {
        let service = |name: &str| json!({"namespace": "storage", "name": name});
        json!({"webhooks": [
            {"name": "other", "clientConfig": {"url": "https://x", "caBundle": STANDARD.encode("x")}},
            {"name": "guard", "clientConfig": {"service": service("keeper")}},
            {"name": "advise",
             "clientConfig": {"service": service("keeper"), "caBundle": STANDARD.encode("old")}},
            {"name": "foreign", "clientConfig": {"service": service("else")}},
        ]})
    }

    #[test]
    fn entries_that_call_the_installation_get_the_bundle_and_no_others() {
        let mut configuration = configuration();
        let read = |value: &Value| Registered::read(&value.to_string(), &installation()).unwrap();
        let registered = read(&configuration);
        assert_eq!(registered.trust().collect::<Vec<_>>(), ["", "old"]);
        let patch = registered.patch("/p".to_owned(), "new").unwrap();
        assert_eq!(
            (patch.path.as_str(), patch.content_type),
            ("/p", "application/json-patch+json")
        );
        let before = configuration.clone();
        let operations: json_patch::Patch = serde_json::from_value(patch.body).unwrap();
        json_patch::patch(&mut configuration, &operations).unwrap();
        let after = read(&configuration);
        assert_eq!(after.trust().collect::<Vec<_>>(), ["new", "new"]);
        assert_eq!(after.patch("/p".to_owned(), "new"), None);
        for untouched in [0, 3] {
            assert_eq!(before["webhooks"][untouched], configuration["webhooks"][untouched]);
        }
        // Somebody has put another entry first meanwhile: nothing is changed.
        let mut moved = before.clone();
        moved["webhooks"].as_array_mut().unwrap().remove(0);
        let patch = read(&before).patch(String::new(), "new").unwrap();
        let operations: json_patch::Patch = serde_json::from_value(patch.body).unwrap();
        assert!(json_patch::patch(&mut moved, &operations).is_err());
    }

    #[test]
    fn a_bundle_that_is_none_is_read_as_another() {
        let mut configuration = configuration();
        configuration["webhooks"][1]["clientConfig"]["caBundle"] = json!("%%%");
        let registered = Registered::read(&configuration.to_string(), &installation()).unwrap();
        assert_eq!(registered.trust().collect::<Vec<_>>(), ["", "old"]);
    }
}
