//! Every rule and every mutation against a real API server, by every route that can carry its hazard.
//!
//! The table of rule and route is written into `docs/reference/routes.md`; a cell that is missing there has its
//! reason instead. Each denied change is also made where Bindery is not installed, and must do the
//! harm that its rule names: a rule without harm proves nothing.

mod conditions;
mod harm;
mod mutations;
mod replay;
mod routes;
mod stage;
mod table;

use crate::runner::{Case, case};

use conditions::conditions_and_predicates_agree;
use harm::every_denied_change_does_harm_elsewhere;
use mutations::every_mutation_repairs;
use replay::check_says_what_the_webhook_does;
pub(crate) use routes::{Route, Shot, natural, shot};
pub(crate) use stage::{Run, Stage, fire, persona};
use table::every_rule_denies_every_request_type;
pub(crate) use table::{asker, await_registration, routes_of};

pub(crate) const CASES: &[Case] = &[
    case!(every_rule_denies_every_request_type),
    case!(every_mutation_repairs),
    case!(check_says_what_the_webhook_does),
    case!(conditions_and_predicates_agree),
];

/// What Kubernetes does by itself: it changes with the version, or with an example.
pub(crate) const LENGTHY: &[Case] = &[case!(every_denied_change_does_harm_elsewhere)];
