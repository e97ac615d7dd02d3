//! The arguments of `bindery rule`.

use clap::Args;

use super::Notation;

/// Arguments of `bindery rule`.
#[derive(Clone, Debug, Args)]
pub struct RuleArgs {
    /// Id of a rule or a mutation; all are listed if left out.
    pub id: Option<String>,
    /// `json` or `yaml` for programs, instead of the page or the table: modes, texts and requests.
    #[arg(short, long, value_name = "FORM")]
    pub output: Option<Notation>,
}
