//! The configuration: the keys of the local static provisioner's `ConfigMap`, one file each, and our own.
//!
//! sig-storage-local-static-provisioner: `pkg/common/common.go`, `ProvisionerConfiguration` and `MountConfig`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::name_pattern::NamePattern;
use crate::api::topology::node_selector;
use crate::config::{ConfigurationError, ConfigurationProblem};
use crate::disks::{DiskCleaner, DiskPolicy, OnContent, OnManualDelete};
use crate::document::{self, Entry, Shape, TreeNode};
use crate::model::NodeAffinity;

/// The configuration.
#[derive(Clone, Debug, Default)]
pub struct LocalConfiguration {
    /// The StorageClasses and their discovery folders, by name.
    pub classes: BTreeMap<String, DiscoveryClass>,
    /// The labels of the node that its volumes get too.
    pub node_labels: Vec<String>,
    /// Labels of all volumes.
    pub labels: Map<String, Value>,
    /// Whether volumes are owned by their Node, and go with it.
    pub is_owned_by_node: bool,
    /// Whether `pv.kubernetes.io/provisioned-by` names the node without its uid.
    pub is_named_by_node_only: bool,
    /// What cleans block devices.
    pub block_cleaner: DiskCleaner,
    /// The tolerations of the pods of Jobs that do.
    pub job_tolerations: Vec<Value>,
    removes_not_ready_taint: bool,
    not_ready_taint: Option<String>,
}

impl LocalConfiguration {
    /// The key of the taint that is removed from the node once all its disks were decided about.
    pub fn removed_taint(&self) -> Option<&str> {
        self.not_ready_taint.as_deref().filter(|_| self.removes_not_ready_taint)
    }
}

/// How the disks of one StorageClass are found and offered.
#[derive(Clone, Debug)]
pub struct DiscoveryClass {
    /// The discovery folder on the node.
    pub host_dir: PathBuf,
    /// The same folder in this process.
    pub mount_dir: PathBuf,
    /// `spec.volumeMode` of its volumes.
    pub mode: OfferedMode,
    /// `spec.accessModes` of its volumes: one.
    pub access_mode: String,
    /// `spec.local.fsType` of its volumes; empty for none.
    pub fs_type: String,
    /// Which entries are disks.
    pub(super) name_pattern: NamePattern,
    /// The command that cleans a block device; empty for the built-in way.
    pub cleaner: Vec<String>,
    /// Whether free space is overwritten with zeros once the files of a file system are removed.
    pub overwrites_free_space: bool,
    /// What becomes of disks in doubtful cases.
    pub policy: DiskPolicy,
    /// The nodes on which the folder is scanned.
    pub nodes: NodeAffinity,
}

/// `spec.volumeMode` of the volumes of a StorageClass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferedMode {
    /// A file system: the one that is mounted, or one that the kubelet makes on a block device.
    Filesystem,
    /// A block device.
    Block,
}

impl OfferedMode {
    /// The text of the field.
    pub fn label(self) -> &'static str {
        match self {
            Self::Filesystem => "Filesystem",
            Self::Block => "Block",
        }
    }
}

/// The keys of a StorageClass.
const CLASS_KEYS: [&str; 11] = [
    "hostDir",
    "mountDir",
    "blockCleanerCommand",
    "volumeMode",
    "accessMode",
    "fsType",
    "namePattern",
    "selector",
    "onManualDelete",
    "onContent",
    "overwriteFreeSpace",
];

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum LocalConfigurationError {
    /// The folder cannot be read.
    #[error(
        "{path} cannot be read: {error}; mount the ConfigMap there, or name another folder with --config-dir"
    )]
    Folder {
        /// The folder, or a file in it.
        path: String,
        /// Why.
        error: io::Error,
    },
    /// Keys are wrong.
    #[error(transparent)]
    Problems(#[from] ConfigurationError),
}

/// Reads the configuration in `folder`: a file for each key of the `ConfigMap`.
///
/// # Errors
///
/// The folder cannot be read, or a key is wrong; each problem has the name of its file, line and column.
pub fn read(folder: &Path) -> Result<LocalConfiguration, LocalConfigurationError> {
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |error| LocalConfigurationError::Folder { path, error }
    };
    let mut configuration = LocalConfiguration::default();
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed(folder))? {
        files.push(entry.map_err(failed(folder))?.path());
    }
    files.sort();
    // Kubernetes: a mounted ConfigMap has links beside the keys, whose names begin with two dots.
    files.retain(|path| path.is_file() && !name(path).starts_with(".."));
    for path in files {
        let text = fs::read_to_string(&path).map_err(failed(&path))?;
        let mut parser = Parser { problems: Vec::new() };
        parser.key(&name(&path), &text, &mut configuration);
        if !parser.problems.is_empty() {
            let file = path.display().to_string();
            return Err(ConfigurationError { file, problems: parser.problems }.into());
        }
    }
    Ok(configuration)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

