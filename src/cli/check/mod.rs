//! `bindery check`: judges a change as the webhook would, before it is made.
//!
//! Files and the cluster are read (`input`), each change is judged by the same core as in the webhook (`judge`), and
//! the result is written (`report`).

mod review;
mod run;
mod stateful_set;
mod unverified;

use std::panic::resume_unwind;
use std::thread;
use std::time::Duration;

use self::run::Run;
use super::args::CheckArgs;
use super::baseline::Baseline;
use super::exit::{Exit, Failure};
use super::input::dump::StorageState;
use super::input::dump::batch::ReadPurpose;
use super::input::manifests::{self, Depth, Sources};
use super::input::object_id::ObjectId;
use super::judge::{KnownObjects, ObjectSource};
use super::output::Colour;
use super::report::{self, ResultCounts};

/// Runs the command.
pub fn run(arguments: &CheckArgs) -> Result<Exit, Failure> {
    reject_contradictions(arguments)?;
    let configuration = super::files::configuration(arguments.report.config.as_deref())?;
    let baseline = arguments.report.baseline.as_deref().map(Baseline::read).transpose()?;
    let sources = |paths| Sources {
        paths,
        depth: if arguments.recursive { Depth::Tree } else { Depth::Folder },
        namespace: &arguments.namespace,
    };
    let changes = || {
        let head = manifests::read(sources(&arguments.filename))?;
        Ok((head, manifests::read(sources(&arguments.old))?, deletions(arguments)?))
    };
    let ((head, base, deletions), known) = if is_cluster(arguments) {
        // Without changes that can be read, no request is sent.
        (changes()?, stored_objects(arguments)?)
    } else {
        read_beside(changes, || stored_objects(arguments))?
    };
    let mut run = Run::new(arguments, configuration, known, &head, base)?;
    run.judge_all(&head, &deletions)?;
    let now = run.now;
    let mut report = run.report(head.others).with_policies(arguments.policies);
    if let Some(baseline) = baseline {
        baseline.accept(&mut report, now);
    }
    report::write(
        &report,
        &arguments.report.output,
        Colour::of_standard_output(arguments.report.no_color),
    )?;
    Ok(exit(&report.summary, arguments))
}

/// Reads the changes on one core and what is stored on the others. If neither can be read, the error is that of the changes.
fn read_beside<C, S: Send>(
    changes: impl FnOnce() -> Result<C, Failure>,
    stored: impl FnOnce() -> Result<S, Failure> + Send,
) -> Result<(C, S), Failure> {
    thread::scope(|scope| {
        let stored = scope.spawn(stored);
        let changes = changes();
        let stored = stored.join().unwrap_or_else(|panic| resume_unwind(panic));
        Ok((changes?, stored?))
    })
}

fn is_cluster(arguments: &CheckArgs) -> bool {
    arguments.live.iter().any(|path| path.as_os_str() == "cluster")
}

fn reject_contradictions(arguments: &CheckArgs) -> Result<(), Failure> {
    let given = [&arguments.filename, &arguments.old, &arguments.live];
    if arguments.filename.is_empty() && arguments.old.is_empty() && arguments.delete.is_empty() {
        return Err(Failure::usage(
            "nothing to check; give manifests with -f, or an object with --delete",
        ));
    }
    let inputs = given.iter().flat_map(|paths| paths.iter());
    if inputs.filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(Failure::usage(
            "standard input is given twice; it can be read once; use a file for one",
        ));
    }
    report::reject_collisions(&arguments.report.output)
}

/// The objects that are stored, from what `--live` names.
fn stored_objects(arguments: &CheckArgs) -> Result<KnownObjects, Failure> {
    let CheckArgs { live, max_age, cluster, .. } = arguments;
    let is_cluster = is_cluster(arguments);
    let paths = match live.as_slice() {
        [] => return Ok(KnownObjects::new(ObjectSource::Input)),
        [_, _, ..] if is_cluster => {
            return Err(Failure::usage(
                "--live takes files or the cluster, not both; leave one out",
            ));
        }
        paths => {
            if is_cluster {
                &[]
            } else {
                paths
            }
        }
    };
    let state = StorageState::read(paths, cluster, ReadPurpose::Changes)?;
    if state.age > *max_age {
        let hours = |time: &Duration| time.as_secs() / 3600;
        return Err(Failure::usage(format!(
            "{}: is {} hours old and --max-age is {} hours; make a new dump or raise --max-age",
            state.source,
            hours(&state.age),
            hours(max_age)
        )));
    }
    KnownObjects::of(state)
}

fn deletions(arguments: &CheckArgs) -> Result<Vec<ObjectId>, Failure> {
    let parse = |text: &String| {
        ObjectId::parse(text, &arguments.namespace).ok_or_else(|| {
            Failure::usage(format!(
                "--delete {text}: is not an object; write pvc/NAMESPACE/NAME, or pv, ns, sc, \
                 node, volumeattachment, csidriver or volumesnapshotcontent with /NAME"
            ))
        })
    };
    arguments.delete.iter().map(parse).collect()
}

fn exit(summary: &ResultCounts, arguments: &CheckArgs) -> Exit {
    if summary.objects == 0 && arguments.require_match {
        return Exit::Denied;
    }
    summary.exit(&arguments.report.fail_on)
}
