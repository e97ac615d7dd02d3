//! The scenes of the demo, in order: the commands, the expected result, and what is true afterwards.
//!
//! All run in one cluster: what a scene changes, later ones find.

use super::examples::{
    CLAIM_DELAYED, CLAIM_EXPORTED, CLAIM_LEGACY, CLAIM_TAKEN_VOLUME, CLAIM_WRONG_CLASS,
    CLAIM_WRONG_MODE, VOLUME_DB_0,
};
use super::kubectl::Caller::{
    self, Admin, Binder, BreakGlass, ClaimProtection, Tenant, VolumeProtection,
};
use super::kubectl::Verb::{self, Annotate, Create, Delete, Patch, PatchStatus, Replace};
use super::kubectl::{KubectlCommand, Target};
use super::print::Word;

/// One scene.
#[derive(Debug)]
pub(super) struct AdmissionScene {
    /// Who does what, as a sentence without full stop.
    pub(super) title: &'static str,
    /// The result of its last command.
    pub(super) word: Word,
    /// The commands, in order.
    pub(super) commands: &'static [KubectlCommand],
    /// What the output of the last command must contain.
    pub(super) reports: &'static [&'static str],
    /// What is true afterwards.
    pub(super) then: &'static [Then],
}

/// Something that is true of the cluster.
#[derive(Clone, Copy, Debug)]
pub(super) enum Then {
    /// The text at a pointer (RFC 6901).
    Is(Target, &'static str, &'static str),
    /// There is nothing at a pointer.
    Lacks(Target, &'static str),
    /// The first, a volume, is reserved for the second, a claim, by its uid.
    Holds(Target, Target),
    /// The object does not exist.
    Gone(Target),
}

const DATABASE: Target = Target::Volume("pv-db-0");
const DATABASE_CLAIM: Target = Target::Claim("db", "data");
const REPORTS: Target = Target::Volume("pv-qa-0");
const REPORTS_CLAIM: Target = Target::Claim("qa", "reports");
const BLOCK: Target = Target::Volume("pv-block-0");
const PAYROLL: Target = Target::Volume("pv-hr-0");

const fn command(by: Caller, verb: Verb) -> KubectlCommand {
    KubectlCommand { by, verb }
}

/// All scenes.
pub(super) const SCENES: &[AdmissionScene] = &[
    AdmissionScene {
        title: "An administrator deletes the PV of a running database",
        word: Word::Denied,
        commands: &[command(Admin, Delete(DATABASE))],
        reports: &["guard.bindery.dev", "[bound-volume-delete]", "db/data"],
        then: &[Then::Lacks(DATABASE, "/metadata/deletionTimestamp")],
    },
    AdmissionScene {
        title: "An administrator shrinks it",
        word: Word::Denied,
        commands: &[command(Admin, Patch(DATABASE, r#"{"spec":{"capacity":{"storage":"5Gi"}}}"#))],
        reports: &["[bound-volume-capacity]", "from 10Gi to 5Gi"],
        then: &[Then::Is(DATABASE, "/spec/capacity/storage", "10Gi")],
    },
    AdmissionScene {
        title: "An administrator allows several nodes to write its disk",
        word: Word::Denied,
        commands: &[command(
            Admin,
            Patch(DATABASE, r#"{"spec":{"accessModes":["ReadWriteMany"]}}"#),
        )],
        reports: &["[bound-volume-access-modes]"],
        then: &[Then::Is(DATABASE, "/spec/accessModes/0", "ReadWriteOnce")],
    },
    AdmissionScene {
        title: "An administrator reserves it for the PVC of another team",
        word: Word::Denied,
        commands: &[command(
            Admin,
            Patch(DATABASE, r#"{"spec":{"claimRef":{"namespace":"qa","name":"data","uid":null}}}"#),
        )],
        reports: &["[bound-volume-claim-ref]", "\"db/data\" to \"qa/data\""],
        then: &[Then::Holds(DATABASE, DATABASE_CLAIM)],
    },
    AdmissionScene {
        title: "An administrator removes the finalizer that protects it",
        word: Word::Denied,
        commands: &[command(Admin, Patch(DATABASE, r#"{"metadata":{"finalizers":null}}"#))],
        reports: &["[protection-finalizer]"],
        then: &[Then::Is(DATABASE, "/metadata/finalizers/0", "kubernetes.io/pv-protection")],
    },
    AdmissionScene {
        title: "An administrator writes its phase by hand",
        word: Word::Denied,
        commands: &[command(Admin, PatchStatus(DATABASE, r#"{"status":{"phase":"Available"}}"#))],
        reports: &["advise.bindery.dev", "[status-forgery]"],
        then: &[Then::Is(DATABASE, "/status/phase", "Bound")],
    },
    AdmissionScene {
        title: "An administrator sets policy Delete on a PV whose PVC was deleted and whose data was retained",
        word: Word::Denied,
        commands: &[command(
            Admin,
            Patch(PAYROLL, r#"{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}"#),
        )],
        reports: &["[released-volume-policy]"],
        then: &[Then::Is(PAYROLL, "/spec/persistentVolumeReclaimPolicy", "Retain")],
    },
    AdmissionScene {
        title: "A tenant names a PV of another StorageClass",
        word: Word::Denied,
        commands: &[command(Tenant, Create(&CLAIM_WRONG_CLASS))],
        reports: &["[prebind-class]"],
        then: &[Then::Gone(Target::Claim("qa", "search"))],
    },
    AdmissionScene {
        title: "A tenant names the PV of the database; the denial does not show who has it",
        word: Word::Denied,
        commands: &[command(Tenant, Create(&CLAIM_TAKEN_VOLUME))],
        reports: &["[prebind-taken]"],
        then: &[Then::Gone(Target::Claim("qa", "copy"))],
    },
    AdmissionScene {
        title: "A tenant requests a file system and names a raw block device",
        word: Word::Denied,
        commands: &[command(Tenant, Create(&CLAIM_WRONG_MODE))],
        reports: &["[prebind-volume-mode]"],
        then: &[Then::Gone(Target::Claim("qa", "disk"))],
    },
    AdmissionScene {
        title: "A tenant restores a PVC that was exported with its binder annotations",
        word: Word::Mutated,
        commands: &[command(Tenant, Create(&CLAIM_EXPORTED))],
        reports: &["[strip-binder-annotations]", "created"],
        then: &[
            Then::Lacks(
                Target::Claim("qa", "history"),
                "/metadata/annotations/pv.kubernetes.io~1bind-completed",
            ),
            Then::Is(Target::Claim("qa", "history"), "/spec/volumeName", "pv-archive-0"),
        ],
    },
    AdmissionScene {
        title: "A pipeline replaces the database's PV by its manifest from before the binding",
        word: Word::Mutated,
        commands: &[command(Admin, Replace(&VOLUME_DB_0))],
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
        commands: &[command(Tenant, Create(&CLAIM_DELAYED))],
        reports: &["created"],
        then: &[Then::Is(
            Target::Claim("qa", "scratch"),
            "/metadata/annotations/bindery.dev~1volume-binding-mode",
            "WaitForFirstConsumer",
        )],
    },
    AdmissionScene {
        title: "A tenant sets the StorageClass by the deprecated annotation",
        word: Word::Mutated,
        commands: &[command(Tenant, Create(&CLAIM_LEGACY))],
        reports: &["[legacy-class]", "created"],
        then: &[Then::Is(Target::Claim("qa", "ledger"), "/spec/storageClassName", "archive")],
    },
    AdmissionScene {
        title: "An administrator overrides one rule, until a time and with a reason",
        word: Word::Warned,
        commands: &[
            command(
                Admin,
                Annotate(
                    REPORTS,
                    "allow.bindery.dev/bound-volume-capacity",
                    "{until} the share was made smaller",
                ),
            ),
            command(Admin, Patch(REPORTS, r#"{"spec":{"capacity":{"storage":"15Gi"}}}"#)),
        ],
        reports: &["exempt from bound-volume-capacity until", "the share was made smaller"],
        then: &[Then::Is(REPORTS, "/spec/capacity/storage", "15Gi")],
    },
    AdmissionScene {
        title: "An administrator uses the break-glass group: the API server does not call the webhook",
        word: Word::Allowed,
        commands: &[command(
            BreakGlass,
            Patch(REPORTS, r#"{"spec":{"accessModes":["ReadWriteOnce"]}}"#),
        )],
        reports: &["patched"],
        then: &[Then::Is(REPORTS, "/spec/accessModes/0", "ReadWriteOnce")],
    },
    AdmissionScene {
        title: "The right order: a tenant deletes a PVC that is not in use",
        word: Word::Allowed,
        commands: &[
            command(Tenant, Delete(REPORTS_CLAIM)),
            command(ClaimProtection, Patch(REPORTS_CLAIM, r#"{"metadata":{"finalizers":null}}"#)),
            command(Binder, PatchStatus(REPORTS, r#"{"status":{"phase":"Released"}}"#)),
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
        commands: &[
            command(Admin, Delete(REPORTS)),
            command(VolumeProtection, Patch(REPORTS, r#"{"metadata":{"finalizers":null}}"#)),
        ],
        reports: &["[bound-volume-delete]", "gone or being deleted", "deleted"],
        then: &[Then::Gone(REPORTS)],
    },
    AdmissionScene {
        title: "An administrator deletes a PV without a PVC",
        word: Word::Allowed,
        commands: &[
            command(Admin, Delete(BLOCK)),
            command(VolumeProtection, Patch(BLOCK, r#"{"metadata":{"finalizers":null}}"#)),
        ],
        reports: &["deleted"],
        then: &[Then::Gone(BLOCK)],
    },
];
