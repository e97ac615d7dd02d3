//! How a property is tried on generated values.

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};

/// Runs `law` on `count` values, on the same ones in every run unless the environment says
/// otherwise.
pub(crate) fn holds<S: Strategy>(
    count: u32,
    values: S,
    law: impl Fn(S::Value) -> Result<(), TestCaseError>,
) where
    S::Value: std::fmt::Debug,
{
    let mut config = Config { failure_persistence: None, ..Config::default() };
    let unset = Config::default().cases == 256;
    if unset {
        config.cases = count;
    }
    if config.rng_seed == RngSeed::Random {
        config.rng_seed = RngSeed::Fixed(20_261_121);
    }
    if let Err(failure) = TestRunner::new(config).run(&values, law) {
        panic!("{failure}");
    }
}
