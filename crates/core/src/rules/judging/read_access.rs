//! The PVCs that name a PersistentVolume which their asker may not read, and the one answer that they get.
//!
//! Only the API server knows who may read it: its authorizer decides in the condition, before anything is sent. An
//! asker without that right learns nothing of a PersistentVolume but that it may have it: because a mark on the volume
//! admits the namespace, because the volume is reserved for this very PVC or the trash holds it for its name, or because it is free, without a mark, and
//! fits. Everything else is one violation with one text and one set of live reads, whatever is the case.

use super::change::{Change, Part};
use super::parameters::Unlisted;
use super::prebind::not_available;
use super::question::Question;
use super::returning::returns_to;
use super::rule::{Endpoint, Rule};
use super::tenancy::{Admission, admission};
use super::verdict::Ruling;
use super::violation::{Certainty, Dependency, Violation};
use crate::binding::{Confirmation, Evidence, FitCheck, Lookup, Pairing, Read, fit, pairing};
use crate::model::{Audience, Claim, Volume, VolumeName};

/// What an asker may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadAccess {
    /// PersistentVolumes, or the one that its PVC names.
    Volumes,
    /// Nothing outside of its namespaces.
    Namespaces,
}

/// Returns whether `change` makes a PVC name a PersistentVolume that an asker of this `access` may not read, as far as
/// the request shows.
pub(super) fn is_restricted(change: &Change, access: ReadAccess) -> bool {
    match access {
        ReadAccess::Volumes => false,
        ReadAccess::Namespaces => named(change).is_some(),
    }
}

/// [`is_restricted`] as CEL. A right to read the one volume by its name is enough.
pub(super) fn expression() -> String {
    let name = |object: &str| format!("{object}.spec.?volumeName.orValue('')");
    format!(
        "request.resource.resource == 'persistentvolumeclaims' && request.operation != 'DELETE' && \
         request.?subResource.orValue('') == '' && {new} != '' && \
         (request.operation == 'CREATE' || {old} != {new}) && \
         !authorizer.group('').resource('persistentvolumes').name({new}).check('get').allowed()",
        new = name("object"),
        old = name("oldObject"),
    )
}

/// The PVC that `change` makes name a volume, and the volume's name.
fn named(change: &Change) -> Option<(&Claim, &VolumeName)> {
    let (old, new) = change.claim()?.written()?;
    let old = old.and_then(|old| old.volume.as_ref());
    let name = new.volume.as_ref().filter(|name| old != Some(name) && change.part == Part::Main)?;
    Some((new, name))
}

/// The PVC of a question whose user may not read the volume that it names. Guard does not know who may: there, every
/// user is treated as one who may not.
pub(super) fn of_question(question: Question<'_>) -> Option<Restricted<'_>> {
    match question.endpoint {
        Endpoint::Guard | Endpoint::Restricted => {
            let (claim, name) = named(question.change)?;
            Some(Restricted { claim, name, unlisted: question.change.parameters.unlisted })
        }
        Endpoint::Advise | Endpoint::Tenancy | Endpoint::Mutate | Endpoint::Restore => None,
    }
}

/// A PVC that names a volume which its asker may not read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Restricted<'a> {
    claim: &'a Claim,
    name: &'a VolumeName,
    unlisted: Unlisted,
}

/// What the user learns of the volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    /// Everything.
    All,
    /// Nothing: it would get the volume.
    Silence,
    /// The one answer.
    Unavailable,
    /// That the volume could not be read.
    Unknown,
}

