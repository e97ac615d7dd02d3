//! The scenes of the demo, in order: what is done, what it should come to, and what is true then.
//!
//! One story in one cluster: what a scene changes, later ones find.

use super::act::Caller::{
    self, Admin, Binder, BreakGlass, ClaimProtection, Tenant, VolumeProtection,
};
use super::act::Deed::{self, Annotate, Create, Delete, Patch, PatchStatus, Replace};
use super::act::{Act, DeedTarget};
use super::examples::{
    CLAIM_DELAYED, CLAIM_EXPORTED, CLAIM_LEGACY, CLAIM_TAKEN_VOLUME, CLAIM_WRONG_CLASS,
    CLAIM_WRONG_MODE, VOLUME_DB_0,
};
use super::print::Word;

/// One scene.
#[derive(Debug)]
pub(super) struct AdmissionScene {
    /// Who does what, as a sentence without full stop.
    pub(super) title: &'static str,
    /// What its last act comes to.
    pub(super) word: Word,
    /// What is done.
    pub(super) acts: &'static [Act],
    /// What the text after the last act must say.
    pub(super) reports: &'static [&'static str],
    /// What is true afterwards.
    pub(super) then: &'static [Then],
}

/// Something that is true of the cluster.
#[derive(Clone, Copy, Debug)]
pub(super) enum Then {
    /// The text at a pointer (RFC 6901).
    Is(DeedTarget, &'static str, &'static str),
    /// There is nothing at a pointer.
    Lacks(DeedTarget, &'static str),
    /// The first, a volume, is reserved for the second, a claim, by its uid.
    Holds(DeedTarget, DeedTarget),
    /// The object does not exist.
    Gone(DeedTarget),
}

const DATABASE: DeedTarget = DeedTarget::Volume("pv-db-0");
const DATABASE_CLAIM: DeedTarget = DeedTarget::Claim("db", "data");
const REPORTS: DeedTarget = DeedTarget::Volume("pv-qa-0");
const REPORTS_CLAIM: DeedTarget = DeedTarget::Claim("qa", "reports");
const BLOCK: DeedTarget = DeedTarget::Volume("pv-block-0");
const PAYROLL: DeedTarget = DeedTarget::Volume("pv-hr-0");

const fn act(by: Caller, deed: Deed) -> Act {
    Act { by, deed }
}

/// All scenes.
pub(super) const SCENES: &[AdmissionScene] = &[
    AdmissionScene {
        title: "An administrator deletes the PV of a running database",
        word: Word::Denied,
        acts: &[act(Admin, Delete(DATABASE))],
        reports: &["guard.bindery.dev", "[bound-volume-delete]", "db/data"],
        then: &[Then::Lacks(DATABASE, "/metadata/deletionTimestamp")],
    },
    AdmissionScene {
        title: "An administrator shrinks it",
        word: Word::Denied,
        acts: &[act(Admin, Patch(DATABASE, r#"{"spec":{"capacity":{"storage":"5Gi"}}}"#))],
        reports: &["[bound-volume-capacity]", "from 10Gi to 5Gi"],
        then: &[Then::Is(DATABASE, "/spec/capacity/storage", "10Gi")],
    },
    AdmissionScene {
        title: "An administrator allows several nodes to write its disk",
        word: Word::Denied,
        acts: &[act(Admin, Patch(DATABASE, r#"{"spec":{"accessModes":["ReadWriteMany"]}}"#))],
        reports: &["[bound-volume-access-modes]"],
        then: &[Then::Is(DATABASE, "/spec/accessModes/0", "ReadWriteOnce")],
    },
    AdmissionScene {
        title: "An administrator reserves it for the PVC of another team",
        word: Word::Denied,
        acts: &[act(
            Admin,
            Patch(DATABASE, r#"{"spec":{"claimRef":{"namespace":"qa","name":"data","uid":null}}}"#),
        )],
        reports: &["[bound-volume-claim-ref]", "\"db/data\" to \"qa/data\""],
        then: &[Then::Holds(DATABASE, DATABASE_CLAIM)],
    },
    AdmissionScene {
        title: "An administrator removes the finalizer that protects it",
        word: Word::Denied,
        acts: &[act(Admin, Patch(DATABASE, r#"{"metadata":{"finalizers":null}}"#))],
        reports: &["[protection-finalizer]"],
        then: &[Then::Is(DATABASE, "/metadata/finalizers/0", "kubernetes.io/pv-protection")],
    },
    AdmissionScene {
        title: "An administrator writes its phase by hand",
        word: Word::Denied,
        acts: &[act(Admin, PatchStatus(DATABASE, r#"{"status":{"phase":"Available"}}"#))],
        reports: &["advise.bindery.dev", "[status-forgery]"],
        then: &[Then::Is(DATABASE, "/status/phase", "Bound")],
    },
    AdmissionScene {
        title: "An administrator sets policy Delete on a PV whose PVC was deleted and whose data was retained",
        word: Word::Denied,
        acts: &[act(
            Admin,
            Patch(PAYROLL, r#"{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}"#),
        )],
        reports: &["[released-volume-policy]"],
        then: &[Then::Is(PAYROLL, "/spec/persistentVolumeReclaimPolicy", "Retain")],
    },
    AdmissionScene {
        title: "A tenant names a PV of another StorageClass",
        word: Word::Denied,
        acts: &[act(Tenant, Create(&CLAIM_WRONG_CLASS))],
        reports: &["[prebind-class]"],
        then: &[Then::Gone(DeedTarget::Claim("qa", "search"))],
    },
    AdmissionScene {
        title: "A tenant names the PV of the database; the denial does not show who has it",
        word: Word::Denied,
        acts: &[act(Tenant, Create(&CLAIM_TAKEN_VOLUME))],
        reports: &["[prebind-taken]"],
        then: &[Then::Gone(DeedTarget::Claim("qa", "copy"))],
    },
    AdmissionScene {
        title: "A tenant requests a file system and names a raw block device",
        word: Word::Denied,
        acts: &[act(Tenant, Create(&CLAIM_WRONG_MODE))],
        reports: &["[prebind-volume-mode]"],
        then: &[Then::Gone(DeedTarget::Claim("qa", "disk"))],
    },
    AdmissionScene {
        title: "A tenant restores a PVC that was exported with its binder annotations",
        word: Word::Mutated,
        acts: &[act(Tenant, Create(&CLAIM_EXPORTED))],
        reports: &["[strip-binder-annotations]", "created"],
        then: &[
            Then::Lacks(
                DeedTarget::Claim("qa", "history"),
                "/metadata/annotations/pv.kubernetes.io~1bind-completed",
            ),
            Then::Is(DeedTarget::Claim("qa", "history"), "/spec/volumeName", "pv-archive-0"),
        ],
    },
    AdmissionScene {
        title: "A pipeline replaces the database's PV by its manifest from before the binding",
        word: Word::Mutated,
        acts: &[act(Admin, Replace(&VOLUME_DB_0))],
        reports: &["[restore-binding]", "replaced"],
        then: &[
            Then::Holds(DATABASE, DATABASE_CLAIM),
            Then::Is(DATABASE, "/metadata/finalizers/0", "kubernetes.io/pv-protection"),
            Then::Is(DATABASE, "/metadata/labels/team", "storage"),
        ],
    },
    AdmissionScene {
        title: "A tenant creates a PVC with delayed binding; an annotation records it",
        word: Word::Mutated,
        acts: &[act(Tenant, Create(&CLAIM_DELAYED))],
        reports: &["created"],
        then: &[Then::Is(
            DeedTarget::Claim("qa", "scratch"),
            "/metadata/annotations/bindery.dev~1volume-binding-mode",
            "WaitForFirstConsumer",
        )],
    },
    AdmissionScene {
        title: "A tenant sets the StorageClass by the deprecated annotation",
        word: Word::Mutated,
        acts: &[act(Tenant, Create(&CLAIM_LEGACY))],
        reports: &["[legacy-class]", "created"],
        then: &[Then::Is(DeedTarget::Claim("qa", "ledger"), "/spec/storageClassName", "archive")],
    },
    AdmissionScene {
        title: "An administrator overrides one rule, until a time and with a reason",
        word: Word::Warned,
        acts: &[
            act(
                Admin,
                Annotate(
                    REPORTS,
                    "allow.bindery.dev/bound-volume-capacity",
                    "{until} the share was made smaller",
                ),
            ),
            act(Admin, Patch(REPORTS, r#"{"spec":{"capacity":{"storage":"15Gi"}}}"#)),
        ],
        reports: &["exempt from bound-volume-capacity until", "the share was made smaller"],
        then: &[Then::Is(REPORTS, "/spec/capacity/storage", "15Gi")],
    },
    AdmissionScene {
        title: "An administrator uses the break-glass group: the API server does not call the webhook",
        word: Word::Allowed,
        acts: &[act(BreakGlass, Patch(REPORTS, r#"{"spec":{"accessModes":["ReadWriteOnce"]}}"#))],
        reports: &["patched"],
        then: &[Then::Is(REPORTS, "/spec/accessModes/0", "ReadWriteOnce")],
    },
    AdmissionScene {
        title: "The right order: a tenant deletes a PVC that is not in use",
        word: Word::Allowed,
        acts: &[
            act(Tenant, Delete(REPORTS_CLAIM)),
            act(ClaimProtection, Patch(REPORTS_CLAIM, r#"{"metadata":{"finalizers":null}}"#)),
            act(Binder, PatchStatus(REPORTS, r#"{"status":{"phase":"Released"}}"#)),
        ],
        reports: &["deleted"],
        then: &[
            Then::Gone(REPORTS_CLAIM),
            Then::Is(REPORTS, "/spec/claimRef/name", "reports"),
            Then::Is(REPORTS, "/status/phase", "Released"),
        ],
    },
    AdmissionScene {
        title: "After that an administrator may delete its PV",
        word: Word::Warned,
        acts: &[
            act(Admin, Delete(REPORTS)),
            act(VolumeProtection, Patch(REPORTS, r#"{"metadata":{"finalizers":null}}"#)),
        ],
        reports: &["[bound-volume-delete]", "gone or being deleted", "deleted"],
        then: &[Then::Gone(REPORTS)],
    },
    AdmissionScene {
        title: "An administrator deletes a PV without a PVC",
        word: Word::Allowed,
        acts: &[
            act(Admin, Delete(BLOCK)),
            act(VolumeProtection, Patch(BLOCK, r#"{"metadata":{"finalizers":null}}"#)),
        ],
        reports: &["deleted"],
        then: &[Then::Gone(BLOCK)],
    },
];
