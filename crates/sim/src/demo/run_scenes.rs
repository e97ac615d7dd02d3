//! Runs the scenes and compares each result with the expected one.

use std::collections::BTreeMap;

use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::Value;

use super::admission::ReviewTally;
use super::error::DemoError;
use super::kubectl::{Caller, KubectlCommand};
use super::print::{Printer, Word, verdict};
use super::scenes::{AdmissionScene, Then};
use super::setup::DemoSetup;

/// What the API server answers.
pub(super) struct CommandReply {
    pub(super) is_done: bool,
    /// The object, or why not.
    pub(super) object: Value,
    pub(super) warnings: Vec<String>,
    /// What the webhook had to do with it.
    pub(super) tally: ReviewTally,
}

/// The result of one command.
struct Seen {
    /// In one word; `None` if something else than the webhook denied it.
    word: Option<Word>,
    /// What kubectl would print.
    text: String,
    /// How many reviews the webhook answered for it.
    reviews: usize,
    /// What is wrong with it whatever was expected.
    faults: Vec<String>,
}

impl Seen {
    fn is_denied(&self) -> bool {
        self.word.is_none_or(|word| word == Word::Denied)
    }
}

/// How a scene ended.
struct Ending {
    word: Word,
    faults: Vec<String>,
}

/// Runs `scenes`; returns how many ended otherwise than documented.
pub(super) async fn run(
    setup: &DemoSetup,
    scenes: &[AdmissionScene],
    printer: &mut Printer<'_>,
) -> Result<usize, DemoError> {
    printer.paragraph(&format!(
        "The webhook of bindery serves HTTPS on {}, with a throw-away certificate, over an API \
         server in memory that holds examples/cluster.yaml. Each command below is sent to that API \
         server, which calls the webhook as its registration says; what follows is what kubectl \
         would print.",
        setup.webhook.address()
    ))?;
    let mut tally = BTreeMap::new();
    let (mut unexpected, mut reviews) = (0, 0);
    for scene in scenes {
        let before = setup.version();
        let mut seen = Vec::new();
        for command in scene.commands {
            seen.push(send(setup, command).await?);
        }
        let ending = ending(setup, scene, &seen, before);
        print(setup, scene, (&seen, &ending), printer)?;
        *tally.entry(ending.word).or_insert(0_usize) += 1;
        reviews += seen.iter().map(|one| one.reviews).sum::<usize>();
        unexpected += usize::from(!ending.faults.is_empty());
    }
    let counts: Vec<String> = Word::VERDICTS
        .iter()
        .map(|word| format!("{} {}", tally.get(word).copied().unwrap_or_default(), word.as_str()))
        .collect();
    printer.gap()?;
    printer.paragraph(&format!(
        "{} scenes, {reviews} reviews over TLS: {}; {}.",
        scenes.len(),
        counts.join(", "),
        verdict(unexpected)
    ))?;
    printer.flush()?;
    Ok(unexpected)
}

/// Compares what was `seen` with what `scene` expects; `before` is the version at its beginning.
fn ending(setup: &DemoSetup, scene: &AdmissionScene, seen: &[Seen], before: u64) -> Ending {
    let mut faults: Vec<String> = seen.iter().flat_map(|one| one.faults.clone()).collect();
    // A scene is about the last command of a user; all else only leads there or follows.
    let last = scene.commands.iter().rposition(KubectlCommand::is_typed);
    let others = seen.iter().enumerate().filter(|(index, _)| Some(*index) != last);
    for (_, other) in others.filter(|(_, other)| other.is_denied()) {
        faults.push(format!("a step around it was denied: {}", other.text));
    }
    let last = last.and_then(|index| seen.get(index));
    let word = last.and_then(|last| last.word);
    if word != Some(scene.word) {
        let came = word.map_or("an error", Word::as_str);
        faults.push(format!("expected {}, came to {came}", scene.word.as_str()));
    }
    let text = last.map_or("", |last| &last.text);
    let missing = scene.reports.iter().filter(|part| !text.contains(**part));
    faults.extend(missing.map(|part| format!("the text does not say {part:?}")));
    if scene.word == Word::Denied && setup.version() != before {
        faults.push("it was denied and something was changed".to_owned());
    }
    faults.extend(scene.then.iter().filter_map(|then| check(setup, then)));
    Ending { word: word.unwrap_or(scene.word), faults }
}

