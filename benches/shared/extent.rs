//! How much is measured, as the command line of make has it.

/// Returns how many pairs a race has: `usual`, unless the environment wants fewer.
pub(crate) fn pairs_count(usual: usize) -> Result<usize, String> {
    from_environment("BINDERY_BENCH_PAIRS").map(|wanted| wanted.unwrap_or(usual).min(usual))
}

/// Returns how often each competitor runs; odd, so that the median is a run.
pub(crate) fn rounds_count() -> Result<usize, String> {
    from_environment("BINDERY_BENCH_ROUNDS").map(|wanted| wanted.unwrap_or(3))
}

/// Whether less is measured than the floors are meant for.
pub(crate) fn is_short() -> Result<bool, String> {
    let is_given = |name| from_environment(name).map(|wanted| wanted.is_some());
    Ok(is_given("BINDERY_BENCH_PAIRS")? || is_given("BINDERY_BENCH_ROUNDS")?)
}

fn from_environment(name: &str) -> Result<Option<usize>, String> {
    #[expect(clippy::disallowed_methods, reason = "make hands it on so; this is the command line")]
    let Ok(text) = std::env::var(name) else {
        return Ok(None);
    };
    if text.is_empty() {
        return Ok(None);
    }
    match text.parse() {
        Ok(number) if number > 0 => Ok(Some(number)),
        _ => Err(format!("{name}={text:?} is no number above 0; give one or leave it out")),
    }
}
