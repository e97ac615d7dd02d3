//! The crash matrix: every decision path, with a fault at every write that the controller makes on it, and
//! every view that the next process may have. Each run comes to the end of the run without a fault, and
//! breaks no invariant on the way.
//!
//! `CELL=PATH/WRITE/FATE/SIGHT cargo test --locked --test simulation fault_matrix::a_fault_at_any_write` runs one cell
//! alone and prints all its writes; a pair of faults is `PATH/WRITE/FATE/SIGHT+WRITE/FATE/SIGHT`, the second
//! counted from the first. `CRASH_EVERY=1` runs all cells rather than a sample, `CRASH_CELLS=TEXT` only those
//! in whose names the text occurs; `CRASH_PAIRS` says how many pairs there are.

mod cell;
mod path;
mod paths;
mod play;
mod reference;
mod transport;

use std::fmt::Write;
use std::sync::LazyLock;
use std::time::Instant;

use bindery_sim::SeededRng;

use crate::random_faults::{kind, scenario};
use crate::runs::{chosen, count, each, text};
use cell::{Cell, Fate, Side, Sight, Strike};
use path::Path;
use play::{Report, refer, run};
use reference::{Reference, is_counted};

/// Every so manieth cell is run by default: a prime, so that each write meets other fates
/// and views.
const EVERY: u64 = 11;

/// How many cells there are, and in how many of them nothing can come of the fault or of the view.
const WHOLE: Count = Count { cells: 9196, unreachable: 1165 };

/// Cells that break nothing and yet end otherwise: a successor that does not see that a claim is gone gives
/// it the volume that was just offered again, up to Bound. That claim never used it, but nothing stored says
/// so, and the volume is Released as any other whose claim is gone. Kubernetes does the same; to read each
/// claim live before the volume is Bound would cost every binding a request.
const ENDS_OTHERWISE: [&str; 4] = [
    "retained-and-offered-again/7/dies-before/claims-old",
    "retained-and-offered-again/7/dies-unanswered/claims-old",
    "retained-and-offered-again/7/dies-answered/claims-old",
    "retained-and-offered-again/8/dies-before/claims-old",
];

/// Cells that once found something, whatever the sample: a Lost claim that was called Bound on an old view of
/// its volume; a claim beside another binder that was not asked when its volume came to be Available.
const REGRESSIONS: [&str; 2] = [
    "volume-gone-and-back/6/dies-answered/volumes-before",
    "beside-another-binder/1/dies-before/volumes-old",
];

/// Pairs of faults by default.
const PAIRS: u64 = 300;

/// So few pairs that chance alone may keep the second fault from most.
const FEW: u64 = 100;

/// All paths; each is run without a fault once, whichever test comes first.
static TABLE: LazyLock<Table> = LazyLock::new(|| Table::of(|_| true));

/// Writes that a failure shows.
const SHOWN: usize = 60;

/// Failures that are shown in full.
const FAILURES_SHOWN: usize = 3;

#[test]
fn a_fault_at_any_write_changes_nothing_in_the_end() {
    let begun = Instant::now();
    if let Some(cell) = text("CELL") {
        let cell = Cell::parse(&cell);
        let table = Table::of(|path| path.name == cell.path);
        let report = table.run(&cell);
        eprintln!("{}", scenario(&report.history, usize::MAX));
        assert!(report.breaches.is_empty(), "{}", reported(&cell, &report));
        return;
    }
    let table = &*TABLE;
    let cells: Vec<Cell> =
        table.references().flat_map(|(path, reference)| reference.cells(path)).collect();
    let whole = table.count(&cells);
    let every = usize::try_from(count("CRASH_EVERY", EVERY)).expect("a number");
    let part = text("CRASH_CELLS").unwrap_or_default();
    let sample: Vec<Cell> =
        chosen("CRASH_CELLS", &part, cells).into_iter().step_by(every).collect();
    let failures = each(sample.len(), |index| table.failure_of_single(&sample[index]));
    eprintln!(
        "{whole:?} on {} paths; {} were run in {} ms",
        table.paths.len(),
        sample.len(),
        begun.elapsed().as_millis()
    );
    let failures: Vec<String> = failures.into_iter().flatten().collect();
    assert!(failures.is_empty(), "{}", summary(&failures));
    assert_eq!(whole, WHOLE);
}

