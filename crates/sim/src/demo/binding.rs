//! The second half: the real controller binds in the same cluster, and how long that takes.
//!
//! Not here: what it decides, which is `binding`; and what is sent to whom, which is `controller`.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::error::DemoError;
use super::examples::{
    CLAIM_TOO_LARGE, CLAIMS, ExampleFile, VOLUME_ARCHIVE_1, VOLUMES, collection,
};
use super::kubectl::Caller::{self, Admin, Tenant};
use super::print::{Printer, Word, verdict};
use super::run_scenes::ask;
use super::setup::DemoSetup;
use super::stopwatch::Stopwatch;
use super::table::{milliseconds, row, table};
use bindery::api::event;
use bindery::cli::explain;
use bindery::client::resource::ResourceKind;
use bindery::controller::error::LoopError;
use bindery::controller::mode::ControllerMode;
use bindery::controller::run::{self as controller, ControllerSettings};
use bindery::file_watch::configuration::ConfigurationSource;
use bindery::model::{ClaimKey, VolumeName};

/// One scene of the bind loop.
#[derive(Debug)]
pub(super) struct BindingScene {
    /// What it shows, as a sentence without full stop.
    title: &'static str,
    /// In one word.
    word: Word,
    /// What is done and looked at.
    steps: &'static [Step],
}

/// A claim, and the volume that it should have; none if it should wait.
type Expected = (&'static str, Option<&'static str>);

