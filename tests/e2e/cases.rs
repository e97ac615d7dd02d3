//! Every case, in the order in which they start. A module lists its own in `CASES`; a function that is
//! missing there is dead code, at which the compiler warns.

use crate::api_server::{conversation, quantities, validation, versions, yaml};
use crate::binding::{controller, differential, failures, lifecycle, recycler, writes};
use crate::control_plane::{lifetime, smoke};
use crate::denials::{attacks, namespace_labels, policies, rules};
use crate::installation::{certificates, install, overload};
use crate::predictions::{
    backup, check, ci, claim_templates, explain, node_loss, overrides, pictures, reports, tutorial,
};
use crate::runner::Case;
use crate::tenant_isolation::{restricted, tenancy, volume_labels};
use crate::{local_disks, moves, no_false_denials, provisioners, storage_lifecycle};

/// Every case, in the order in which they start; those that take minutes only if `is_full`.
pub(crate) fn all(is_full: bool) -> Vec<Case> {
    let lengthy = [
        failures::LENGTHY,
        rules::LENGTHY,
        moves::thieves::LENGTHY,
        moves::crowd::LENGTHY,
        &local_disks::lengthy(),
    ]
    .concat();
    [
        if is_full { &lengthy[..] } else { &[] },
        differential::CASES,
        rules::CASES,
        policies::CASES,
        check::CASES,
        node_loss::CASES,
        storage_lifecycle::CASES,
        no_false_denials::CASES,
        provisioners::CASES,
        install::CASES,
        install::break_glass::CASES,
        install::answering::CASES,
        install::ca_bundle::CASES,
        install::changes::CASES,
        install::gitops::CASES,
        install::restarts::CASES,
        install::renewals::CASES,
        install::outages::CASES,
        install::pages::CASES,
        install::policies::CASES,
        install::provided::CASES,
        install::rights::CASES,
        install::stages::CASES,
        install::without_root::CASES,
        conversation::CASES,
        attacks::CASES,
        quantities::CASES,
        writes::CASES,
        overload::CASES,
        certificates::CASES,
        controller::CASES,
        explain::CASES,
        ci::CASES,
        claim_templates::CASES,
        tutorial::CASES,
        backup::CASES,
        overrides::CASES,
        reports::CASES,
        pictures::CASES,
        volume_labels::CASES,
        namespace_labels::CASES,
        lifecycle::CASES,
        recycler::CASES,
        restricted::CASES,
        smoke::CASES,
        failures::CASES,
        tenancy::CASES,
        validation::CASES,
        versions::CASES,
        yaml::CASES,
        lifetime::CASES,
        &of_moves(),
        &local_disks::cases(),
    ]
    .concat()
}

/// The cases of moves and of the trash.
fn of_moves() -> Vec<Case> {
    [
        moves::transfer::CASES,
        moves::interrupted::CASES,
        moves::resumption::CASES,
        moves::single_writes::CASES,
        moves::shown::CASES,
        moves::released::CASES,
        moves::leaders::CASES,
        moves::deleted_volumes::CASES,
        moves::thieves::CASES,
        moves::tombstones::CASES,
        moves::clusters::CASES,
        moves::replicas::CASES,
        moves::restores::backup::CASES,
        moves::restores::etcd::CASES,
    ]
    .concat()
}
