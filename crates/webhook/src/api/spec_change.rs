//! How an update changes the spec of a volume, in fields known to us or not.

use super::bounded::{MemberTexts, Unusual};
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
    match is_same(old, new) {
        Ok(true) => SpecChange::SizeOrAttributes,
        Ok(false) | Err(Unusual) => SpecChange::Other,
    }
}

/// Returns whether two specs have the same members, [`FIELDS`] apart, in the same order.
fn is_same(old: &str, new: &str) -> Result<bool, Unusual> {
    let others = |text| {
        MemberTexts::of(text)
            .filter(|member| !matches!(member, Ok((key, _)) if FIELDS.contains(&&**key)))
    };
    let (mut old, mut new) = (others(old), others(new));
    loop {
        match (old.next().transpose()?, new.next().transpose()?) {
            (None, None) => return Ok(true),
            (old, new) if old != new => return Ok(false),
            (Some(_) | None, _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_size_and_an_attributes_class_may_differ() {
        let old = r#"{"capacity":{"storage":"1Gi"},"csi":{"driver":"d"},"new":[1]}"#;
        for (new, change) in [
            (old, SpecChange::None),
            (
                r#"{"capacity":{"storage":"2Gi"},"csi":{"driver":"d"},"new":[1]}"#,
                SpecChange::SizeOrAttributes,
            ),
            (
                r#"{"csi":{"driver":"d"},"volumeAttributesClassName":"x","new":[1]}"#,
                SpecChange::SizeOrAttributes,
            ),
            (r#"{"capacity":{"storage":"1Gi"},"csi":{"driver":"e"},"new":[1]}"#, SpecChange::Other),
            (r#"{"capacity":{"storage":"1Gi"},"csi":{"driver":"d"}}"#, SpecChange::Other),
            (
                r#"{"capacity":{"storage":"1Gi"},"csi":{"driver":"d"},"new":[1],"more":2}"#,
                SpecChange::Other,
            ),
        ] {
            assert_eq!(spec_change(old, new), change, "{new}");
        }
    }

    /// Whatever else is the same: what both have is not read, and the comparison ends.
    #[test]
    fn what_is_not_read_counts_as_changed() {
        let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
        let of = |size: &str| format!(r#"{{"capacity":{{"storage":"{size}"}},"deep":{deep}}}"#);
        assert_eq!(spec_change(&of("1Gi"), &of("2Gi")), SpecChange::Other);
    }
}
