//! `--live`: the stored objects, from a dump or from the cluster itself.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use serde_json::Value;

use super::known::{KnownObjects, ObjectSource};
use crate::cli::args::ClusterArgs;
use crate::cli::exit::Failure;
use crate::cli::input::cluster::listed;
use crate::cli::input::listing::{CLAIM_USE, Listing, SNAPSHOT_KIND, collection};
use crate::cli::input::object_id::{ObjectId, ObjectKind};
use crate::cli::input::text::{error_reason, name_of, names_of, no_object, not_json, read_text};
use crate::document;
use crate::model::ClaimKey;

/// Where live objects came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Source {
    /// The files, or `cluster`.
    pub name: String,
    /// How old they are.
    pub age: Duration,
}

/// Reads what is stored. `None` as source if nothing was asked for.
pub(in crate::cli) fn read(
    paths: &[PathBuf],
    cluster: &ClusterArgs,
    max_age: Duration,
) -> Result<(KnownObjects, Option<Source>), Failure> {
    if paths.is_empty() {
        return Ok((KnownObjects::new(ObjectSource::Input), None));
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
    let mut known = KnownObjects::new(ObjectSource::Dump);
    let mut age = Duration::ZERO;
    for path in paths {
        let is_input = path.as_os_str() == "-";
        let text = read_text(path)?;
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
            names_of(paths),
            hours(age),
            hours(max_age)
        )));
    }
    Ok((known, Some(Source { name: names_of(paths), age })))
}

/// The time since then; zero if it is in the future.
fn since(taken: Timestamp) -> Duration {
    Duration::try_from(Timestamp::now().duration_since(taken)).unwrap_or_default()
}

/// The age of a file; zero if it is in the future or unknown.
fn age_of(path: &Path) -> Duration {
    let modified = std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    modified
        .and_then(|modified| SystemTime::now().duration_since(modified).ok())
        .unwrap_or_default()
}

/// What is known of a dump.
#[derive(Debug, Default)]
struct Dump {
    /// When it was taken, if it is a snapshot, which says so.
    taken: Option<Timestamp>,
    /// How many objects and lists it holds.
    count: usize,
}

/// Adds a dump. A large one is JSON, which is read without places.
fn take_text(known: &mut KnownObjects, text: &str, name: &str) -> Result<Dump, Failure> {
    let mut dump = Dump::default();
    let mut add = |value: Value| {
        dump.taken = dump.taken.or(taken_at(&value, name)?);
        dump.count += take_document(known, value, name)?;
        Ok::<(), Failure>(())
    };
    if document::is_json(text) {
        for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
            add(value.map_err(|error| not_json(name, text, &error))?)?;
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
    if value.get("kind").and_then(Value::as_str) != Some(SNAPSHOT_KIND) {
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
    known: &mut KnownObjects,
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
    into: &mut (&mut KnownObjects, &mut Listing, &mut usize),
    mut object: Value,
    of_list: Option<&str>,
    name: &str,
) -> Result<(), Failure> {
    let kind =
        object.get("kind").and_then(Value::as_str).or(of_list).unwrap_or_default().to_owned();
    let of_items = if kind == SNAPSHOT_KIND { Some("") } else { kind.strip_suffix("List") };
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
    let Some(kind) = ObjectKind::from_name(&kind) else { return Ok(()) };
    let namespace = if kind.is_namespaced() { namespace } else { String::new() };
    let key = ObjectId { kind, namespace, name: metadata("name") };
    let label = key.to_string();
    known.store(key, object).map_err(|error| {
        let reason = error_reason(&error);
        Failure::usage(format!("{name}: {label} cannot be read: {reason}; make a new dump"))
    })
}

/// The cluster as it is now: everything listed once, and read again where a verdict depends on it.
fn of_cluster(arguments: &ClusterArgs) -> Result<KnownObjects, Failure> {
    let (cluster, lists) = listed(arguments)?;
    let mut known = KnownObjects::new(ObjectSource::ClusterClient(cluster));
    for text in lists {
        take_text(&mut known, &text, "cluster")?;
    }
    Ok(known)
}
