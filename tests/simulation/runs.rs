//! Many runs: which ones, as the command line says, and on all cores.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns what `work` makes of each number below `count`, in order, on as many threads as there are cores.
pub(crate) fn each<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(count)));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        return;
                    }
                    let result = work(index);
                    done.lock().expect("whole").push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("whole");
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Returns what the environment says of this name; nothing if it says nothing.
#[expect(clippy::disallowed_methods, reason = "how a run is named on the command line of a test")]
pub(crate) fn text(variable: &str) -> Option<String> {
    std::env::var(variable).ok()
}

/// The number that the environment says of this name.
pub(crate) fn number(variable: &str) -> Option<u64> {
    let text = text(variable)?;
    Some(text.parse().unwrap_or_else(|error| panic!("{variable}={text}: {error}")))
}

/// Returns how many the environment asks for under this name, or as many as `usual`: above zero, as a test that
/// runs nothing proves nothing.
pub(crate) fn count(variable: &str, usual: u64) -> u64 {
    above_zero(variable, number(variable).unwrap_or(usual))
}

fn above_zero(variable: &str, number: u64) -> u64 {
    assert!(
        number > 0,
        "{variable}=0 would run nothing and pass; give a number above 0, or leave it out"
    );
    number
}

/// Returns what is left of `all` where the environment asks under this name for those alone whose names have
/// `part`: something, as a test that runs nothing proves nothing.
pub(crate) fn chosen<T: ToString>(variable: &str, part: &str, all: Vec<T>) -> Vec<T> {
    let first = all.first().map(ToString::to_string).unwrap_or_default();
    let chosen: Vec<T> = all.into_iter().filter(|one| one.to_string().contains(part)).collect();
    assert!(
        !chosen.is_empty(),
        "{variable}={part} is part of no name, would run nothing and pass; a name is like {first}"
    );
    chosen
}

#[cfg(test)]
mod tests {
    use super::{above_zero, chosen};

    #[test]
    #[should_panic(expected = "SEEDS=0 would run nothing and pass; give a number above 0")]
    fn no_run_at_all_is_rejected() {
        assert_eq!(above_zero("SEEDS", 1), 1);
        above_zero("SEEDS", 0);
    }

    #[test]
    #[should_panic(
        expected = "CELLS=typo is part of no name, would run nothing and pass; a name is like one"
    )]
    fn a_part_of_no_name_is_rejected() {
        assert_eq!(chosen("CELLS", "o", vec!["one", "two", "three"]), ["one", "two"]);
        assert_eq!(chosen("CELLS", "", vec!["one", "two"]), ["one", "two"]);
        chosen("CELLS", "typo", vec!["one", "two"]);
    }
}
