//! The cases, one module per subject. A module lists its cases in `CASES`; a function that is
//! forgotten there is dead code, which the linter refuses.

mod binding;
mod burst;
mod certificates;
mod controller;
mod conversation;
mod differential;
mod explain;
mod gitops;
mod harmless;
mod install;
mod life;
mod lifetime;
mod predicted;
mod quantities;
mod recycler;
mod rules;
mod smoke;
mod survival;
mod tenancy;
mod yaml;

use crate::runner::Case;

/// Every case, in the order in which they start; those that take minutes only if `is_full`.
pub(crate) fn all(is_full: bool) -> Vec<Case> {
    let lengthy = if is_full { survival::LENGTHY } else { &[] };
    [
        lengthy,
        differential::CASES,
        rules::CASES,
        predicted::CASES,
        harmless::CASES,
        install::CASES,
        install::changes::CASES,
        install::restarts::CASES,
        install::renewals::CASES,
        install::outages::CASES,
        install::provided::CASES,
        install::rights::CASES,
        install::without_root::CASES,
        conversation::CASES,
        quantities::CASES,
        binding::CASES,
        burst::CASES,
        certificates::CASES,
        controller::CASES,
        explain::CASES,
        gitops::CASES,
        life::CASES,
        recycler::CASES,
        smoke::CASES,
        survival::CASES,
        tenancy::CASES,
        yaml::CASES,
        lifetime::CASES,
    ]
    .concat()
}