struct Parser {
    problems: Vec<ConfigurationProblem>,
}

impl Parser {
    fn add(&mut self, node: &TreeNode, text: impl Into<String>) {
        self.problems.push(ConfigurationProblem { at: node.at, text: text.into() });
    }

    fn key(&mut self, key: &str, text: &str, configuration: &mut LocalConfiguration) {
        let node = match document::read(text) {
            Ok(documents) => match documents.into_iter().next() {
                Some(node) => node,
                None => return,
            },
            Err(error) => {
                self.problems.push(ConfigurationProblem { at: error.at, text: error.reason });
                return;
            }
        };
        match key {
            "storageClassMap" => self.classes(&node, configuration),
            "nodeLabelsForPV" => configuration.node_labels = self.texts(&node, key),
            "labelsForPV" => {
                for entry in node.entries() {
                    if let Some(value) = self.text(&entry.value, &entry.key) {
                        configuration.labels.insert(entry.key.clone(), value.into());
                    }
                }
            }
            "setPVOwnerRef" => configuration.is_owned_by_node = self.bool(&node, key),
            "useNodeNameOnly" => configuration.is_named_by_node_only = self.bool(&node, key),
            "removeNodeNotReadyTaint" => {
                configuration.removes_not_ready_taint = self.bool(&node, key);
            }
            "provisionerNotReadyNodeTaintKey" => {
                configuration.not_ready_taint = self.text(&node, key);
            }
            "useAlphaAPI" if self.bool(&node, key) => {
                self.add(&node, "useAlphaAPI must be false: Kubernetes has no such API since 1.10");
            }
            "useJobForCleaning" => {
                let is_job = self.bool(&node, key);
                configuration.block_cleaner =
                    if is_job { DiskCleaner::Job } else { DiskCleaner::Process };
            }
            "jobTolerations" => configuration.job_tolerations = self.objects(&node, key),
            // Watches make the period meaningless.
            "useAlphaAPI" | "minResyncPeriod" => {}
            other => {
                self.add(&node, format!("{other} is not a known key of the ConfigMap; remove it"));
            }
        }
    }

    fn classes(&mut self, node: &TreeNode, configuration: &mut LocalConfiguration) {
        if !matches!(node.shape, Shape::Map(_)) {
            self.add(node, format!("storageClassMap must be a map, not {}", node.kind()));
        }
        for entry in node.entries() {
            if let Some(class) = self.class(entry) {
                self.check_overlap(entry, &class, configuration);
                configuration.classes.insert(entry.key.clone(), class);
            }
        }
    }

    /// Two classes that find one entry would offer it twice.
    fn check_overlap(&mut self, entry: &Entry, class: &DiscoveryClass, known: &LocalConfiguration) {
        for (name, other) in &known.classes {
            let is_within =
                |one: &Path, other: &Path| one.starts_with(other) || other.starts_with(one);
            let is_same = class.host_dir == other.host_dir && class.mount_dir == other.mount_dir;
            let overlaps = is_within(&class.host_dir, &other.host_dir)
                || is_within(&class.mount_dir, &other.mount_dir);
            // Of one folder, patterns can give each class its own entries; a scan finds what both match.
            if overlaps && !(is_same && class.name_pattern != other.name_pattern) {
                self.add(
                    &entry.value,
                    format!(
                        "the folder of StorageClass {:?} overlaps with that of {name:?}: a disk would be offered \
                         twice; give each a folder of its own",
                        entry.key
                    ),
                );
            }
        }
    }