impl Restricted<'_> {
    /// The reads that every such question makes, whatever there is, so that all take as long.
    pub(super) fn reads(&self, evidence: &Evidence<'_>) -> Vec<Read> {
        let mut reads = vec![Read::Volume(self.name.clone())];
        let namespace = &self.claim.key.namespace;
        if evidence.view().namespace_of(namespace).is_none() {
            reads.push(Read::Namespace(namespace.clone()));
        }
        reads.retain(|read| evidence.confirmation(read) == Confirmation::NotTried);
        reads
    }

    /// The rule whose mode applies to the one answer. The modes of other rules would reveal which case it is.
    pub(super) fn rule(&self, rules: &[&'static Rule]) -> Option<&'static Rule> {
        let id = match self.unlisted {
            Unlisted::Allow => "missing-volume",
            Unlisted::Deny => "foreign-namespace-volume",
        };
        rules.iter().find(|rule| rule.id == id).copied()
    }

    /// Removes what the user may not learn, and returns what is reported instead.
    pub(super) fn withhold(
        &self,
        rulings: &mut Vec<Ruling>,
        evidence: &Evidence<'_>,
    ) -> Option<Violation> {
        let shown = self.shown(evidence);
        if shown == Shown::All {
            return None;
        }
        rulings.retain(|ruling| !ruling.violation.reveals_storage());
        match shown {
            Shown::All | Shown::Silence => None,
            Shown::Unavailable => Some(self.violation(Certainty::Seen, evidence)),
            Shown::Unknown => Some(self.violation(self.certainty(), evidence)),
        }
    }

    /// With `unlisted: deny`, a volume that could not be read is treated as one that does not exist.
    fn certainty(&self) -> Certainty {
        match self.unlisted {
            Unlisted::Allow => Certainty::Assumed,
            Unlisted::Deny => Certainty::Seen,
        }
    }

    fn violation(&self, certainty: Certainty, evidence: &Evidence<'_>) -> Violation {
        let text = not_available(self.name, &self.claim.key.name);
        let mut violation = Violation::new("spec.volumeName", text);
        violation.depends_on.push(Dependency { read: Read::Volume(self.name.clone()), certainty });
        let namespace = Read::Namespace(self.claim.key.namespace.clone());
        if evidence.confirmation(&namespace) == Confirmation::Failed {
            violation.depends_on.push(Dependency { read: namespace, certainty: self.certainty() });
        }
        violation
    }

    fn shown(&self, evidence: &Evidence<'_>) -> Shown {
        let volume = match evidence.volume(self.name) {
            Lookup::Present(volume) => Some(volume),
            Lookup::Absent | Lookup::Unknown => None,
        };
        if volume.is_some_and(|volume| self.is_visible(volume, evidence)) {
            return Shown::All;
        }
        match evidence.confirmation(&Read::Volume(self.name.clone())) {
            // An unreadable volume must look like one that does not exist.
            Confirmation::Failed if evidence.is_unreadable(self.name) => Shown::Unavailable,
            Confirmation::Failed | Confirmation::NotTried => Shown::Unknown,
            Confirmation::Answered if volume.is_some_and(|volume| self.would_get(volume)) => {
                Shown::Silence
            }
            Confirmation::Answered => Shown::Unavailable,
        }
    }

    /// Returns whether the volume says itself that it is for this PVC or its namespace.
    fn is_visible(&self, volume: &Volume, evidence: &Evidence<'_>) -> bool {
        let namespace = &self.claim.key.namespace;
        let is_marked = match volume.audience(namespace) {
            Audience::Listed => true,
            Audience::OfTenant(_) => {
                admission(volume, namespace, self.unlisted, evidence) == Admission::Admitted
            }
            Audience::Unmarked | Audience::Foreign => false,
        };
        let is_for_it = matches!(pairing(volume, self.claim), Pairing::Agreed | Pairing::Bound);
        let home = evidence.namespace(namespace).present();
        is_marked || is_for_it || returns_to(volume, self.claim, home)
    }

    /// Returns whether it is free for every namespace, and a binder gives it to this PVC. A marked or reserved volume
    /// does not fit a PVC to which it is not visible.
    fn would_get(&self, volume: &Volume) -> bool {
        self.unlisted == Unlisted::Allow && fit(volume, self.claim, None, FitCheck::Prebind).is_ok()
    }
}
