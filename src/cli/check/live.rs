//! `--live`: the stored objects, from a dump or from the cluster itself.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use http::{Method, Request};
use http_body_util::BodyExt;
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use super::input::told;
use super::known::{Known, Reach};
use super::objects::{Kind, ObjectKey};
use crate::binding::{LiveReads, Read};
use crate::cli::args::ClusterArgs;
use crate::cli::exit::Failure;
use crate::cli::files;
use crate::cli::listing::{Listing, collection};
use crate::cli::plan::state::{CLAIM_USE, no_object};
use crate::cli::snapshot;
use crate::client::connect::{Address, connect};
use crate::client::reads::LiveReader;
use crate::client::resource::ResourceKind;
use crate::document;
use crate::model::ClaimKey;
use crate::telemetry::logging;

/// Where live objects came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    /// The files, or `cluster`.
    pub name: String,
    /// How old they are.
    pub age: Duration,
}

/// A cluster that can be asked.
pub struct Cluster {
    runtime: Runtime,
    client: Client,
    timeout: Duration,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

impl Cluster {
    /// The cluster at this address. Nothing is asked yet.
    pub(in crate::cli) fn connect(arguments: &ClusterArgs) -> Result<Self, Failure> {
        let refused = |error: std::io::Error| {
            Failure::unreachable(format!(
                "no thread can be started: {}; try again",
                logging::cause(&error)
            ))
        };
        let runtime = Builder::new_current_thread().enable_all().build().map_err(refused)?;
        let address = Address {
            kubeconfig: arguments.kubeconfig.clone(),
            context: arguments.context.clone(),
            as_user: arguments.as_user.clone(),
            as_groups: arguments.as_group.clone(),
        };
        let client = runtime.block_on(async { connect(&address).await }).map_err(Failure::from)?;
        Ok(Self { runtime, client, timeout: arguments.request_timeout })
    }

    /// The namespace of the context.
    pub(in crate::cli) fn namespace(&self) -> &str {
        self.client.default_namespace()
    }

    /// What is at `path`, as JSON text.
    pub(in crate::cli) fn get(&self, path: &str) -> Result<String, Refusal> {
        self.runtime.block_on(get(&self.client, path, self.timeout))
    }

    /// What the API server answers to the creation of an object, which may be refused.
    pub(in crate::cli) fn create(&self, path: &str, object: &Value) -> Result<Reply, Failure> {
        self.runtime.block_on(create(&self.client, path, object, self.timeout))
    }

    /// Its volumes, claims and classes, a list each, as JSON texts.
    pub(in crate::cli) fn lists(&self) -> Result<Vec<String>, Refusal> {
        ResourceKind::STORAGE.iter().map(|watched| self.get(watched.path())).collect()
    }

    /// Its pods that wait, in all namespaces, as the JSON text of a list.
    pub(in crate::cli) fn waiting_pods(&self) -> Result<String, Refusal> {
        let (path, selection) = (ResourceKind::Pods.path(), ResourceKind::Pods.selection());
        self.get(&format!("{path}?{}", selection.trim_start_matches('&')))
    }

