//! The cases, one module per subject. A module lists its cases in `CASES`; a function that is
//! forgotten there is dead code, which the linter refuses.

mod binding;
mod controller;
mod conversation;
mod lifetime;
mod quantities;
mod recycler;
mod rules;
mod smoke;

use crate::runner::Case;

/// Every case, in the order in which they start.
pub(crate) fn all() -> Vec<Case> {
    [
        rules::CASES,
        conversation::CASES,
        quantities::CASES,
        binding::CASES,
        controller::CASES,
        recycler::CASES,
        smoke::CASES,
        lifetime::CASES,
    ]
    .concat()
}
