//! The page `docs/reference/conformance.md`: one line for each case, and the counts.

use std::fmt::Write;

use crate::cases::{Elsewhere, Listed, Source, Verdict};

/// The whole page.
pub(crate) fn page(sources: &[Source]) -> String {
    let mut body = String::new();
    let mut counts = [0_usize; 3];
    let mut table = None;
    for case in sources.iter().flat_map(Source::listed) {
        if table.replace(case.test) != Some(case.test) {
            let Listed { test, source, .. } = case;
            _ = writeln!(body, "\n## {test}\n\n`{source}`\n");
            _ = writeln!(body, "| case | shows | here |\n|---|---|---|");
        }
        counts[case.verdict as usize] += 1;
        _ = writeln!(body, "| {} | {} | {} |", case.number, case.shows, reported(&case));
    }
    format!("{}{body}{}", head(counts), elsewhere(sources))
}

fn head([same, differs, not_ours]: [usize; 3]) -> String {
    format!(
        "<!-- Made by `make generate` from tests/conformance; edit the data files there. -->\n\n\
         # Kubernetes' own tests of its binder\n\n\
         The tests of Kubernetes 1.36 for its PersistentVolume binder hold most of what is known about\n\
         binding as tables: objects, a call, the objects and events afterwards. The same tables run\n\
         against the core of Bindery. This page lists every case under the number that it has there.\n\n\
         | here | cases | |\n|---|---|---|\n\
         | same | {same} | the same objects are left, and the events are recorded that Kubernetes' table looks \
         at |\n\
         | differs | {differs} | another end, on purpose; the reason stands beside the case, and the \
         other end is tested |\n\
         | not ours | {not_ours} | about something that Bindery does not do; what of the case it does, \
         is tested |\n"
    )
}

fn reported(case: &Listed<'_>) -> String {
    let reason = case.reason.unwrap_or_default();
    match case.verdict {
        Verdict::Same => "same".to_owned(),
        Verdict::Differs => format!("differs: {reason}"),
        Verdict::NotOurs => format!("not ours: {reason}"),
    }
}

fn elsewhere(sources: &[Source]) -> String {
    let head = "\n## Not about binding\n\n\
                Tables of the parts beside the binder, whose work stays with Kubernetes.\n\n\
                | table | cases | shows | why not here |\n|---|---|---|---|\n";
    let mut text = head.to_owned();
    for table in sources.iter().flat_map(|source| &source.elsewhere) {
        let (_, file) = table.source.rsplit_once('/').unwrap_or_default();
        let Elsewhere { test, cases, shows, reason, .. } = table;
        _ = writeln!(text, "| {test} in `{file}` | {cases} | {shows} | {reason} |");
    }
    text
}