    fn class(&mut self, entry: &Entry) -> Option<DiscoveryClass> {
        let node = &entry.value;
        for unknown in
            node.entries().iter().filter(|entry| !CLASS_KEYS.contains(&entry.key.as_str()))
        {
            let text =
                format!("unknown key {:?}; known are {}", unknown.key, CLASS_KEYS.join(", "));
            self.problems.push(ConfigurationProblem { at: unknown.at, text });
        }
        let mut folder = |key: &str| {
            let folder = node.get(key).and_then(TreeNode::text).map(PathBuf::from);
            let folder = folder.filter(|path| path.is_absolute());
            if folder.is_none() {
                self.add(
                    node,
                    format!("StorageClass {:?} needs {key}, an absolute path", entry.key),
                );
            }
            folder
        };
        let (host_dir, mount_dir) = (folder("hostDir"), folder("mountDir"));
        let mode = self.choice(
            node,
            "volumeMode",
            &[("Filesystem", OfferedMode::Filesystem), ("Block", OfferedMode::Block)],
        );
        let policy = DiskPolicy {
            on_manual_delete: self.choice(
                node,
                "onManualDelete",
                &[("hold", OnManualDelete::Hold), ("clean", OnManualDelete::Clean)],
            ),
            on_content: self.choice(
                node,
                "onContent",
                &[("hold", OnContent::Hold), ("offer", OnContent::Offer)],
            ),
        };
        let access_modes = ["ReadWriteOnce", "ReadWriteOncePod", "ReadWriteMany", "ReadOnlyMany"];
        let access_mode = self.choice(node, "accessMode", &access_modes.map(|mode| (mode, mode)));
        let pattern = node.get("namePattern");
        let name_pattern = NamePattern::parse(pattern.and_then(TreeNode::text).unwrap_or("*"));
        if name_pattern.is_none() {
            self.add(
                pattern.unwrap_or(node),
                "namePattern is malformed; \\ escapes a character that is meant literally",
            );
        }
        let nodes =
            node.get("selector").map_or(NodeAffinity::Unrestricted, |node| self.nodes(node));
        let cleaner = node.get("blockCleanerCommand");
        Some(DiscoveryClass {
            cleaner: cleaner
                .map(|node| self.texts(node, "blockCleanerCommand"))
                .unwrap_or_default(),
            fs_type: node.get("fsType").and_then(TreeNode::text).unwrap_or_default().to_owned(),
            host_dir: host_dir?,
            mount_dir: mount_dir?,
            mode,
            access_mode: access_mode.to_owned(),
            name_pattern: name_pattern?,
            overwrites_free_space: node
                .get("overwriteFreeSpace")
                .is_some_and(|node| self.bool(node, "overwriteFreeSpace")),
            policy,
            nodes,
        })
    }

    /// The value that the text under `key` names; the first where there is none.
    fn choice<T: Copy>(&mut self, node: &TreeNode, key: &str, values: &[(&str, T)]) -> T {
        let default = values[0].1;
        let Some(node) = node.get(key) else { return default };
        if let Some((_, value)) = values.iter().find(|(name, _)| node.text() == Some(*name)) {
            return *value;
        }
        let names: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
        self.add(node, format!("{key} must be one of {}", names.join(", ")));
        default
    }

    /// The nodes that a list of node selector terms admits.
    fn nodes(&mut self, node: &TreeNode) -> NodeAffinity {
        let selector = json!({"nodeSelectorTerms": node.to_json()}).to_string();
        node_selector(&selector).unwrap_or_else(|error| {
            self.add(node, format!("selector must be a list of node selector terms: {error}"));
            NodeAffinity::Unrestricted
        })
    }

    fn text(&mut self, node: &TreeNode, name: &str) -> Option<String> {
        if node.text().is_none() {
            self.add(node, format!("{name} must be text, not {}", node.kind()));
        }
        node.text().map(str::to_owned)
    }

    fn texts(&mut self, node: &TreeNode, name: &str) -> Vec<String> {
        if !matches!(node.shape, Shape::List(_)) {
            self.add(node, format!("{name} must be a list, not {}", node.kind()));
        }
        node.items().iter().filter_map(|item| self.text(item, name)).collect()
    }

    fn objects(&mut self, node: &TreeNode, name: &str) -> Vec<Value> {
        if !matches!(node.shape, Shape::List(_)) {
            self.add(node, format!("{name} must be a list, not {}", node.kind()));
        }
        for item in node.items().iter().filter(|item| !matches!(item.shape, Shape::Map(_))) {
            self.add(item, format!("{name} must be a list of maps, not of {}", item.kind()));
        }
        node.items().iter().map(TreeNode::to_json).collect()
    }

    /// The local static provisioner's chart writes `"true"`, a text, in some releases.
    fn bool(&mut self, node: &TreeNode, name: &str) -> bool {
        let value = node.bool().or_else(|| node.text().and_then(|text| text.parse().ok()));
        if value.is_none() {
            self.add(node, format!("{name} must be true or false, not {}", node.kind()));
        }
        value.unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the chart of sig-storage-local-static-provisioner writes it.
    const CLASSES: &str = "fast-disks:\n   hostDir: /mnt/fast-disks\n   mountDir: /mnt/fast-disks\n   blockCleanerCommand:\n     - \"/scripts/shred.sh\"\n     - \"2\"\n   volumeMode: Filesystem\n   fsType: ext4\n   namePattern: \"*\"\n";

    fn read_files(files: &[(&str, &str)]) -> Result<LocalConfiguration, String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let prefix = format!("{}/", folder.path().display());
        read(folder.path()).map_err(|error| error.to_string().replace(&prefix, ""))
    }