    /// Makes `reads` and puts the answers into `live`.
    pub fn read(&self, reads: &[Read], live: &mut LiveReads) {
        let reader = LiveReader::new(self.client.clone());
        self.runtime.block_on(reader.read(reads, self.timeout, live));
    }
}

/// Reads what is stored. `None` as source if nothing was asked for.
pub(super) fn read(
    paths: &[PathBuf],
    cluster: &ClusterArgs,
    max_age: Duration,
) -> Result<(Known, Option<Source>), Failure> {
    if paths.is_empty() {
        return Ok((Known::new(Reach::Input), None));
    }
    if paths.iter().any(|path| path.as_os_str() == "cluster") {
        if paths.len() > 1 {
            return Err(Failure::usage(
                "--live takes files or the cluster, not both; leave one out",
            ));
        }
        let source = Source { name: "cluster".to_owned(), age: Duration::ZERO };
        return Ok((of_cluster(cluster)?, Some(source)));
    }
    let mut known = Known::new(Reach::Dump);
    let mut age = Duration::ZERO;
    for path in paths {
        let is_input = path.as_os_str() == "-";
        let text = if is_input { files::read_standard_input()? } else { files::read(path)? };
        let Dump { taken, count } = take_text(&mut known, &text, &name_of(path))?;
        if count == 0 {
            return Err(no_object(&name_of(path)));
        }
        let written = if is_input { Duration::ZERO } else { age_of(path) };
        // A snapshot says when it was taken, however often it was copied since.
        age = age.max(taken.map_or(written, since));
    }
    if age > max_age {
        let hours = |time: Duration| time.as_secs() / 3600;
        return Err(Failure::usage(format!(
            "{}: is {} hours old and --max-age is {} hours; make a new dump or raise --max-age",
            join(paths),
            hours(age),
            hours(max_age)
        )));
    }
    Ok((known, Some(Source { name: join(paths), age })))
}

pub(in crate::cli) fn name_of(path: &Path) -> String {
    if path.as_os_str() == "-" {
        files::STANDARD_INPUT.to_owned()
    } else {
        path.display().to_string()
    }
}

fn join(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths.iter().map(|path| name_of(path)).collect();
    names.join(", ")
}

/// The time since then; what was taken in the future is new.
fn since(taken: Timestamp) -> Duration {
    Duration::try_from(Timestamp::now().duration_since(taken)).unwrap_or_default()
}

/// A file that was written in the future, or whose file system knows no times, is taken for new.
fn age_of(path: &Path) -> Duration {
    let modified = std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    modified
        .and_then(|modified| SystemTime::now().duration_since(modified).ok())
        .unwrap_or_default()
}

/// The failure to read a dump as JSON, with its place.
pub(in crate::cli) fn no_json(name: &str, text: &str, error: &serde_json::Error) -> Failure {
    let line = error.line();
    // The library counts bytes, and people count letters.
    let told = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let before = told.get(..told.floor_char_boundary(error.column().saturating_sub(1)));
    let column = before.unwrap_or_default().chars().count() + 1;
    Failure::usage(format!("{name}:{line}:{column}: is not readable as JSON; make a new dump"))
}

/// What is known of a dump.
#[derive(Debug, Default)]
struct Dump {
    /// When it was taken, if it is a snapshot, which says so.
    taken: Option<Timestamp>,
    /// How many objects and lists it holds.
    count: usize,
}

/// Takes in a dump. A large one is JSON, which is read without places.
fn take_text(known: &mut Known, text: &str, name: &str) -> Result<Dump, Failure> {
    let mut dump = Dump::default();
    let mut add = |value: Value| {
        dump.taken = dump.taken.or(taken_at(&value, name)?);
        dump.count += take_document(known, value, name)?;
        Ok::<(), Failure>(())
    };
    if document::is_json(text) {
        for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
            add(value.map_err(|error| no_json(name, text, &error))?)?;
        }
        return Ok(dump);
    }
    let documents = document::read(text).map_err(|error| {
        Failure::usage(format!("{name}:{}: {}; make a new dump", error.at, error.reason))
    })?;
    documents.iter().try_for_each(|document| add(document.to_json()))?;
    Ok(dump)
}

/// When a snapshot was taken; nothing of anything else.
fn taken_at(value: &Value, name: &str) -> Result<Option<Timestamp>, Failure> {
    if value.get("kind").and_then(Value::as_str) != Some(snapshot::KIND) {
        return Ok(None);
    }
    let taken = value.get("takenAt").and_then(Value::as_str).and_then(|text| text.parse().ok());
    taken.map(Some).ok_or_else(|| {
        Failure::usage(format!(
            "{name}: the snapshot does not say when it was taken; make a new one with bindery snapshot"
        ))
    })
}

/// Takes in one document: an object, or a list; how many objects and lists that say what they hold it has.
pub(in crate::cli) fn take_document(
    known: &mut Known,
    object: Value,
    name: &str,
) -> Result<usize, Failure> {
    let text = |key: &str| object.pointer(key).and_then(Value::as_str).unwrap_or_default();
    let mut listing = if object.get("items").is_some_and(Value::is_array) {
        Listing::of(text("/kind"), !text("/metadata/continue").is_empty())
    } else {
        Listing::part()
    };
    let mut count = usize::from(listing.may_be_empty());
    take(&mut (known, &mut listing, &mut count), object, None, name)?;
    listing.conclude(&mut known.listed);
    Ok(count)
}