#[test]
fn cells_that_once_failed_hold() {
    for cell in REGRESSIONS.map(Cell::parse) {
        let failure = TABLE.failure_of_single(&cell);
        assert!(failure.is_none(), "{}", failure.expect("one"));
    }
}

#[test]
fn two_faults_change_nothing_in_the_end() {
    let table = &*TABLE;
    let pairs = count("CRASH_PAIRS", PAIRS);
    let outcomes = each(usize::try_from(pairs).expect("a number of pairs"), |seed| {
        let cell = table.pair(u64::try_from(seed).expect("a seed"));
        let report = table.run(&cell);
        let is_well = report.breaches.is_empty() || may_end_otherwise(&cell) && only_ends(&report);
        (report.struck, (!is_well).then(|| reported(&cell, &report)))
    });
    let both = outcomes.iter().filter(|(struck, _)| *struck == 2).count();
    eprintln!("{pairs} pairs of faults; the second came in {both}");
    let count = outcomes.len();
    let failures: Vec<String> = outcomes.into_iter().filter_map(|(_, failure)| failure).collect();
    assert!(failures.is_empty(), "{}", summary(&failures));
    // Counted from the first, the second lies behind the last write of the path in about half of all pairs;
    // but what the first fault hit is sent again, so that there are more writes. Measured are 60 of 100;
    // with fewer than half these would rather be single faults. A few pairs say nothing.
    assert!(pairs < FEW || both * 2 >= count, "the second fault came in {both} of {pairs} pairs");
}

/// Counts of cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    cells: usize,
    unreachable: usize,
}

/// The paths, and what each comes to without a fault.
struct Table {
    paths: Vec<Path>,
    references: Vec<Reference>,
}

impl Table {
    /// Runs each of these paths without a fault. Each makes the writes that it says, and rests in the end.
    fn of(is_wanted: impl Fn(&Path) -> bool) -> Self {
        let paths: Vec<Path> = paths::paths().into_iter().filter(is_wanted).collect();
        let references = each(paths.len(), |index| refer(&paths[index]));
        let mut wrong = String::new();
        for (path, reference) in paths.iter().zip(&references) {
            let ours = reference
                .history
                .iter()
                .filter(|write| write.user.starts_with("binder-") && is_counted(write));
            let kinds: Vec<&str> = ours.map(|write| kind(write).unwrap_or("another")).collect();
            let is_sent = reference.sent.len() == kinds.len();
            if kinds != path.writes || !is_sent || !reference.breaches.is_empty() {
                let Path { name, writes, .. } = path;
                let breaches = &reference.breaches;
                let scenario = scenario(&reference.history, SHOWN);
                writeln!(wrong, "{name}: {kinds:?}, not {writes:?}; {breaches:?}\n{scenario}")
                    .expect("a string takes it");
            }
        }
        assert!(wrong.is_empty(), "{wrong}");
        Self { paths, references }
    }

    fn references(&self) -> impl Iterator<Item = (&Path, &Reference)> {
        self.paths.iter().zip(&self.references)
    }

    fn row(&self, cell: &Cell) -> (&Path, &Reference) {
        self.references().find(|(path, _)| path.name == cell.path).expect("a path of this name")
    }

    fn run(&self, cell: &Cell) -> Report {
        let (path, reference) = self.row(cell);
        run(path, reference, &cell.strikes)
    }

