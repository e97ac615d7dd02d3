//! Runs a decoder on made inputs, and says which input broke a promise, as short as it can be made.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::{fs, str};

use crate::decoders::{Decoder, Outcome};
use crate::mutate::{Mutator, SeededRng};

/// Inputs of each decoder by default: a few seconds in all.
const USUAL: u64 = 20_000;

/// Runs the corpus as it is, then inputs that are made of it. Of both kinds of outcome there must be
/// enough: a run that rejects everything at its first byte proves nothing.
pub(crate) fn run(decoder: &Decoder) {
    let corpus = corpus(decoder.name);
    let mut read = 0_u64;
    for entry in &corpus {
        let outcome = attempt(decoder, entry);
        read += u64::from(outcome == Outcome::Read);
    }
    assert!(read > 0, "{}: nothing of the corpus is read", decoder.name);
    let (count, mutator) = (executions(), Mutator::new(&corpus, decoder.words));
    let (mut input, mut read) = (Vec::new(), 0_u64);
    // One guard around many inputs: setting it up costs as much as a short input.
    let broken = (0..count).step_by(1_000).find_map(|first| {
        let guarded = AssertUnwindSafe(|| {
            for number in first..(first + 1_000).min(count) {
                mutator.make(&mut SeededRng::new(number), &mut input);
                read += u64::from((decoder.check)(&input) == Outcome::Read);
            }
        });
        catch_unwind(guarded).err().map(|_| first)
    });
    if let Some(first) = broken {
        fail(decoder, &input, first);
    }
    println!("{}: {count} inputs, {read} of them read", decoder.name);
    let share = count / 50;
    assert!(read > share && count - read > share, "{}: {read} of {count} are read", decoder.name);
}

fn executions() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "how long a run of tests is to be")]
    let Ok(text) = std::env::var("FUZZ_EXECUTIONS") else { return USUAL };
    let count = text.parse().unwrap_or_else(|error| panic!("FUZZ_EXECUTIONS={text}: {error}"));
    assert!(count > 0, "FUZZ_EXECUTIONS=0 proves nothing");
    count
}

/// The folder of every corpus.
fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus")
}

/// The names of all corpora, in order.
pub(crate) fn corpora() -> Vec<String> {
    let entries = fs::read_dir(folder()).expect("there are corpora");
    let name = |entry: fs::DirEntry| entry.file_name().into_string().expect("a name");
    let mut names: Vec<String> = entries.map(|entry| name(entry.expect("an entry"))).collect();
    names.sort();
    names
}

/// The entries of a corpus, in the order of their names.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = folder().join(name);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("a file of the repository")).collect()
}

fn attempt(decoder: &Decoder, input: &[u8]) -> Outcome {
    match catch_unwind(|| (decoder.check)(input)) {
        Ok(outcome) => outcome,
        Err(_) => fail(decoder, input, 0),
    }
}

/// Fails with an input from which nothing can be left out.
fn fail(decoder: &Decoder, input: &[u8], number: u64) -> ! {
    let mut shortest = input.to_vec();
    let mut step = shortest.len() / 2;
    while step > 0 {
        let mut place = 0;
        while place < shortest.len() {
            let mut shorter = shortest.clone();
            drop(shorter.drain(place..(place + step).min(shortest.len())));
            if catch_unwind(|| (decoder.check)(&shorter)).is_err() {
                shortest = shorter;
            } else {
                place += step;
            }
        }
        step /= 2;
    }
    let reported = str::from_utf8(&shortest)
        .map_or_else(|_| format!("{shortest:?}"), |text| format!("{text:?}"));
    let name = decoder.name;
    panic!(
        "{name}: what must hold does not, near input {number}; the shortest that shows it: {reported}"
    );
}
