//! The caBundle of each registered webhook of an installation, and the patch that changes it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use super::installation::Installation;
use super::write::WritePatch;

/// The webhooks of one configuration that call an installation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegisteredWebhooks {
    webhooks: Vec<RegisteredWebhook>,
}

/// A webhook whose service is the installation's.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RegisteredWebhook {
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

impl RegisteredWebhooks {
    /// Reads a configuration, validating or mutating, from its JSON text.
    pub fn read(text: &str, installation: &Installation) -> Result<Self, serde_json::Error> {
        let wire: ConfigurationWire = serde_json::from_str(text)?;
        let is_ours = |service: &ServiceWire| {
            (service.namespace.as_str(), service.name.as_str())
                == (installation.namespace(), installation.name())
        };
        let webhooks = wire.webhooks.unwrap_or_default().into_iter().enumerate();
        let ours = webhooks
            .filter(|(_, webhook)| webhook.client_config.service.as_ref().is_some_and(is_ours));
        let webhooks = ours.map(|(place, webhook)| {
            let bundle = webhook.client_config.ca_bundle.unwrap_or_default();
            let trust = STANDARD.decode(bundle).unwrap_or_default();
            RegisteredWebhook {
                place,
                name: webhook.name,
                trust: String::from_utf8_lossy(&trust).into_owned(),
            }
        });
        Ok(Self { webhooks: webhooks.collect() })
    }

    /// Returns what each webhook trusts, PEM.
    pub fn trust(&self) -> impl Iterator<Item = &str> {
        self.webhooks.iter().map(|webhook| webhook.trust.as_str())
    }

    /// The patch of the configuration at `path` after which each webhook trusts this; `None` if each does. A
    /// webhook is changed only if it is still at the same place.
    pub fn patch(&self, path: String, trust: &str) -> Option<WritePatch> {
        let bundle = STANDARD.encode(trust);
        let others = self.webhooks.iter().filter(|webhook| webhook.trust != trust);
        let operations: Vec<Value> = others
            .flat_map(|webhook| {
                let at = format!("/webhooks/{}", webhook.place);
                [
                    json!({"op": "test", "path": format!("{at}/name"), "value": webhook.name}),
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
        let read =
            |value: &Value| RegisteredWebhooks::read(&value.to_string(), &installation()).unwrap();
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
        // Another webhook was put first meanwhile: nothing is changed.
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
        let registered =
            RegisteredWebhooks::read(&configuration.to_string(), &installation()).unwrap();
        assert_eq!(registered.trust().collect::<Vec<_>>(), ["", "old"]);
    }
}
