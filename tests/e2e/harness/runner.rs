//! Runs the cases as the built-in test harness would: filters, threads, one line per case, the
//! failures at the end.
//!
//! It exists because the built-in harness has no "after the last test", and a plane must be stopped
//! then. libtest-mimic is not used: it knows no case that runs beside no other ([`Case::is_alone`]) and rejects
//! `--strict`, `--full` and `--seeds`, so that its arguments would be read twice and its summary be printed twice.
//! Not here: the cases (`cases`) and what they talk to (`plane`).

use std::backtrace::{Backtrace, BacktraceStatus};
use std::cell::RefCell;
use std::num::NonZero;
use std::ops::Range;
use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::Instant;

/// One test: its name as `module::function`, and the function, which fails by panicking.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    /// As shown and as filtered.
    pub(crate) name: &'static str,
    /// Runs on a thread of its own.
    pub(crate) run: fn(),
    /// Whether it runs beside no other case, because it measures how long something takes.
    pub(crate) is_alone: bool,
}

/// Makes a [`Case`] of a function in the module of the call.
macro_rules! case {
    ($function:ident) => {
        $crate::runner::Case {
            name: concat!(module_path!(), "::", stringify!($function)),
            run: $function,
            is_alone: false,
        }
    };
}
pub(crate) use case;

/// Makes a [`Case`] that runs beside no other.
macro_rules! alone {
    ($function:ident) => {
        $crate::runner::Case { is_alone: true, ..$crate::runner::case!($function) }
    };
}
pub(crate) use alone;

/// Whether every selected case passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All of them; also when none was selected, as in the built-in harness.
    Passed,
    /// At least one did not.
    Failed,
}

/// What the command line asks for.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    filters: Vec<String>,
    skips: Vec<String>,
    exact: bool,
    /// Whether each filter has to select something: cargo passes a name to every suite, most of which lack it.
    strict: bool,
    wish: Wish,
    threads: Option<NonZero<usize>>,
    extent: Extent,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Wish {
    /// Cases are run.
    #[default]
    Run,
    /// They are listed.
    List,
    /// A plane is started for a person.
    Hold,
}

/// How much of what could be done for ever is done.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extent {
    /// Everything that is promised, for as long as it takes.
    pub(crate) is_full: bool,
    /// The seeds of what is made up, if not so many from 0.
    pub(crate) seeds: Option<Range<u64>>,
}

static EXTENT: OnceLock<Extent> = OnceLock::new();

/// Returns how much the command line asks for.
pub(crate) fn extent() -> &'static Extent {
    EXTENT.get_or_init(Extent::default)
}

impl Arguments {
    /// Reads the arguments of the built-in harness that matter here. An unknown flag is an error: a
    /// misspelt one would otherwise run something else than was meant.
    pub(crate) fn parse(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self::default();
        let mut words = words;
        while let Some(word) = words.next() {
            let (flag, inline) = match word.split_once('=') {
                Some((flag, value)) if flag.starts_with("--") => (flag, Some(value.to_owned())),
                _ => (word.as_str(), None),
            };
            let mut value = || {
                inline
                    .clone()
                    .or_else(|| words.next())
                    .ok_or_else(|| format!("{flag} needs a value."))
            };
            match flag {
                "--exact" => arguments.exact = true,
                "--strict" => arguments.strict = true,
                "--list" => arguments.wish = Wish::List,
                "--hold" => arguments.wish = Wish::Hold,
                "--full" => arguments.extent.is_full = true,
                "--seeds" => {
                    let seeds = value()?;
                    let bounds = seeds.split_once("..");
                    let bounds =
                        bounds.and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
                    let bounds = bounds.filter(|bounds: &Range<u64>| !bounds.is_empty());
                    let wrong =
                        || format!("--seeds needs FROM..TO, which are some, not \"{seeds}\".");
                    arguments.extent.seeds = Some(bounds.ok_or_else(wrong)?);
                }
                "--skip" => arguments.skips.push(value()?),
                "--test-threads" => {
                    let count = value()?;
                    arguments.threads = Some(count.parse().map_err(|_| {
                        format!("--test-threads needs a number above 0, not \"{count}\".")
                    })?);
                }
                // Nothing is captured but the panic, and there is one format.
                "--nocapture" | "--no-capture" | "-q" | "--quiet" => {}
                "--color" | "--format" => drop(value()?),
                _ if flag.starts_with('-') => {
                    return Err(format!(
                        "The end-to-end tests do not know {flag}; they know FILTER, --exact, --full, \
                         --hold, --list, --seeds, --skip, --strict and --test-threads."
                    ));
                }
                _ => arguments.filters.push(word),
            }
        }
        Ok(arguments)
    }

    /// Returns whether to start a plane for a person instead of running cases.
    pub(crate) fn hold(&self) -> bool {
        self.wish == Wish::Hold
    }

    /// Returns whether everything that is promised is to be shown.
    pub(crate) fn is_full(&self) -> bool {
        self.extent.is_full
    }

