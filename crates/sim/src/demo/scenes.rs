//! The scenes of the demo, in order: what is done, what it should come to, and what is true then.
//!
//! One story in one cluster: what a scene changes, later ones find.

use super::act::Asker::{
    self, Admin, Binder, BreakGlass, ClaimProtection, Tenant, VolumeProtection,
};
use super::act::Deed::{self, Annotate, Create, Delete, Patch, PatchStatus, Replace};
use super::act::{Act, Target};
use super::examples::{
    CLAIM_DELAYED, CLAIM_EXPORTED, CLAIM_LEGACY, CLAIM_TAKEN_VOLUME, CLAIM_WRONG_CLASS,
    CLAIM_WRONG_MODE, VOLUME_DB_0,
};
use super::print::Word;

/// One scene.
#[derive(Debug)]
pub(super) struct Scene {
    /// Who does what, as a sentence without full stop.
    pub(super) title: &'static str,
    /// What its last act comes to.
    pub(super) word: Word,
    /// What is done.
    pub(super) acts: &'static [Act],
    /// What the text after the last act must say.
    pub(super) tells: &'static [&'static str],
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

const fn act(by: Asker, deed: Deed) -> Act {
    Act { by, deed }
}

/// All scenes.
pub(super) const SCENES: &[Scene] = &[
    Scene {
        title: "An administrator deletes the volume under a running database",
        word: Word::Denied,
        acts: &[act(Admin, Delete(DATABASE))],
        tells: &["guard.bindery.dev", "[bound-volume-delete]", "db/data"],
        then: &[Then::Lacks(DATABASE, "/metadata/deletionTimestamp")],
    },
    Scene {
        title: "An administrator shrinks it",
        word: Word::Denied,
        acts: &[act(Admin, Patch(DATABASE, r#"{"spec":{"capacity":{"storage":"5Gi"}}}"#))],
        tells: &["[bound-volume-capacity]", "from 10Gi to 5Gi"],
        then: &[Then::Is(DATABASE, "/spec/capacity/storage", "10Gi")],
    },
    Scene {
        title: "An administrator opens its disk to several nodes",
        word: Word::Denied,
        acts: &[act(Admin, Patch(DATABASE, r#"{"spec":{"accessModes":["ReadWriteMany"]}}"#))],
        tells: &["[bound-volume-access-modes]"],
        then: &[Then::Is(DATABASE, "/spec/accessModes/0", "ReadWriteOnce")],
    },
    Scene {
        title: "An administrator gives it to another team's claim",
        word: Word::Denied,
        acts: &[act(
            Admin,
            Patch(DATABASE, r#"{"spec":{"claimRef":{"namespace":"qa","name":"data","uid":null}}}"#),
        )],
        tells: &["[bound-volume-claim-ref]", "\"db/data\" to \"qa/data\""],
        then: &[Then::Holds(DATABASE, DATABASE_CLAIM)],
    },
    Scene {
        title: "An administrator takes off the finalizer that protects it",
        word: Word::Denied,
        acts: &[act(Admin, Patch(DATABASE, r#"{"metadata":{"finalizers":null}}"#))],
        tells: &["[protection-finalizer]"],
        then: &[Then::Is(DATABASE, "/metadata/finalizers/0", "kubernetes.io/pv-protection")],
    },
    Scene {
        title: "An administrator writes its phase by hand",
        word: Word::Denied,
        acts: &[act(Admin, PatchStatus(DATABASE, r#"{"status":{"phase":"Available"}}"#))],
        tells: &["advise.bindery.dev", "[status-forgery]"],
        then: &[Then::Is(DATABASE, "/status/phase", "Bound")],
    },
    Scene {
        title: "An administrator sets Delete on a volume whose claim is gone and whose data was kept",
        word: Word::Denied,
        acts: &[act(
            Admin,
            Patch(PAYROLL, r#"{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}"#),
        )],
        tells: &["[released-volume-policy]"],
        then: &[Then::Is(PAYROLL, "/spec/persistentVolumeReclaimPolicy", "Retain")],
    },
    Scene {
        title: "A tenant names a volume of another class",
        word: Word::Denied,
        acts: &[act(Tenant, Create(&CLAIM_WRONG_CLASS))],
        tells: &["[prebind-class]"],
        then: &[Then::Gone(Target::Claim("qa", "search"))],
    },
    Scene {
        title: "A tenant names the volume of the database; the refusal does not tell whose it is",
        word: Word::Denied,
        acts: &[act(Tenant, Create(&CLAIM_TAKEN_VOLUME))],
        tells: &["[prebind-taken]"],
        then: &[Then::Gone(Target::Claim("qa", "copy"))],
    },
    Scene {
        title: "A tenant wants a file system and names a raw block device",
        word: Word::Denied,
        acts: &[act(Tenant, Create(&CLAIM_WRONG_MODE))],
        tells: &["[prebind-volume-mode]"],
        then: &[Then::Gone(Target::Claim("qa", "disk"))],
    },
    Scene {
        title: "A tenant restores a claim that was exported elsewhere, with the binder's notes in it",
        word: Word::Repaired,
        acts: &[act(Tenant, Create(&CLAIM_EXPORTED))],
        tells: &["[strip-binder-annotations]", "created"],
        then: &[
            Then::Lacks(
                Target::Claim("qa", "history"),
                "/metadata/annotations/pv.kubernetes.io~1bind-completed",
            ),
            Then::Is(Target::Claim("qa", "history"), "/spec/volumeName", "pv-archive-0"),
        ],
    },
    Scene {
        title: "A pipeline replaces the database's volume by its manifest from before the binding",
        word: Word::Repaired,
        acts: &[act(Admin, Replace(&VOLUME_DB_0))],
        tells: &["[restore-binding]", "replaced"],
        then: &[
            Then::Holds(DATABASE, DATABASE_CLAIM),
            Then::Is(DATABASE, "/metadata/finalizers/0", "kubernetes.io/pv-protection"),
            Then::Is(DATABASE, "/metadata/labels/team", "storage"),
        ],
    },
    Scene {
        title: "A tenant makes a claim that will wait for its pod; that it will is noted on it",
        word: Word::Repaired,
        acts: &[act(Tenant, Create(&CLAIM_DELAYED))],
        tells: &["created"],
        then: &[Then::Is(
            Target::Claim("qa", "scratch"),
            "/metadata/annotations/bindery.dev~1volume-binding-mode",
            "WaitForFirstConsumer",
        )],
    },
    Scene {
        title: "A tenant gives the class by the annotation of old",
        word: Word::Repaired,
        acts: &[act(Tenant, Create(&CLAIM_LEGACY))],
        tells: &["[legacy-class]", "created"],
        then: &[Then::Is(Target::Claim("qa", "ledger"), "/spec/storageClassName", "archive")],
    },
    Scene {
        title: "An administrator means it: an exemption from one rule, with an end and a reason",
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
        tells: &["exempt from bound-volume-capacity until", "the share was made smaller"],
        then: &[Then::Is(REPORTS, "/spec/capacity/storage", "15Gi")],
    },
    Scene {
        title: "An administrator breaks the glass: the API server does not even ask the webhook",
        word: Word::Allowed,
        acts: &[act(BreakGlass, Patch(REPORTS, r#"{"spec":{"accessModes":["ReadWriteOnce"]}}"#))],
        tells: &["patched"],
        then: &[Then::Is(REPORTS, "/spec/accessModes/0", "ReadWriteOnce")],
    },
    Scene {
        title: "The right order: a tenant deletes a claim that nobody uses",
        word: Word::Allowed,
        acts: &[
            act(Tenant, Delete(REPORTS_CLAIM)),
            act(ClaimProtection, Patch(REPORTS_CLAIM, r#"{"metadata":{"finalizers":null}}"#)),
            act(Binder, PatchStatus(REPORTS, r#"{"status":{"phase":"Released"}}"#)),
        ],
        tells: &["deleted"],
        then: &[
            Then::Gone(REPORTS_CLAIM),
            Then::Is(REPORTS, "/spec/claimRef/name", "reports"),
            Then::Is(REPORTS, "/status/phase", "Released"),
        ],
    },
    Scene {
        title: "After that an administrator may delete its volume",
        word: Word::Warned,
        acts: &[
            act(Admin, Delete(REPORTS)),
            act(VolumeProtection, Patch(REPORTS, r#"{"metadata":{"finalizers":null}}"#)),
        ],
        tells: &["[bound-volume-delete]", "gone or going", "deleted"],
        then: &[Then::Gone(REPORTS)],
    },
    Scene {
        title: "An administrator deletes a volume that nobody has",
        word: Word::Allowed,
        acts: &[
            act(Admin, Delete(BLOCK)),
            act(VolumeProtection, Patch(BLOCK, r#"{"metadata":{"finalizers":null}}"#)),
        ],
        tells: &["deleted"],
        then: &[Then::Gone(BLOCK)],
    },
];