/// One step of a scene.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A user creates the objects of a file.
    Create(Caller, &'static ExampleFile),
    /// Claims are listed, once those have their volume that should.
    Get(&'static [Expected]),
    /// The controller has recorded an event of a claim, so has decided; the event must say these.
    Events(&'static str, &'static [&'static str]),
    /// A claim is explained; the text must say these.
    Explain(&'static str, &'static [&'static str]),
}

/// The namespace of all claims.
const NAMESPACE: &str = "qa";

/// All scenes.
pub(super) const SCENES: &[BindingScene] = &[
    BindingScene {
        title: "The controller starts: a PVC that names its PV is bound, another stays Pending",
        word: Word::Bound,
        steps: &[Step::Get(&[("history", Some("pv-archive-0")), ("ledger", None)])],
    },
    BindingScene {
        title: "A PV is created for the PVC that is Pending",
        word: Word::Bound,
        steps: &[
            Step::Create(Admin, &VOLUME_ARCHIVE_1),
            Step::Get(&[("ledger", Some("pv-archive-1"))]),
        ],
    },
    BindingScene {
        title: "PVs first, then PVCs: each gets the smallest PV that is large enough",
        word: Word::Bound,
        steps: &[
            Step::Create(Admin, &VOLUMES),
            Step::Create(Tenant, &CLAIMS),
            Step::Get(&[
                ("logs", Some("pv-share-20")),
                ("dumps", Some("pv-share-100")),
                ("notes", Some("pv-share-5")),
            ]),
        ],
    },
    BindingScene {
        title: "No PV is large enough for a PVC: why it is Pending, and how to fix it",
        word: Word::Pending,
        steps: &[
            Step::Create(Tenant, &CLAIM_TOO_LARGE),
            // First, as an undecided claim is Pending too.
            Step::Events("films", &["no persistent volumes available for this claim"]),
            Step::Get(&[("films", None)]),
            Step::Explain(
                "films",
                &["qa/films", "pv-share-50: 50Gi is less than the requested 80Gi", "fix ("],
            ),
        ],
    },
];

/// How long a claim may take to be bound, which takes milliseconds, or to get an event: a second.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// How often it is asked for events.
const POLL: Duration = Duration::from_millis(10);

/// Runs `scenes` with a controller in `mode`; returns how many ended otherwise than documented.
pub(super) async fn run(
    setup: &DemoSetup,
    scenes: &[BindingScene],
    (mode, patience): (ControllerMode, Duration),
    printer: &mut Printer<'_>,
) -> Result<usize, DemoError> {
    printer.gap()?;
    printer.paragraph(
        "Now the controller binds in the same cluster, beside the webhook. BOUND AFTER: \
         from when PVC, PV and controller existed until a watch showed the PVC Bound.",
    )?;
    let mut stopwatch = Stopwatch::start(&setup.client(Admin));
    let controller = Controller::start(setup, mode);
    let mut scenario =
        Scenario { setup, stopwatch: &mut stopwatch, start: Instant::now(), patience };
    let (mut unexpected, mut times) = (0, Vec::new());
    for scene in scenes {
        let reported = scenario.run(scene).await?;
        reported.print(scene.word, scene.title, printer)?;
        times.extend(reported.times);
        unexpected += usize::from(!reported.faults.is_empty());
    }
    controller.stop().await?;
    let slowest = times.iter().max().copied().unwrap_or_default();
    printer.gap()?;
    printer.paragraph(&format!(
        "{} PVCs bound, the slowest after {}; {}.",
        times.len(),
        milliseconds(slowest),
        verdict(unexpected)
    ))?;
    printer.flush()?;
    Ok(unexpected)
}

/// A controller that runs.
pub(super) struct Controller {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), LoopError>>,
}

impl Controller {
    pub(super) fn start(setup: &DemoSetup, mode: ControllerMode) -> Self {
        let (stop, stopped) = oneshot::channel();
        let settings = ControllerSettings {
            mode,
            election: None,
            configuration: ConfigurationSource::default(),
            config_map: None,
            last_good: None,
            own_namespace: "bindery".to_owned(),
            events: true,
            certificates: None,
            guard: None,
        };
        let client = setup.client(Caller::Controller);
        let task = tokio::spawn(controller::run(client, settings, async {
            let _ = stopped.await;
        }));
        Self { stop, task }
    }

    pub(super) async fn stop(self) -> Result<(), DemoError> {
        // If it has ended already, its end says why.
        let _ = self.stop.send(());
        Ok(self.task.await.map_err(LoopError::from)??)
    }
}

/// What goes on.
struct Scenario<'a> {
    setup: &'a DemoSetup,
    stopwatch: &'a mut Stopwatch,
    /// When the controller was started.
    start: Instant,
    patience: Duration,
}

/// A line of a block.
pub(super) enum Line {
    /// One that must stay whole, to be copied or because it is a row.
    Whole(String),
    /// One that may be wrapped.
    Text(String),
}

impl Line {
    fn command(command: &str) -> Self {
        Self::Whole(format!("$ {command}"))
    }
}

/// What a scene came to.
#[derive(Default)]
pub(super) struct Reported {
    pub(super) lines: Vec<Line>,
    pub(super) faults: Vec<String>,
    /// How long each claim took that was bound in it.
    times: Vec<Duration>,
}

impl Reported {
    /// Shows a command.
    pub(super) fn command(&mut self, command: &str) {
        self.lines.push(Line::command(command));
    }

    /// Shows that a controller does its part.
    pub(super) fn command_of(&mut self, by: Caller) {
        let name = by.controller().unwrap_or_default();
        self.lines.push(Line::Whole(format!("# meanwhile, {name} does its part")));
    }

    pub(super) fn text(&mut self, text: &str) {
        self.lines.push(Line::Text(text.to_owned()));
    }

    /// Prints it as a block.
    pub(super) fn print(
        &self,
        word: Word,
        title: &str,
        printer: &mut Printer<'_>,
    ) -> Result<(), DemoError> {
        printer.head(word, title)?;
        self.lines.iter().try_for_each(|line| match line {
            Line::Whole(line) => printer.whole(line),
            Line::Text(line) => printer.text(line),
        })?;
        for fault in &self.faults {
            printer.text(&format!("NOT AS DOCUMENTED: {fault}"))?;
        }
        printer.flush()?;
        Ok(())
    }
}

impl Scenario<'_> {
    async fn run(&mut self, scene: &BindingScene) -> Result<Reported, DemoError> {
        let mut reported = Reported::default();
        for step in scene.steps {
            match step {
                Step::Create(by, file) => self.create(&mut reported, *by, file).await?,
                Step::Get(claims) => self.get(&mut reported, claims).await,
                Step::Events(claim, says) => self.events(&mut reported, claim, says).await?,
                Step::Explain(claim, says) => self.explain(&mut reported, claim, says).await?,
            }
        }
        Ok(reported)
    }

    async fn create(
        &self,
        reported: &mut Reported,
        by: Caller,
        file: &ExampleFile,
    ) -> Result<(), DemoError> {
        reported.lines.push(Line::command(&format!("kubectl create -f {}", file.path)));
        for object in file.objects()? {
            let request = http::Request::post(collection(&object)?)
                .header("content-type", "application/json")
                .body(object.to_string().into_bytes().into())
                .map_err(|error| DemoError::Examples(error.to_string()))?;
            let reply = ask(self.setup, by, request).await?;
            reported.faults.extend(reply.tally.failures);
            let warnings = reply.warnings.iter().map(|text| Line::Text(format!("Warning: {text}")));
            reported.lines.extend(warnings);
            if reply.is_done {
                let kind = object["kind"].as_str().unwrap_or_default().to_lowercase();
                let name = object["metadata"]["name"].as_str().unwrap_or_default();
                reported.lines.push(Line::Text(format!("{kind}/{name} created")));
            } else {
                let why = reply.object["message"].as_str().unwrap_or_default();
                reported.faults.push(format!("it was rejected: {why}"));
            }
        }
        Ok(())
    }

    async fn get(&mut self, reported: &mut Reported, claims: &[Expected]) {
        let names: Vec<&str> = claims.iter().map(|(name, _)| *name).collect();
        let command = format!("kubectl -n {NAMESPACE} get pvc {}", names.join(" "));
        reported.lines.push(Line::command(&command));
        let mut rows = Vec::new();
        for (name, volume) in claims {
            let key = ClaimKey::new(NAMESPACE, *name);
            let Some(seen) = self.stopwatch.wait(&key, *volume, self.patience).await else {
                reported.faults.push(format!("PVC \"{key}\" does not exist"));
                continue;
            };
            let took = self.stopwatch.took(&seen, self.start);
            rows.push(row(name, &seen, took));
            let found = seen.claim.volume.as_ref().map(VolumeName::as_str);
            if volume.map_or(found.is_some(), |volume| !seen.has(volume)) {
                let (wanted, found) = (volume.unwrap_or("none"), found.unwrap_or("none"));
                let phase = &seen.claim.phase;
                reported.faults.push(format!(
                    "PVC \"{key}\" should have PV {wanted}; it is {phase} with PV {found}"
                ));
            }
            reported.times.extend(took);
        }
        reported.lines.extend(table(&rows).into_iter().map(Line::Whole));
    }

    async fn events(
        &self,
        reported: &mut Reported,
        claim: &str,
        says: &[&str],
    ) -> Result<(), DemoError> {
        let command =
            format!("kubectl -n {NAMESPACE} events --for pvc/{claim} -o jsonpath={{..message}}");
        reported.lines.push(Line::command(&command));
        let path = explain::events_path(&ClaimKey::new(NAMESPACE, claim));
        let start = Instant::now();
        let events = loop {
            let list = self.get_text(&path).await?;
            let events = event::events(&list);
            let events = events.map_err(|error| DemoError::Client(error.to_string()))?;
            if !events.is_empty() || start.elapsed() > self.patience {
                break events;
            }
            sleep(POLL).await;
        };
        let messages: Vec<&str> = events.iter().map(|event| event.message.as_str()).collect();
        let text = messages.join(" ");
        let missing = says.iter().filter(|part| !text.contains(**part));
        reported.faults.extend(missing.map(|part| format!("no event of the PVC says {part:?}")));
        reported.lines.push(Line::Text(text));
        Ok(())
    }

    async fn explain(
        &self,
        reported: &mut Reported,
        claim: &str,
        says: &[&str],
    ) -> Result<(), DemoError> {
        let command = format!("bindery explain -n {NAMESPACE} pvc/{claim}");
        reported.lines.push(Line::command(&command));
        let mut lists = Vec::new();
        for watched in ResourceKind::STORAGE {
            lists.push(self.get_text(watched.path()).await?);
        }
        let explained = explain::claim_of_lists(&lists, &ClaimKey::new(NAMESPACE, claim));
        let text = explained.map_err(|failure| DemoError::Explanation(failure.message))?;
        let missing = says.iter().filter(|part| !text.contains(**part));
        reported.faults.extend(missing.map(|part| format!("the text does not say {part:?}")));
        reported.lines.extend(text.lines().map(|line| {
            let kind = if line.starts_with("kubectl ") { Line::Whole } else { Line::Text };
            kind(line.to_owned())
        }));
        Ok(())
    }

    /// Returns what the API server has at this path.
    async fn get_text(&self, path: &str) -> Result<String, DemoError> {
        let request = http::Request::get(path).body(Vec::new());
        let request = request.map_err(|error| DemoError::Client(error.to_string()))?;
        let text = self.setup.client(Admin).request_text(request).await;
        text.map_err(|error| DemoError::Client(error.to_string()))
    }
}
