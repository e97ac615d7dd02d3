//! The machinery of verdicts: what a change is, who makes it, what a rule may answer, and how the
//! answers become one verdict.
//!
//! No hazard is described here: each has a file of its own one folder up.

pub mod actor;
pub mod change;
pub mod creator;
pub mod detaching;
pub mod examples;
pub mod exemption;
pub mod exemption_request;
pub mod expansion;
pub mod filter;
pub mod guarded_annotations;
pub mod inspect;
pub mod judge;
pub mod looked_at;
pub mod mutate;
pub mod mutation;
pub mod mutation_form;
pub mod namespace_labels;
pub mod pair;
pub mod parameters;
pub mod policy;
pub mod policy_form;
pub mod prebind;
pub mod question;
pub mod read_access;
pub mod resource;
pub mod restored_policy;
pub mod returning;
pub mod rule;
pub mod tenancy;
pub mod verdict;
pub mod violation;
pub mod volume_parameters;