    #[test]
    fn a_configuration_of_the_local_static_provisioner_is_read() {
        let configuration = read_files(&[
            ("storageClassMap", CLASSES),
            ("nodeLabelsForPV", "- topology.kubernetes.io/zone\n"),
            ("labelsForPV", "pool: fast\n"),
            ("setPVOwnerRef", "true"),
            ("useNodeNameOnly", "\"true\""),
            ("useAlphaAPI", "false"),
            // Its chart writes it so.
            ("useJobForCleaning", "yes"),
            ("jobTolerations", "- {key: disks, operator: Exists}\n"),
            ("minResyncPeriod", "5m0s"),
            ("removeNodeNotReadyTaint", "true"),
            ("provisionerNotReadyNodeTaintKey", "disks.example.com/not-ready"),
        ]);
        let configuration = configuration.unwrap();
        let class = &configuration.classes["fast-disks"];
        assert_eq!((class.mode, class.fs_type.as_str()), (OfferedMode::Filesystem, "ext4"));
        assert_eq!(class.cleaner, ["/scripts/shred.sh", "2"]);
        assert_eq!(class.policy, DiskPolicy::default());
        assert_eq!(class.nodes, NodeAffinity::Unrestricted);
        assert!(configuration.is_owned_by_node && configuration.is_named_by_node_only);
        assert_eq!(configuration.block_cleaner, DiskCleaner::Job);
        assert_eq!(configuration.job_tolerations, [json!({"key": "disks", "operator": "Exists"})]);
        assert_eq!(configuration.node_labels, ["topology.kubernetes.io/zone"]);
        assert_eq!(configuration.removed_taint(), Some("disks.example.com/not-ready"));
    }

    #[test]
    fn each_mistake_has_its_file_line_and_column() {
        let nested = "a: {hostDir: /mnt, mountDir: /mnt}\nb: {hostDir: /mnt/b, mountDir: /mnt/b}";
        for (file, text, expected) in [
            (
                "storageClassMap",
                "a: {hostDir: /mnt}",
                "1:4: StorageClass \"a\" needs mountDir, an absolute path",
            ),
            (
                "storageClassMap",
                "a: {hostDir: mnt, mountDir: /mnt}",
                "1:4: StorageClass \"a\" needs hostDir, an absolute path",
            ),
            (
                "storageClassMap",
                "a:\n  hostDir: /mnt\n  mountDir: /mnt\n  onManualDelet: clean",
                "4:3: unknown key \"onManualDelet\"; known are hostDir, mountDir, blockCleanerCommand, volumeMode, \
                 accessMode, fsType, namePattern, selector, onManualDelete, onContent, \
                 overwriteFreeSpace",
            ),
            (
                "storageClassMap",
                "a: {hostDir: /mnt, mountDir: /mnt, onManualDelete: wipe}",
                "1:52: onManualDelete must be one of hold, clean",
            ),
            (
                "storageClassMap",
                "a: {hostDir: /mnt, mountDir: /mnt, namePattern: \"[\"}",
                "1:49: namePattern is malformed; \\ escapes a character that is meant literally",
            ),
            (
                "storageClassMap",
                nested,
                "2:4: the folder of StorageClass \"b\" overlaps with that of \"a\": a disk would be offered twice; \
                 give each a folder of its own",
            ),
            ("storageClassMap", "[]", "1:1: storageClassMap must be a map, not a list"),
            (
                "useAlphaAPI",
                "true",
                "1:1: useAlphaAPI must be false: Kubernetes has no such API since 1.10",
            ),
            (
                "useJobForCleaning",
                "sometimes",
                "1:1: useJobForCleaning must be true or false, not text",
            ),
            ("jobTolerations", "[a]", "1:2: jobTolerations must be a list of maps, not of text"),
            (
                "setPvOwnerRef",
                "true",
                "1:1: setPvOwnerRef is not a known key of the ConfigMap; remove it",
            ),
        ] {
            let error = read_files(&[(file, text)]).unwrap_err();
            assert_eq!(error, format!("{file}:{expected}"), "{text}");
        }
        let missing = read(Path::new("/nowhere")).unwrap_err().to_string();
        assert!(missing.starts_with("/nowhere cannot be read: "), "{missing}");
    }

    #[test]
    fn a_class_is_for_the_nodes_that_its_selector_admits() {
        let text = "a:\n  hostDir: /mnt\n  mountDir: /mnt\n  selector:\n  - matchExpressions:\n    \
                    - {key: pool, operator: In, values: [fast]}\n";
        let configuration = read_files(&[("storageClassMap", text)]).unwrap();
        let node = |pool: &str| crate::model::Node {
            name: "n".into(),
            labels: [("pool", pool)].into_iter().collect(),
        };
        let nodes = &configuration.classes["a"].nodes;
        assert!(nodes.admits(&node("fast")) && !nodes.admits(&node("slow")));
    }
}
