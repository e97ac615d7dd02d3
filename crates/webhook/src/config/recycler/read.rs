//! The `recycler` part of a configuration document.
//!
//! A template that cannot work is an error at the start, not after the first claim is deleted. The API server validates
//! the rest, when the first pod is created.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{PodTemplate, Recycler, Timeout};
use crate::config::read::{ConfigurationParser, time};
use crate::document::{Entry, Position, Shape, TreeNode, quoted};
use crate::model::name_syntax::is_dns_label;

impl ConfigurationParser {
    pub(in crate::config) fn recycler(&mut self, node: &TreeNode, recycler: &mut Recycler) {
        for entry in self.known(node, "recycler") {
            let value = &entry.value;
            match entry.key.as_str() {
                "namespace" => recycler.namespace = self.namespace(value),
                "image" => self.image(value, node.get("podTemplate"), recycler),
                "podTemplate" => {
                    if let Some(template) = self.pod_template(value) {
                        recycler.template = template;
                    }
                }
                "timeouts" => self.timeouts(value, recycler),
                _ => {}
            }
        }
    }

    fn namespace(&mut self, node: &TreeNode) -> Option<String> {
        let name = self.text(node, "recycler.namespace")?;
        if !is_dns_label(&name) {
            let text = format!("recycler.namespace {} is no name of a namespace", quoted(&name));
            self.add(node.at, text);
        }
        Some(name)
    }

    fn image(&mut self, node: &TreeNode, template: Option<&TreeNode>, recycler: &mut Recycler) {
        let Some(image) = self.text(node, "recycler.image") else { return };
        if template.is_some() {
            let text = "recycler.image is the built-in pod's, which recycler.podTemplate replaces; \
                        give the image there";
            self.add(node.at, text.to_owned());
        } else {
            recycler.template = PodTemplate::built_in(&image);
        }
    }

    fn timeouts(&mut self, node: &TreeNode, recycler: &mut Recycler) {
        for entry in self.known(node, "recycler.timeouts") {
            match entry.key.as_str() {
                "nfs" => self.timeout(entry, &mut recycler.nfs),
                "hostPath" => self.timeout(entry, &mut recycler.host_path),
                _ => {}
            }
        }
    }

    fn timeout(&mut self, kind: &Entry, timeout: &mut Timeout) {
        let name = format!("recycler.timeouts.{}", kind.key);
        for entry in self.known(&kind.value, &name) {
            let time = entry.value.text().and_then(time);
            let time = time.and_then(|time| Duration::try_from(time).ok());
            let name = format!("{name}.{}", entry.key);
            match (entry.key.as_str(), time) {
                // A pod's deadline is in seconds, and positive.
                ("minimum", Some(time)) if time >= Duration::from_secs(1) => timeout.minimum = time,
                ("minimum", _) => {
                    self.add(entry.value.at, format!("{name} must be a time like 5m, at least 1s"));
                }
                ("perGi", Some(time)) => timeout.per_gibibyte = time,
                ("perGi", None) => {
                    self.add(entry.value.at, format!("{name} must be a time like 30s, or 0s"));
                }
                _ => {}
            }
        }
    }

    /// A pod, or a pod template object with the pod under `template`.
    fn pod_template(&mut self, node: &TreeNode) -> Option<PodTemplate> {
        let problems = self.problems();
        let (kind, body) = match node.entry("template") {
            None => ("Pod", None),
            Some(entry) => ("PodTemplate", Some(entry)),
        };
        for entry in self.map(node, "recycler.podTemplate") {
            match (entry.key.as_str(), body) {
                ("apiVersion", _) => self.constant(entry, "v1"),
                ("kind", _) => self.constant(entry, kind),
                // That of a pod template object says nothing of the pod.
                ("metadata", _) | ("spec", None) | ("template", Some(_)) => {}
                (_, None) => self.unknown(entry, "apiVersion, kind, metadata, spec"),
                (_, Some(_)) => self.unknown(entry, "apiVersion, kind, metadata, template"),
            }
        }
        let pod = body.map_or(node, |entry| &entry.value);
        if body.is_some() {
            for entry in self.map(pod, "recycler.podTemplate.template") {
                if !matches!(entry.key.as_str(), "metadata" | "spec") {
                    self.unknown(entry, "metadata, spec");
                }
            }
        }
        let mut template = PodTemplate::default();
        if let Some(metadata) = pod.get("metadata") {
            self.pod_metadata(metadata, &mut template);
        }
        match pod.entry("spec") {
            Some(entry) => self.pod_spec(entry, &mut template),
            None => self.without_container(node.at),
        }
        (self.problems() == problems).then_some(template)
    }

    fn constant(&mut self, entry: &Entry, expected: &str) {
        if entry.value.text() != Some(expected) {
            let text = format!("{} of recycler.podTemplate must be {expected}", entry.key);
            self.add(entry.value.at, text);
        }
    }

