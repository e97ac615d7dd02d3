//! What holds for every cluster and every change, over generated ones.
//!
//! The counts are small enough for every run; `PROPTEST_CASES` and `PROPTEST_RNG_SEED` choose
//! others. Clusters come from `generated`, and are judged by a real service in `world`.

mod blind;
mod laws;
mod outdated;
mod world;
