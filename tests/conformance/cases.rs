//! The data files below `cases/`: what the tables of Kubernetes' own tests hold, and how each case is
//! decided here.
//!
//! One file for each file of Kubernetes, in its order and under its numbers, so that the two can be
//! laid side by side. Not here: what the lines about objects mean (`notation`), and who runs them.

use std::fs;
use std::path::Path;

use serde::Deserialize;

/// The data files, in the order of the page.
const FILES: [&str; 9] = [
    "binder",
    "delete",
    "recycle",
    "provision",
    "pv_controller",
    "index",
    "pv_helpers",
    "classes",
    "elsewhere",
];

/// The cases of one file, or of a few small files, of Kubernetes' tests.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Source {
    /// Tables in which objects are synced.
    #[serde(default)]
    pub(crate) tables: Vec<Table>,
    /// Tables in which something is asked about objects.
    #[serde(default)]
    pub(crate) questions: Vec<Questions>,
    /// Tables that are listed with one line each: nothing in them concerns a binder.
    #[serde(default)]
    pub(crate) elsewhere: Vec<Elsewhere>,
}

/// Objects, calls, and the objects afterwards.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    /// The file in Kubernetes' repository.
    pub(crate) source: String,
    /// The test function.
    pub(crate) test: String,
    /// The classes of all its cases.
    #[serde(default)]
    pub(crate) classes: String,
    /// The pods of all its cases.
    #[serde(default)]
    pub(crate) pods: String,
    pub(crate) cases: Vec<Case>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// What Kubernetes calls it.
    #[serde(rename = "case")]
    pub(crate) number: String,
    /// What it shows, in a few words of ours.
    pub(crate) shows: String,
    /// Classes instead of the table's.
    pub(crate) classes: Option<String>,
    /// What is called, and what others do in between.
    #[serde(default)]
    pub(crate) calls: String,
    #[serde(default)]
    pub(crate) volumes: String,
    #[serde(default)]
    pub(crate) claims: String,
    /// Claims that the API has and the cache does not show.
    #[serde(default, rename = "unseen claims")]
    pub(crate) unseen_claims: String,
    /// As Kubernetes leaves them; absent where nothing changes.
    #[serde(rename = "volumes after")]
    pub(crate) volumes_after: Option<String>,
    #[serde(rename = "claims after")]
    pub(crate) claims_after: Option<String>,
    /// The beginnings of the events that Kubernetes expects, in order.
    #[serde(default)]
    pub(crate) events: String,
    /// The beginnings of all events here, where Kubernetes' table looks at fewer, or expects others.
    pub(crate) reported: Option<String>,
    /// How storage is to be reclaimed in the end: `recycle`, `driver`, or nothing.
    #[serde(default)]
    pub(crate) reclaim: String,
    pub(crate) verdict: Verdict,
    pub(crate) reason: Option<String>,
    /// Where it ends differently here: only what is other than Kubernetes' table says.
    pub(crate) here: Option<Here>,
}

/// What is left here after the calls, where that is not what Kubernetes leaves.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Here {
    pub(crate) volumes: Option<String>,
    pub(crate) claims: Option<String>,
}

/// How a case is decided here.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    /// As in Kubernetes.
    Same,
    /// Otherwise, on purpose.
    Differs,
    /// It is about something that is not done here; what of it is, is checked.
    NotOurs,
}

/// Questions of one kind about objects.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Questions {
    pub(crate) source: String,
    pub(crate) test: String,
    pub(crate) asks: Asks,
    #[serde(default)]
    pub(crate) volumes: String,
    #[serde(default)]
    pub(crate) classes: String,
    pub(crate) cases: Vec<Question>,
}

/// What is asked.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Asks {
    /// Which volume the claim is given.
    Choice,
    /// Whether the one volume can be named by the claim.
    Prebind,
    /// Whether the volume modes agree.
    VolumeMode,
    /// Whether the volume has the access modes.
    AccessModes,
    /// Which free volumes the claim could be given by class, modes and size, best first.
    Order,
    /// The class of the claim after it was decided about.
    Class,
    /// Whether the claim waits for a pod with a node.
    Delay,
    /// Whether the node reaches the one volume.
    Reach,
    /// Whether the claim says anything about its class.
    HasClass,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    /// What Kubernetes calls it; after a `*` our words, where it has no name there.
    #[serde(rename = "case")]
    pub(crate) number: String,
    pub(crate) shows: String,
    /// Volumes instead of the table's.
    pub(crate) volumes: Option<String>,
    pub(crate) classes: Option<String>,
    #[serde(default)]
    pub(crate) claim: String,
    /// Who asks: `binder`, `binder of a delayed class`, or `node` and its labels.
    #[serde(default = "binder")]
    pub(crate) asker: String,
    /// The answer of Kubernetes.
    pub(crate) expects: String,
    pub(crate) verdict: Verdict,
    pub(crate) reason: Option<String>,
    /// The answer here, where it is another.
    pub(crate) here: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Elsewhere {
    pub(crate) source: String,
    pub(crate) test: String,
    pub(crate) shows: String,
    /// How many cases it has.
    pub(crate) cases: usize,
    pub(crate) reason: String,
}

/// A case of any kind, as it is listed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listed<'a> {
    pub(crate) source: &'a str,
    pub(crate) test: &'a str,
    pub(crate) number: &'a str,
    pub(crate) shows: &'a str,
    pub(crate) verdict: Verdict,
    pub(crate) reason: Option<&'a str>,
}

impl Source {
    /// All its cases, in order; not the tables that are listed with one line each.
    pub(crate) fn listed(&self) -> impl Iterator<Item = Listed<'_>> {
        let cases = self.tables.iter().flat_map(|table| {
            table.cases.iter().map(|case| Listed {
                source: &table.source,
                test: &table.test,
                number: &case.number,
                shows: &case.shows,
                verdict: case.verdict,
                reason: case.reason.as_deref(),
            })
        });
        let questions = self.questions.iter().flat_map(|table| {
            table.cases.iter().map(|question| Listed {
                source: &table.source,
                test: &table.test,
                number: &question.number,
                shows: &question.shows,
                verdict: question.verdict,
                reason: question.reason.as_deref(),
            })
        });
        cases.chain(questions)
    }
}

fn binder() -> String {
    "binder".to_owned()
}

/// All data files.
pub(crate) fn sources() -> Vec<Source> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/cases");
    let read = |name: &str| {
        let path = folder.join(name).with_extension("yaml");
        let text = fs::read_to_string(&path).expect("the data file is there");
        serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{name}.yaml: {error}"))
    };
    let found = fs::read_dir(&folder).expect("the folder of the data files").count();
    assert_eq!(found, FILES.len(), "a data file that no list names");
    FILES.map(read).into()
}