    fn pod_metadata(&mut self, node: &TreeNode, template: &mut PodTemplate) {
        for entry in self.map(node, "metadata of recycler.podTemplate") {
            match entry.key.as_str() {
                "labels" => template.labels = self.texts(entry),
                "annotations" => template.annotations = self.texts(entry),
                "name" | "generateName" | "namespace" => {
                    let text = "each volume has a pod of its own, named after it, in \
                                recycler.namespace";
                    self.add(entry.at, format!("{text}; remove metadata.{}", entry.key));
                }
                _ => self.unknown(entry, "labels, annotations"),
            }
        }
    }

    fn texts(&mut self, parent: &Entry) -> BTreeMap<String, String> {
        let mut texts = BTreeMap::new();
        for entry in self.map(&parent.value, &parent.key) {
            if let Some(text) = entry.value.text() {
                texts.insert(entry.key.clone(), text.to_owned());
            } else {
                let text = format!("{} must be text, not {}", entry.key, entry.value.kind());
                self.add(entry.value.at, text);
            }
        }
        texts
    }

    fn pod_spec(&mut self, parent: &Entry, template: &mut PodTemplate) {
        let node = &parent.value;
        for entry in self.map(node, "spec of recycler.podTemplate") {
            match entry.key.as_str() {
                "volumes" => {}
                "restartPolicy" if entry.value.text() != Some("Never") => {
                    let text = "restartPolicy of recycler.podTemplate must be Never: a container that \
                                failed is reported, not restarted";
                    self.add(entry.value.at, text.to_owned());
                }
                "activeDeadlineSeconds" => {
                    let text = "activeDeadlineSeconds follows from recycler.timeouts; remove it";
                    self.add(entry.at, text.to_owned());
                }
                "terminationGracePeriodSeconds" if seconds(&entry.value).is_none() => {
                    let text = "terminationGracePeriodSeconds of recycler.podTemplate must be 1 or more: \
                                a pod that is gone must have ended";
                    self.add(entry.value.at, text.to_owned());
                }
                _ => {
                    template.spec.insert(entry.key.clone(), entry.value.to_json());
                }
            }
        }
        if node.get("containers").is_none_or(|list| list.items().is_empty()) {
            self.without_container(node.get("containers").map_or(parent.at, |list| list.at));
        }
        self.pod_volumes(parent, template);
    }

    fn without_container(&mut self, at: Position) {
        let text = "recycler.podTemplate has no container, so that nothing would be removed; give it \
                    one under spec.containers";
        self.add(at, text.to_owned());
    }

    /// The first volume is the one to be recycled, as in the template files of Kubernetes.
    fn pod_volumes(&mut self, spec: &Entry, template: &mut PodTemplate) {
        let volumes = spec.value.get("volumes").map_or(&[][..], TreeNode::items);
        let named = volumes.first().and_then(|first| first.get("name")).and_then(TreeNode::text);
        let Some((name, (_, others))) = named.zip(volumes.split_first()) else {
            let text = "recycler.podTemplate has no volume; name one first under spec.volumes and mount \
                        it: the volume to be recycled is put in its place";
            let at = spec.value.get("volumes").map_or(spec.at, |list| list.at);
            self.add(at, text.to_owned());
            return;
        };
        name.clone_into(&mut template.volume);
        template.other_volumes = others.iter().map(TreeNode::to_json).collect();
        let containers = ["containers", "initContainers"];
        let containers = containers.iter().filter_map(|key| spec.value.get(key));
        let mut mounts = containers
            .flat_map(TreeNode::items)
            .filter_map(|container| container.get("volumeMounts"))
            .flat_map(TreeNode::items);
        // Without a container there is more to say, and it is said.
        let has_container =
            spec.value.get("containers").is_some_and(|list| !list.items().is_empty());
        if has_container && !mounts.any(|mount| mounts_all_of(mount, name)) {
            let text = format!(
                "no container of recycler.podTemplate mounts {}, the first of spec.volumes, as a \
                 whole and writable, so that its files would stay; mount it",
                quoted(name)
            );
            self.add(spec.at, text);
        }
    }
}

/// Returns whether files in all of the volume `name` can be removed through a mount.
fn mounts_all_of(mount: &TreeNode, name: &str) -> bool {
    let is_absent = |key: &str| mount.get(key).is_none_or(|value| value.shape == Shape::Null);
    let is_read_only = mount.get("readOnly").and_then(TreeNode::bool) == Some(true);
    mount.get("name").and_then(TreeNode::text) == Some(name)
        && !is_read_only
        && is_absent("subPath")
        && is_absent("subPathExpr")
}

/// A positive number.
fn seconds(node: &TreeNode) -> Option<u64> {
    node.number()?.as_u64().filter(|seconds| *seconds > 0)
}