    /// A filter that selects none of the cases, where that is an error.
    pub(crate) fn vain(&self, cases: &[Case]) -> Option<&str> {
        let is_vain = |filter: &&String| !cases.iter().any(|case| self.fits(shown(case), filter));
        let mut filters = self.filters.iter().filter(|_| self.strict);
        filters.find(is_vain).map(String::as_str)
    }

    fn fits(&self, name: &str, pattern: &str) -> bool {
        if self.exact { name == pattern } else { name.contains(pattern) }
    }

    fn selects(&self, name: &str) -> bool {
        let fits = |pattern: &String| self.fits(name, pattern);
        (self.filters.is_empty() || self.filters.iter().any(fits)) && !self.skips.iter().any(fits)
    }
}

/// Runs the selected cases and prints their lines. A failed case never stops the others.
pub(crate) fn run(cases: &[Case], arguments: &Arguments) -> Outcome {
    let selected: Vec<Case> =
        cases.iter().copied().filter(|case| arguments.selects(shown(case))).collect();
    if arguments.wish == Wish::List {
        for case in &selected {
            println!("{}: test", shown(case));
        }
        return Outcome::Passed;
    }
    // It was not asked for yet: no case ran.
    drop(EXTENT.set(arguments.extent.clone()));
    capture_panics();
    let start = Instant::now();
    println!("\nrunning {} tests", selected.len());
    let (alone, together): (Vec<Case>, _) = selected.iter().partition(|case| case.is_alone);
    let mut failures = run_in_threads(&together, arguments.threads);
    failures.extend(run_in_threads(&alone, NonZero::new(1)));
    if !failures.is_empty() {
        println!("\nfailures:\n");
        for (name, panic) in &failures {
            println!("---- {name} ----\n{panic}\n");
        }
        println!("failures:");
        for (name, _) in &failures {
            println!("    {name}");
        }
    }
    let (word, outcome) =
        if failures.is_empty() { ("ok", Outcome::Passed) } else { ("FAILED", Outcome::Failed) };
    println!(
        "\ntest result: {word}. {} passed; {} failed; 0 ignored; 0 measured; {} filtered out; \
         finished in {:.2}s\n",
        selected.len() - failures.len(),
        failures.len(),
        cases.len() - selected.len(),
        start.elapsed().as_secs_f64(),
    );
    outcome
}

thread_local! {
    /// The panic of the case that runs on this thread, as the hook saw it.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps the panics of cases for the end; a panic on any other thread is printed at once, as no case
/// would show it.
fn capture_panics() {
    let default = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if thread::current().name() == Some(CASE_THREAD) {
            let backtrace = Backtrace::capture(); // only if RUST_BACKTRACE asks for it
            let text = if backtrace.status() == BacktraceStatus::Captured {
                // The message last: a report of a run may keep its end only.
                format!("{backtrace}\n{panic}")
            } else {
                panic.to_string()
            };
            PANIC.with_borrow_mut(|slot| *slot = Some(text));
        } else {
            default(panic);
        }
    }));
}

/// The name by which the panic hook knows the thread of a case.
const CASE_THREAD: &str = "case";

/// Returns the failures in the order of the cases: name and panic.
fn run_in_threads(cases: &[Case], threads: Option<NonZero<usize>>) -> Vec<(&'static str, String)> {
    // Cases wait more than they work: one more than there are cores keeps those busy.
    let usual = || thread::available_parallelism().ok().map(|cores| cores.saturating_add(1));
    let threads = threads.or_else(usual).map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..threads.min(cases.len()) {
            let work = || {
                while let Some((index, case)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    cases.get(index).map(|case| (index, case))
                } {
                    if let Some(panic) = run_one(case) {
                        failures.lock().expect("no holder panics").push((
                            index,
                            shown(case),
                            panic,
                        ));
                    }
                }
            };
            thread::Builder::new()
                .name(CASE_THREAD.to_owned())
                .spawn_scoped(scope, work)
                .expect("the system grants a thread");
        }
    });
    let mut failures = failures.into_inner().expect("no holder panics");
    failures.sort();
    failures.into_iter().map(|(_, name, panic)| (name, panic)).collect()
}

/// Runs one case, prints its line, returns its panic.
fn run_one(case: &Case) -> Option<String> {
    let began = Instant::now();
    let result = panic::catch_unwind(case.run);
    let word = if result.is_ok() { "ok" } else { "FAILED" };
    println!("test {} ... {word} ({} s)", shown(case), began.elapsed().as_secs());
    result.err().map(|payload| {
        // A case that joins threads of its own passes on the panic of one, whose place was printed at once.
        let literal = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = payload.downcast_ref::<String>().cloned().or(literal);
        let captured = PANIC.with_borrow_mut(Option::take);
        captured.or(text).unwrap_or_else(|| "panicked without a message".into())
    })
}

/// The name without the modules that every case has.
fn shown(case: &Case) -> &'static str {
    case.name.strip_prefix("e2e::").unwrap_or(case.name)
}
