//! Runs helm, and reads what it renders.
//!
//! Not here: which values (`sets`), and what must hold of the objects.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use bindery::document::{self, TreeNode};
use serde_json::Value;

/// The release that tests render, and its namespace: the name of the installation is made of both parts.
pub(crate) const RELEASE: &str = "rel";
/// As [`RELEASE`].
pub(crate) const NAMESPACE: &str = "store";
/// The name that the chart makes of them.
pub(crate) const NAME: &str = "rel-bindery";

/// A path from the root of the repository.
pub(crate) fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A file of the repository.
pub(crate) fn text(path: &str) -> String {
    fs::read_to_string(root(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What helm made of a set of values.
pub(crate) struct Rendering {
    /// All of it.
    pub(crate) text: String,
    /// Its objects.
    pub(crate) objects: Vec<Value>,
}

impl Rendering {
    /// The objects of a kind.
    pub(crate) fn of_kind(&self, kind: &str) -> Vec<&Value> {
        self.objects.iter().filter(|object| object["kind"] == kind).collect()
    }

    /// The object of this kind and name.
    pub(crate) fn object(&self, kind: &str, name: &str) -> &Value {
        let found =
            self.of_kind(kind).into_iter().find(|object| object["metadata"]["name"] == name);
        found.unwrap_or_else(|| panic!("no {kind} {name} is rendered"))
    }
}

/// A version of helm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Helm {
    /// The newest, which all tests use but where they say otherwise.
    Four,
    /// Its predecessor, which many still have.
    Three,
}

/// Runs helm; the error is its output.
pub(crate) fn helm(arguments: &[&str]) -> Result<String, String> {
    run(Helm::Four, arguments)
}

fn run(helm: Helm, arguments: &[&str]) -> Result<String, String> {
    let name = match helm {
        Helm::Four => "helm",
        Helm::Three => "helm3",
    };
    let mut command = Command::new(binaries().join(name));
    // No user's plugins, repositories or cluster.
    for home in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
        command.env(home, Path::new(env!("CARGO_TARGET_TMPDIR")).join("helm"));
    }
    let output = command
        .args(arguments)
        .env("KUBECONFIG", "/dev/null")
        .current_dir(root(""))
        .output()
        .expect("helm was found");
    let reported = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        Ok(reported(&output.stdout))
    } else {
        Err(reported(&output.stderr))
    }
}

/// Renders the chart with these arguments.
pub(crate) fn template(arguments: &[&str]) -> Result<Rendering, String> {
    template_by(Helm::Four, arguments)
}

/// Renders the chart by this helm.
pub(crate) fn template_by(helm: Helm, arguments: &[&str]) -> Result<Rendering, String> {
    let fixed = ["template", RELEASE, "charts/bindery", "--namespace", NAMESPACE];
    let text = run(helm, &[fixed.as_slice(), arguments].concat())?;
    let objects = document::read(&text).map_err(|error| format!("the rendering: {error}"))?;
    let objects = objects.iter().map(TreeNode::to_json).collect();
    Ok(Rendering { text, objects })
}

/// Renders the chart with these arguments, which must do.
#[track_caller]
pub(crate) fn rendered(arguments: &[&str]) -> Rendering {
    template(arguments).unwrap_or_else(|error| panic!("{arguments:?}: {error}"))
}

/// The sets of values, by name, with their renderings; made once.
pub(crate) fn sets() -> &'static [(String, Rendering)] {
    static SETS: OnceLock<Vec<(String, Rendering)>> = OnceLock::new();
    SETS.get_or_init(|| {
        let mut names: Vec<String> = fs::read_dir(root("tests/chart/sets"))
            .expect("there are sets of values")
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter_map(|name| Some(name.strip_suffix(".yaml")?.to_owned()))
            .collect();
        names.sort();
        let render = |name: String| {
            let rendering = rendered(&["--values", &format!("tests/chart/sets/{name}.yaml")]);
            (name, rendering)
        };
        names.into_iter().map(render).collect()
    })
}

/// The sets that have a webhook.
pub(crate) fn sets_with_webhook() -> impl Iterator<Item = &'static (String, Rendering)> {
    sets().iter().filter(|(name, _)| name != "policies-instead")
}

/// The rendering of one set.
pub(crate) fn set(name: &str) -> &'static Rendering {
    let found = sets().iter().find(|(other, _)| other == name);
    &found.unwrap_or_else(|| panic!("there is no set {name}")).1
}

/// Returns whether recorded files are to be written rather than compared.
pub(crate) fn is_generating() -> bool {
    std::env::var_os("BINDERY_GENERATE").is_some_and(|value| value == "1")
}

fn binaries() -> &'static Path {
    static BINARIES: OnceLock<PathBuf> = OnceLock::new();
    BINARIES.get_or_init(|| {
        let script = root("scripts/kube.sh");
        let output = Command::new(&script).arg("--where").output().expect("the script runs");
        let reported = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.success(),
            "helm is missing, and the chart is rendered with it; run make kube, then retry ({})",
            reported.trim()
        );
        PathBuf::from(String::from_utf8_lossy(&output.stdout).trim())
    })
}
