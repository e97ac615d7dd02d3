//! Hostile input, made from a small corpus by a fixed seed: what must hold for every input of a decoder holds
//! for as many as there is time for.
//!
//! `FUZZ_EXECUTIONS` says how many inputs each decoder gets. cargo-fuzz runs the same functions on the same corpus and
//! looks for inputs by what code they reach (`fuzz/`). The inputs here are mutations of the corpus; bolero, which would
//! run both, makes random bytes under `cargo test`, of which a decoder reads next to none. Not here: requests on a socket
//! (`tests/webhook/wire`).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod decoders;
mod large;
mod mutate;
mod runs;

/// A test of its own for each decoder, so that they run side by side; and none without.
macro_rules! seeded {
    ($($name:ident)+) => {
        $(#[test]
        fn $name() {
            runs::run(&decoders::named(stringify!($name)).expect("a decoder"));
        })+

        #[test]
        fn every_decoder_and_every_corpus_has_its_run() {
            let runs = [$(stringify!($name)),+];
            assert!(runs.into_iter().eq(decoders::ALL.iter().map(|decoder| decoder.name)));
            assert!(runs.into_iter().eq(runs::corpora()));
        }
    };
}

seeded! { configuration dump quantity review selector yaml }
