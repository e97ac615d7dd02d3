//! The cases, one module per subject. A module lists its cases in `CASES`; a function that is
//! forgotten there is dead code, which the linter refuses.

mod attacks;
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
mod labelled;
mod labels;
mod life;
mod lifetime;
mod peers;
mod predicted;
mod quantities;
mod recycler;
mod restricted;
mod rules;
mod smoke;
mod survival;
mod tenancy;
mod validation;
mod versions;
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
        peers::CASES,
        install::CASES,
        install::changes::CASES,
        install::restarts::CASES,
        install::renewals::CASES,
        install::outages::CASES,
        install::provided::CASES,
        install::rights::CASES,
        install::without_root::CASES,
        conversation::CASES,
        attacks::CASES,
        quantities::CASES,
        binding::CASES,
        burst::CASES,
        certificates::CASES,
        controller::CASES,
        explain::CASES,
        gitops::CASES,
        labelled::CASES,
        labels::CASES,
        life::CASES,
        recycler::CASES,
        restricted::CASES,
        smoke::CASES,
        survival::CASES,
        tenancy::CASES,
        validation::CASES,
        versions::CASES,
        yaml::CASES,
        lifetime::CASES,
    ]
    .concat()
}
