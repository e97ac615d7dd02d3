//! The demonstration: the documented hazards against the real webhook, then the real controller binding and the real local
//! static provisioner cleaning a disk, without a cluster.
//!
//! Webhook, controller and provisioner are the real ones, with TLS, watches and live reads; only the API server is
//! the one in memory (`sim`), holding `examples/cluster.yaml`. Each scene is sent to it as kubectl would
//! send it, and it asks the webhook as the registration says. A scene that ends otherwise than
//! documented fails the demo: it is a test as well.
//!
//! Not here: rules and what they say, and how volumes are chosen. The demo knows only what each scene
//! should come to.

mod admission;
mod binding;
mod disks;
mod error;
mod examples;
mod folder;
mod kubectl;
mod print;
mod run_scenes;
mod scenes;
mod serve;
mod setup;
mod stopwatch;
mod table;
#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::path::PathBuf;
use std::pin::pin;

use clap::Parser;
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};

use bindery::cli::exit::{Exit, Failure};
use bindery::cli::output::Colour;
use bindery::controller::mode::ControllerMode;
use bindery::telemetry::logging;
pub use error::DemoError;
use folder::Folder;
use print::Printer;
use setup::DemoSetup;

/// The arguments of the demonstration.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "demo",
    about = "Show the webhook denying and mutating, the controller binding, and a local disk cleaned, without a cluster"
)]
pub struct Arguments {
    /// Stay up afterwards, for requests of your own.
    #[arg(long)]
    pub serve: bool,
}

/// How the demo is run.
#[derive(Clone, Debug)]
pub struct DemoOptions {
    /// What comes after the last scene.
    pub afterwards: Afterwards,
    /// Whether verdicts are coloured.
    pub colour: Colour,
    /// Where the folder for the throw-away certificate is made. It is removed at the end.
    pub temporary: PathBuf,
}

/// What comes after the last scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Afterwards {
    /// The end.
    End,
    /// The webhook stays up until it is interrupted.
    Serve,
}

/// How a demo ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DemoOutcome {
    /// Every scene ended as documented.
    AsDocumented,
    /// So many scenes did not.
    Otherwise(usize),
    /// It was interrupted before the last scene.
    Interrupted,
}

/// What to type after the demo: one line.
const NEXT: &str = "Next, in a clone: make demo ARGS=--serve, and ask it with curl; docs/reference/rules, for the rules.";

impl Default for DemoOptions {
    /// Ends after the last scene, plain, in the system's folder for temporary files.
    fn default() -> Self {
        Self { afterwards: Afterwards::End, colour: Colour::Off, temporary: std::env::temp_dir() }
    }
}

/// Runs the command: clean only if every scene ended as documented.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let afterwards = if arguments.serve { Afterwards::Serve } else { Afterwards::End };
    let colour = Colour::of_standard_output(false);
    let options = DemoOptions { afterwards, colour, ..DemoOptions::default() };
    match run_to(&options, &mut io::stdout().lock()) {
        Ok(DemoOutcome::AsDocumented) => Ok(Exit::Clean),
        Ok(DemoOutcome::Otherwise(_)) => Ok(Exit::Denied),
        Ok(DemoOutcome::Interrupted) => Err(Failure {
            exit: Exit::Denied,
            message: "interrupted before the last scene".to_owned(),
        }),
        // A reader that has gone away needs no sentence; but the demo did not reach its end.
        Err(DemoError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            Ok(Exit::Denied)
        }
        Err(error) => Err(Failure::usage(logging::chain(&error))),
    }
}

/// Plays the demo and writes it to `out`. SIGINT and SIGTERM end it at any time, cleanly.
pub fn run_to(options: &DemoOptions, out: &mut dyn Write) -> Result<DemoOutcome, DemoError> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(DemoError::Setup)?.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt()).map_err(DemoError::Setup)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(DemoError::Setup)?;
        let stop = async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        };
        run_until(options, out, stop).await
    })
}

/// The same until `stop` resolves.
async fn run_until(
    options: &DemoOptions,
    out: &mut dyn Write,
    stop: impl Future<Output = ()>,
) -> Result<DemoOutcome, DemoError> {
    let mut stop = pin!(stop);
    // Declared before everything that uses its files, so that it goes last.
    let folder = Folder::create(&options.temporary)?;
    let mut printer = Printer::new(out, options.colour);
    let scenes = async {
        let setup = DemoSetup::start(&folder).await?;
        let denying = run_scenes::run(&setup, scenes::SCENES, &mut printer).await?;
        let binding = binding::run(
            &setup,
            binding::SCENES,
            (ControllerMode::Full, binding::PATIENCE),
            &mut printer,
        );
        let binding = binding.await?;
        let disks = disks::run(&setup, &folder, binding::PATIENCE, &mut printer).await?;
        let unexpected = denying + binding + disks;
        Ok::<_, DemoError>((setup, unexpected))
    };
    let (setup, unexpected) = tokio::select! {
        biased;
        () = &mut stop => return Ok(DemoOutcome::Interrupted),
        ended = scenes => ended?,
    };
    match options.afterwards {
        Afterwards::End => {
            setup.end().await?;
            printer.paragraph(NEXT)?;
            printer.flush()?;
        }
        Afterwards::Serve => serve::serve(setup, &folder, &mut printer, stop).await?,
    }
    Ok(if unexpected == 0 { DemoOutcome::AsDocumented } else { DemoOutcome::Otherwise(unexpected) })
}
