//! Many runs: which ones, as the command line says, and on all cores.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What `work` makes of each number below `count`, in order, on as many threads as there are cores.
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

/// What the environment says of this name; nothing if it says nothing.
#[expect(clippy::disallowed_methods, reason = "how a run is named on the command line of a test")]
pub(crate) fn text(variable: &str) -> Option<String> {
    std::env::var(variable).ok()
}

/// The number that the environment says of this name.
pub(crate) fn number(variable: &str) -> Option<u64> {
    let text = text(variable)?;
    Some(text.parse().unwrap_or_else(|error| panic!("{variable}={text}: {error}")))
}