fn take(
    into: &mut (&mut Known, &mut Listing, &mut usize),
    mut object: Value,
    of_list: Option<&str>,
    name: &str,
) -> Result<(), Failure> {
    let kind =
        object.get("kind").and_then(Value::as_str).or(of_list).unwrap_or_default().to_owned();
    let of_items = if kind == snapshot::KIND { Some("") } else { kind.strip_suffix("List") };
    if let (Some(of_items), Some(Value::Array(items))) = (of_items, object.get_mut("items")) {
        let of_items = (!of_items.is_empty()).then_some(of_items);
        let mut items = std::mem::take(items).into_iter();
        return items.try_for_each(|item| take(into, item, of_items, name));
    }
    let (known, listing, count) = into;
    **count += usize::from(!kind.is_empty());
    let metadata = |key: &str| {
        let text = object.get("metadata").and_then(|metadata| metadata.get(key));
        text.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    if kind == CLAIM_USE {
        known.note_use(ClaimKey::new(metadata("namespace"), metadata("name")));
        return Ok(());
    }
    if let Some(collection) = collection(&kind) {
        listing.see(collection);
    }
    let namespace = metadata("namespace");
    if !namespace.is_empty() {
        listing.see_namespace(&namespace.as_str().into());
    }
    let Some(kind) = Kind::from_name(&kind) else { return Ok(()) };
    let namespace = if kind.is_namespaced() { namespace } else { String::new() };
    let key = ObjectKey { kind, namespace, name: metadata("name") };
    let label = key.to_string();
    known.store(key, object).map_err(|error| {
        let reason = told(&error);
        Failure::usage(format!("{name}: {label} cannot be read: {reason}; make a new dump"))
    })
}

/// The cluster as it is now: everything listed once, and asked again where a verdict rests on it.
fn of_cluster(arguments: &ClusterArgs) -> Result<Known, Failure> {
    let (cluster, lists) = listed(arguments)?;
    let mut known = Known::new(Reach::Cluster(cluster));
    for text in lists {
        take_text(&mut known, &text, "cluster")?;
    }
    Ok(known)
}

/// A cluster and what it lists of volumes, claims and classes, as JSON texts.
pub(in crate::cli) fn listed(arguments: &ClusterArgs) -> Result<(Cluster, Vec<String>), Failure> {
    let cluster = Cluster::connect(arguments)?;
    let lists = cluster.lists()?;
    Ok((cluster, lists))
}

/// Why something cannot be had from a cluster.
#[derive(Debug)]
pub(in crate::cli) enum Refusal {
    /// The account may not have it.
    Forbidden(Failure),
    /// It does not exist.
    Missing(Failure),
    /// The cluster cannot be reached, or fails.
    Failed(Failure),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Forbidden(failure) | Refusal::Missing(failure) | Refusal::Failed(failure) => {
                failure
            }
        }
    }
}

/// The answer to a write.
#[derive(Debug)]
pub(in crate::cli) struct Reply {
    /// Its status code.
    pub code: u16,
    /// The object as it would be stored, or the status that says why not.
    pub object: Value,
    /// The warnings that came with it.
    pub warnings: Vec<String>,
}

impl Reply {
    /// Why it was refused.
    pub(in crate::cli) fn message(&self) -> String {
        self.object["message"].as_str().unwrap_or_default().to_owned()
    }
}

async fn create(
    client: &Client,
    path: &str,
    object: &Value,
    timeout: Duration,
) -> Result<Reply, Failure> {
    let body = Body::from(object.to_string().into_bytes());
    let request = Request::post(path).header("content-type", "application/json").body(body);
    let request = request.map_err(|error| Failure::unreachable(error.to_string()))?;
    let exchange = async {
        let response = client.send(request).await.map_err(|error| logging::cause(&error))?;
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(|error| logging::cause(&error))?.to_bytes();
        Ok::<_, String>((head, body))
    };
    let late = || format!("no answer within {} s", timeout.as_secs());
    let sent = tokio::time::timeout(timeout, exchange).await.map_err(|_| late());
    let (head, body) = sent.and_then(|sent| sent).map_err(|reason| {
        Failure::unreachable(format!(
            "the cluster cannot be reached: {reason}; check --kubeconfig and --context"
        ))
    })?;
    // Kubernetes: `299 - "TEXT"`, RFC 7234.
    let warning = |value: &http::HeaderValue| {
        let text = value.to_str().ok()?.split_once('"')?.1.rsplit_once('"')?.0;
        Some(text.replace("\\\"", "\""))
    };
    Ok(Reply {
        code: head.status.as_u16(),
        object: serde_json::from_slice(&body).unwrap_or_default(),
        warnings: head.headers.get_all("warning").iter().filter_map(warning).collect(),
    })
}

async fn get(client: &Client, path: &str, timeout: Duration) -> Result<String, Refusal> {
    let request = Request::builder().method(Method::GET).uri(path).body(Vec::new());
    let request =
        request.map_err(|error| Refusal::Failed(Failure::unreachable(error.to_string())))?;
    match tokio::time::timeout(timeout, client.request_text(request)).await {
        Ok(Ok(text)) => Ok(text),
        Ok(Err(kube::Error::Api(status))) => {
            let failure = Failure::unreachable(format!(
                "the cluster refuses to list {path}: {}; use an account that may, or a dump",
                status.message.trim_end_matches('.')
            ));
            Err(match status.code {
                403 => Refusal::Forbidden(failure),
                404 => Refusal::Missing(failure),
                _ => Refusal::Failed(failure),
            })
        }
        Ok(Err(error)) => Err(Refusal::Failed(Failure::unreachable(format!(
            "the cluster cannot be reached: {}; check --kubeconfig and --context",
            logging::cause(&error)
        )))),
        Err(_) => Err(Refusal::Failed(Failure::unreachable(format!(
            "the cluster did not answer within {} s; raise --request-timeout or try again",
            timeout.as_secs()
        )))),
    }
}
