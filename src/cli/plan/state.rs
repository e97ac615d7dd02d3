//! The state that a plan starts from, read from dumps or from a cluster.
//!
//! A dump of a large cluster has 100 MB: JSON is read straight into what decisions look at, and no
//! object is kept whole. Not here: places in manifests, which `check` gives; a dump has no author.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::binding::View;
use crate::cli::args::PlanArgs;
use crate::cli::check::input::told;
use crate::cli::check::live::{listed, name_of, no_json};
use crate::cli::exit::Failure;
use crate::cli::files;
use crate::cluster::resource::Watched;
use crate::document;
use crate::model::ClaimKey;

/// Volumes, claims and classes, and since when claims wait.
#[derive(Debug, Default)]
pub(super) struct State {
    /// What decisions look at.
    pub(super) view: View,
    created: BTreeMap<ClaimKey, Box<str>>,
}

/// What tells which object a text is.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    metadata: Identity<'a>,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Identity<'a> {
    #[serde(borrow)]
    namespace: Cow<'a, str>,
    name: Cow<'a, str>,
    creation_timestamp: Option<Cow<'a, str>>,
}

impl State {
    /// Reads the dumps that are named, else the cluster.
    pub(super) fn read(arguments: &PlanArgs) -> Result<Self, Failure> {
        let mut state = Self::default();
        if arguments.filename.is_empty() {
            let (_, lists) = listed(&arguments.cluster)?;
            for text in lists {
                state.text(&text, "cluster")?;
            }
        }
        for path in &arguments.filename {
            let is_input = path.as_os_str() == "-";
            let text = if is_input { files::read_standard_input()? } else { files::read(path)? };
            state.text(&text, &name_of(path))?;
        }
        Ok(state)
    }

    /// The order in which waiting claims are served: by age, then by namespace and name. One without a
    /// time has not been created yet.
    pub(super) fn order(&self) -> Vec<ClaimKey> {
        let mut keys: Vec<ClaimKey> = self.view.claims().map(|claim| claim.key.clone()).collect();
        keys.sort_by_cached_key(|key| {
            let created = self.created.get(key).cloned();
            (created.is_none(), created, key.clone())
        });
        keys
    }

    fn text(&mut self, text: &str, name: &str) -> Result<(), Failure> {
        if document::is_json(text) {
            let values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
            for value in values {
                self.object(value.map_err(|error| no_json(name, &error))?.get(), None, name)?;
            }
            return Ok(());
        }
        let documents = document::read(text).map_err(|error| {
            Failure::usage(format!("{name}:{}: {}; make a new dump", error.at, error.reason))
        })?;
        let mut documents = documents.iter();
        documents.try_for_each(|document| self.object(&document.to_json().to_string(), None, name))
    }

    /// Takes in an object, or those of a list; other kinds are passed over.
    fn object(&mut self, text: &str, of_list: Option<&str>, name: &str) -> Result<(), Failure> {
        let head: Head<'_> = serde_json::from_str(text).map_err(|error| {
            let reason = told(&error);
            Failure::usage(format!("{name}: an object cannot be read: {reason}; make a new dump"))
        })?;
        let kind = head.kind.as_deref().or(of_list).unwrap_or_default();
        if let (Some(of_items), Some(items)) = (kind.strip_suffix("List"), &head.items) {
            let of_items = (!of_items.is_empty()).then_some(of_items);
            return items.iter().try_for_each(|item| self.object(item.get(), of_items, name));
        }
        let watched = match kind {
            "PersistentVolume" => Watched::Volumes,
            "PersistentVolumeClaim" => Watched::Claims,
            "StorageClass" => Watched::Classes,
            _ => return Ok(()),
        };
        let Identity { namespace, name: of_object, creation_timestamp } = head.metadata;
        let observed = watched.observed(text).map_err(|error| {
            let reason = told(&error);
            let separator = if namespace.is_empty() { "" } else { "/" };
            Failure::usage(format!(
                "{name}: {kind} {namespace}{separator}{of_object} cannot be read: {reason}; make a new dump"
            ))
        })?;
        if let (Watched::Claims, Some(created)) = (watched, creation_timestamp) {
            let key = ClaimKey::new(&*namespace, &*of_object);
            self.created.insert(key, created.into());
        }
        self.view.apply(observed);
        Ok(())
    }
}
