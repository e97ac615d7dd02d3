//! Measurements in processes of their own: the memory of one is not that of another, nor is its allocator's state.

use std::collections::BTreeMap;

use crate::plane::process::dying_with_us;

/// What was measured, by name.
pub(crate) type Figures = BTreeMap<&'static str, f64>;

/// The first word of the command line of such a process.
pub(crate) const MEASURED: &str = "--measured";

/// Measures `what` of `count` in a process of its own.
pub(crate) fn measure(what: &str, count: usize) -> Result<BTreeMap<String, f64>, String> {
    let program =
        std::env::current_exe().map_err(|error| format!("no path of its own: {error}"))?;
    let output = dying_with_us(&program)
        .args([MEASURED, what, &count.to_string()])
        .output()
        .map_err(|error| format!("cannot measure {what} of {count}: {error}"))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let reported = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "measuring {what} of {count} ended with {}: {reported}",
            output.status
        ));
    }
    let figures = serde_json::from_str(&printed)
        .map_err(|error| format!("{what} of {count} printed {printed:?}: {error}"))?;
    eprintln!("  {what} of {count}: {}", printed.trim());
    Ok(figures)
}

/// Prints figures as [`measure`] reads them.
pub(crate) fn print(figures: &Figures) {
    let rounded: BTreeMap<_, _> =
        figures.iter().map(|(name, figure)| (name, (figure * 1e3).round() / 1e3)).collect();
    println!("{}", serde_json::json!(rounded));
}