/// Prints a scene as a block.
fn print(
    setup: &DemoSetup,
    scene: &AdmissionScene,
    (seen, ending): (&[Seen], &Ending),
    printer: &mut Printer<'_>,
) -> Result<(), DemoError> {
    printer.head(ending.word, scene.title)?;
    for (command, one) in scene.commands.iter().zip(seen) {
        printer.whole(&command.line(&setup.until))?;
        if command.is_typed() {
            printer.text(&one.text)?;
        }
    }
    for fault in &ending.faults {
        printer.text(&format!("NOT AS DOCUMENTED: {fault}"))?;
    }
    printer.flush()?;
    Ok(())
}

/// Sends a request of `by` to the API server.
pub(super) async fn ask(
    setup: &DemoSetup,
    by: Caller,
    request: http::Request<Body>,
) -> Result<CommandReply, DemoError> {
    let failed = |reason: String| DemoError::Client(reason);
    let reply = setup.client(by).send(request).await;
    let reply = reply.map_err(|error| failed(error.to_string()))?;
    let (parts, body) = reply.into_parts();
    let warnings = parts.headers.get_all("warning").iter().filter_map(warning).collect();
    let object = read(body).await.map_err(failed)?;
    let tally = setup.admission.take_tally();
    Ok(CommandReply { is_done: parts.status.is_success(), object, warnings, tally })
}

/// Sends one command to the API server.
async fn send(setup: &DemoSetup, command: &KubectlCommand) -> Result<Seen, DemoError> {
    let CommandReply { is_done, object, warnings, tally } =
        ask(setup, command.by, command.request(&setup.until)?).await?;
    let mut lines: Vec<String> =
        warnings.iter().map(|warning| format!("Warning: {warning}")).collect();
    lines.push(if is_done { command.success(&object) } else { command.failure(&object) });
    let denied_by_us = object["message"].as_str().unwrap_or_default();
    let word = match (is_done, tally.is_patched, warnings.is_empty()) {
        (true, true, _) => Some(Word::Mutated),
        (true, false, false) => Some(Word::Warned),
        (true, false, true) => Some(Word::Allowed),
        (false, _, _) => denied_by_us.starts_with("admission webhook").then_some(Word::Denied),
    };
    Ok(Seen { word, text: lines.join("\n"), reviews: tally.reviews, faults: tally.failures })
}

/// The text of a `Warning` header: `299 - "text"`, with quotes and backslashes escaped.
fn warning(value: &http::HeaderValue) -> Option<String> {
    let quoted = value.to_str().ok()?.strip_prefix("299 - \"")?.strip_suffix('"')?;
    Some(quoted.replace("\\\"", "\"").replace("\\\\", "\\"))
}

async fn read(body: Body) -> Result<Value, String> {
    let bytes = body.collect().await.map_err(|error| error.to_string())?.to_bytes();
    serde_json::from_slice(&bytes).map_err(|error| error.to_string())
}

/// Returns what is wrong if something that should be true now is not.
fn check(setup: &DemoSetup, then: &Then) -> Option<String> {
    let at = |target, pointer: &str| {
        let object = setup.stored(target);
        object.and_then(|object| object.pointer(pointer).cloned())
    };
    match *then {
        Then::Is(target, pointer, expected) => {
            let found = at(target, pointer);
            (found.as_ref().and_then(Value::as_str) != Some(expected))
                .then(|| format!("{pointer} of {target:?} is {found:?}, not {expected:?}"))
        }
        Then::Lacks(target, pointer) => {
            let found = at(target, pointer)?;
            Some(format!("{pointer} of {target:?} is still {found}"))
        }
        Then::Holds(volume, claim) => {
            let uid = at(claim, "/metadata/uid");
            (uid.is_none() || at(volume, "/spec/claimRef/uid") != uid)
                .then(|| format!("{volume:?} does not hold {claim:?}"))
        }
        Then::Gone(target) => setup.stored(target).map(|_| format!("{target:?} still exists")),
    }
}