    /// Runs a cell with one fault. What was broken, if anything; that it cannot be reached is known before,
    /// and must be so.
    fn failure_of_single(&self, cell: &Cell) -> Option<String> {
        let mut report = self.run(cell);
        if ENDS_OTHERWISE.contains(&&*cell.to_string()) {
            return (!only_ends(&report))
                .then(|| format!("{cell} is to end otherwise: {:?}", report.breaches));
        }
        if report.struck != 1 {
            report.breaches.push("the write was never sent".to_owned());
        }
        if report.is_reached != self.reaches(cell) {
            let text = format!("reached: {}, not {}", report.is_reached, self.reaches(cell));
            report.breaches.push(text);
        }
        (!report.breaches.is_empty()).then(|| reported(cell, &report))
    }

    fn reaches(&self, cell: &Cell) -> bool {
        cell.strikes.iter().all(|strike| self.row(cell).1.reaches(*strike))
    }

    /// Counts cells, and returns how many each path has.
    fn count(&self, cells: &[Cell]) -> Count {
        let mut whole = Count::default();
        for path in &self.paths {
            let of_path = || cells.iter().filter(|cell| cell.path == path.name);
            let (all, writes) = (of_path().count(), path.writes.len());
            let unreachable = of_path().filter(|cell| !self.reaches(cell)).count();
            eprintln!(
                "{all:>5} cells, {unreachable:>3} unreachable, {writes:>2} writes: {}",
                path.name
            );
            whole.cells += all;
            whole.unreachable += unreachable;
        }
        whole
    }

    /// The pair of faults of a seed.
    fn pair(&self, seed: u64) -> Cell {
        let mut rng = SeededRng::new(seed);
        let most = u64::try_from(self.paths.len()).expect("few");
        let index = usize::try_from(rng.below(most)).expect("few");
        let writes = self.references[index].sent.len();
        let strikes = (0..2).map(|_| strike(&mut rng, writes)).collect();
        Cell { path: self.paths[index].name.clone(), strikes }
    }
}

/// Returns whether nothing was broken but that the end is another.
fn only_ends(report: &Report) -> bool {
    let ends = |breach: &String| breach.starts_with("ComesToRest");
    !report.breaches.is_empty() && report.breaches.iter().all(ends)
}

/// Returns whether one of the faults of a pair is of those that may end otherwise.
fn may_end_otherwise(cell: &Cell) -> bool {
    let is_old = |strike: &Strike| strike.sight == Sight::Old(Side::Claims);
    let is_path = ENDS_OTHERWISE.iter().any(|other| other.starts_with(&format!("{}/", cell.path)));
    is_path && cell.strikes.iter().any(is_old)
}

fn strike(rng: &mut SeededRng, writes: usize) -> Strike {
    let fate = *rng.pick(&Fate::ALL).expect("a fate");
    // What users did is hidden from the first process alone.
    let sights: Vec<Sight> =
        Sight::of(fate).iter().copied().filter(|sight| !sight.is_act()).collect();
    let sight = *rng.pick(&sights).expect("a sight");
    let at = 1 + rng.below(u64::try_from(writes).expect("few"));
    Strike { at: usize::try_from(at).expect("few"), fate, sight }
}

/// Returns what was broken, the last writes, and the command that runs the cell again.
fn reported(cell: &Cell, report: &Report) -> String {
    let breaches = report.breaches.join("\n  ");
    let scenario = scenario(&report.history, SHOWN);
    format!(
        "{cell}:\n  {breaches}\nthe last writes:\n{scenario}alone: CELL={cell} cargo test --locked --test simulation \
         a_fault_at_any_write"
    )
}

/// The first failures in full, and the names of the others.
fn summary(failures: &[String]) -> String {
    let mut summary = format!("{} cells fail\n", failures.len());
    for (number, failure) in failures.iter().enumerate() {
        let most = if number < FAILURES_SHOWN { usize::MAX } else { 2 };
        let lines: Vec<&str> = failure.lines().take(most).collect();
        writeln!(summary, "{}\n", lines.join("\n")).expect("a string takes it");
    }
    summary
}
