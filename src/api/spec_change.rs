//! How an update changes the spec of a volume, in fields known to us or not.

use super::bounded::MemberTexts;
use crate::rules::SpecChange;
use crate::rules::judging::expansion::FIELDS;

/// Returns what changes from the text of one spec to that of another. Both are objects. What is not read here, as it is not
/// written as API servers do, counts as changed.
///
/// Compared member by member: collected, they would be as many as a body has room for.
pub(super) fn spec_change(old: &str, new: &str) -> SpecChange {
    if old == new {
        return SpecChange::None;
    }
    let others = |text| {
        MemberTexts::of(text)
            .filter(|member| !matches!(member, Ok((key, _)) if FIELDS.contains(&&**key)))
    };
    let mut pairs = others(old).zip(others(new));
    let is_same = others(old).eq(others(new)) && pairs.all(|(old, new)| old.is_ok() && new.is_ok());
    if is_same { SpecChange::SizeOrAttributes } else { SpecChange::Other }
}
