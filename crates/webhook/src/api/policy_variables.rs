//! The variables of a ValidatingAdmissionPolicy in the CEL that uses them: another name, or their value in their place.
//!
//! An API server does not give variables to matchConditions. Not here: what the variables are (`rules::PolicyForm`).

/// What is written before the name of a variable.
const PREFIX: &str = "variables.";

/// Returns CEL in which the variable `name` is called `new`.
pub(super) fn renamed(cel: &str, name: &str, new: &str) -> String {
    replaced(cel, &|found| (found == name).then(|| format!("{PREFIX}{new}")))
}

/// Returns whether CEL uses the variable `name`.
pub(super) fn uses(cel: &str, name: &str) -> bool {
    cel.split(PREFIX).skip(1).any(|rest| name_at(rest) == name)
}

/// Returns CEL that has the values of its variables in their place. `variables` are by name and CEL.
pub(super) fn inlined(cel: &str, variables: &[(String, String)]) -> String {
    replaced(cel, &|found| {
        let (_, value) = variables.iter().find(|(name, _)| name == found)?;
        Some(format!("({})", inlined(value, variables)))
    })
}

/// Returns CEL with what `of` gives for a variable in its place.
fn replaced(cel: &str, of: &dyn Fn(&str) -> Option<String>) -> String {
    let mut parts = cel.split(PREFIX);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for rest in parts {
        let name = name_at(rest);
        out.push_str(&of(name).unwrap_or_else(|| format!("{PREFIX}{name}")));
        out.push_str(&rest[name.len()..]);
    }
    out
}

/// The name with which a text begins.
fn name_at(rest: &str) -> &str {
    let is_end = |next: char| !next.is_ascii_alphanumeric() && next != '_';
    &rest[..rest.find(is_end).unwrap_or(rest.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_renamed_by_its_whole_name() {
        let cel = "variables.name + variables.names + variables.name";
        assert_eq!(renamed(cel, "name", "a"), "variables.a + variables.names + variables.a");
        assert!(uses(cel, "names") && !uses(cel, "nam"));
    }

    #[test]
    fn a_variable_is_replaced_by_its_value_and_that_of_the_variables_in_it() {
        let variables =
            [("a", "x || y"), ("ab", "!variables.a")].map(|(n, v)| (n.to_owned(), v.to_owned()));
        assert_eq!(inlined("variables.ab && variables.a", &variables), "(!(x || y)) && (x || y)");
        assert_eq!(inlined("variables.other", &variables), "variables.other");
    }
}
