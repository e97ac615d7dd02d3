//! Labels that claims have to have, as `kubectl -l` spells them.

use std::fmt;

use serde_json::Value;

use crate::cli::exit::Failure;

/// One term of a selector.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    Equal(Box<str>, Box<str>),
    NotEqual(Box<str>, Box<str>),
    Present(Box<str>),
    Absent(Box<str>),
}

/// The terms, all of which hold for a claim that is meant; none holds for every claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LabelTerms(Vec<Term>);

impl LabelTerms {
    /// Reads `KEY=VALUE`, `KEY!=VALUE`, `KEY` or `!KEY`, separated by commas.
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        let term = |text: &str| {
            let is_name =
                |part: &str| !part.is_empty() && !part.contains([' ', '(', ')', '!', '=']);
            let is_value = |part: &str| part.is_empty() || is_name(part);
            let term = match (text.split_once("!="), text.split_once('='), text.strip_prefix('!')) {
                (Some((key, value)), _, _) if is_name(key) && is_value(value) => {
                    Term::NotEqual(key.into(), value.into())
                }
                (None, Some((key, value)), _) => {
                    let value = value.strip_prefix('=').unwrap_or(value);
                    if !is_name(key) || !is_value(value) {
                        return None;
                    }
                    Term::Equal(key.into(), value.into())
                }
                (None, None, Some(key)) if is_name(key) => Term::Absent(key.into()),
                (None, None, None) if is_name(text) => Term::Present(text.into()),
                _ => return None,
            };
            Some(term)
        };
        let terms: Option<Vec<Term>> = text.split(',').map(str::trim).map(term).collect();
        terms.map(Self).ok_or_else(|| {
            Failure::usage(format!(
                "-l {text:?} is no label selector; write KEY=VALUE, KEY!=VALUE, KEY or !KEY, separated by commas"
            ))
        })
    }

    /// Whether every claim is meant.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether a claim with these labels (a JSON object, or null) is meant.
    pub(super) fn admit(&self, labels: &Value) -> bool {
        let value = |key: &str| labels.get(key).and_then(Value::as_str);
        self.0.iter().all(|term| match term {
            Term::Equal(key, wanted) => value(key) == Some(wanted),
            Term::NotEqual(key, other) => value(key) != Some(other),
            Term::Present(key) => value(key).is_some(),
            Term::Absent(key) => value(key).is_none(),
        })
    }
}

impl fmt::Display for LabelTerms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { f.write_str(" with these labels") }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn labels_are_selected_as_kubectl_selects_them() {
        let labels = json!({"app": "db", "tier": ""});
        for text in ["app=db", "app==db,tier=", "app!=web", "app", "!team", "team!=a", "tier, app"]
        {
            assert!(LabelTerms::parse(text).unwrap().admit(&labels), "{text}");
        }
        for text in ["app=web", "app!=db", "!app", "team", "app=db,team", "team="] {
            assert!(!LabelTerms::parse(text).unwrap().admit(&labels), "{text}");
        }
        assert!(LabelTerms::default().admit(&Value::Null));
        assert!(!LabelTerms::parse("app").unwrap().admit(&Value::Null));
        for text in ["", ",", "app in (db)", "=db", "!", "a=b=c", "app=db,"] {
            assert!(LabelTerms::parse(text).is_err(), "{text}");
        }
    }
}
