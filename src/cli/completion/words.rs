//! The words of the line that is completed: what they say about the cluster.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::cli::args::ClusterArgs;

/// How long a person waits for the values of a key press.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// The words so far. One that is no text says nothing about a cluster.
#[derive(Clone, Debug)]
pub(super) struct Words(Vec<String>);

impl Words {
    pub(super) fn new(words: &[OsString]) -> Self {
        Self(words.iter().map(|word| word.to_string_lossy().into_owned()).collect())
    }

    /// Those that the script of a shell gives: after the first `--`.
    pub(super) fn of_shell(arguments: &[OsString]) -> Self {
        let after = arguments.iter().position(|word| word == "--").map_or(0, |at| at + 1);
        Self::new(arguments.get(after..).unwrap_or_default())
    }

    /// The values of a flag, as `--long VALUE`, `--long=VALUE` or `-s VALUE`.
    pub(super) fn values<'a>(&'a self, long: &str, short: Option<&str>) -> Vec<&'a str> {
        let long = format!("--{long}");
        let mut found = Vec::new();
        for (place, word) in self.0.iter().enumerate() {
            let joined = word.strip_prefix(&long).and_then(|rest| rest.strip_prefix('='));
            if let Some(value) = joined {
                found.push(value);
            } else if *word == long || Some(word.as_str()) == short {
                found.extend(self.0.get(place + 1).map(String::as_str));
            }
        }
        found
    }

    /// The namespace that is given.
    pub(super) fn namespace(&self) -> Option<&str> {
        self.values("namespace", Some("-n")).pop().filter(|name| !name.is_empty())
    }

    /// The word before `current`, which is the last.
    pub(super) fn before(&self, current: &str) -> Option<&str> {
        let (last, before) = self.0.split_last()?;
        before.last().filter(|_| last == current).map(String::as_str)
    }

    /// The kubeconfig that is given.
    pub(super) fn kubeconfig(&self) -> Option<PathBuf> {
        self.values("kubeconfig", None).pop().map(PathBuf::from)
    }

    /// How to reach the cluster that is given.
    pub(super) fn cluster(&self) -> ClusterArgs {
        let owned = |values: Vec<&str>| values.into_iter().map(str::to_owned).collect::<Vec<_>>();
        ClusterArgs {
            kubeconfig: self.kubeconfig(),
            context: owned(self.values("context", None)).pop(),
            request_timeout: ANSWER_TIMEOUT,
            as_user: owned(self.values("as", None)).pop(),
            as_group: owned(self.values("as-group", None)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_in_each_spelling() {
        let words =
            |line: &str| Words::new(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        let line = words("bindery explain -n a --context=b --as-group c --as-group=d pvc ");
        let cluster = line.cluster();
        assert_eq!((line.namespace(), cluster.context.as_deref()), (Some("a"), Some("b")));
        assert_eq!(
            (cluster.as_group.as_slice(), cluster.as_user),
            (&["c".into(), "d".into()][..], None)
        );
        assert_eq!((line.before(""), line.before("p")), (Some("pvc"), None));
        assert_eq!(words("bindery plan -n ").namespace(), None);
    }
}
