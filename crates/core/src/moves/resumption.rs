//! Whether the controller goes on with a move whose command was cut off.
//!
//! It deletes no claim. While the claim that has the volume exists, nothing is missing, and a move that was given up must not
//! take the volume from a workload whose pods are restarted at that moment. Once the claim is gone, going on is the only
//! way to a claim that has the data.

use std::fmt;

use super::decision::MoveWrite;
use super::journal::Journal;
use super::problem::MoveProblem;
use crate::model::annotations::RESUME_MOVES;
use crate::model::{Audience, ClaimKey, Namespace, Reservation, VolumeName};

/// All that the resumption of a move depends on, besides its next write.
#[derive(Clone, Copy, Debug)]
pub struct ResumptionEvidence<'a> {
    /// The volume.
    pub volume: &'a VolumeName,
    /// What is recorded on it.
    pub journal: &'a Journal,
    /// Its `spec.claimRef`.
    pub reservation: &'a Reservation,
    /// What the marks of the volume say about the claims of the namespace to which the move leads.
    pub audience: Audience<'a>,
    /// Whether the data of the volume belongs to another cluster.
    pub is_handed_over: bool,
    /// Of the namespaces of the move, those that exist.
    pub namespaces: &'a [Namespace],
}

/// Why the controller leaves a move to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResumptionProblem {
    /// The namespace does not permit it.
    NoConsent(Box<str>),
    /// The namespace does not exist, and permits nothing.
    NamespaceGone(Box<str>),
    /// The next write deletes this claim.
    Deletion(ClaimKey),
    /// The data of the volume belongs to another cluster.
    HandedOver(VolumeName),
    /// The move itself could not begin.
    Move(MoveProblem),
}

/// The reason for which the controller leaves a move to a person, before its next write `write`; nothing if it goes on.
pub fn resumption_problem(
    seen: &ResumptionEvidence<'_>,
    write: &MoveWrite,
) -> Option<ResumptionProblem> {
    let named = |name: &str| seen.namespaces.iter().find(|namespace| *namespace.name == *name);
    // Who may write to the volume has written the journal: that its claims may be moved is said by their namespaces.
    for name in moved_namespaces(seen.journal) {
        match named(&name) {
            None => return Some(ResumptionProblem::NamespaceGone(name)),
            Some(namespace) if !namespace.permits_resumption() => {
                return Some(ResumptionProblem::NoConsent(name));
            }
            Some(_) => {}
        }
    }
    if !is_of_move(seen.reservation, seen.journal) {
        let problem = MoveProblem::Changed(seen.volume.clone());
        return Some(ResumptionProblem::Move(problem));
    }
    if seen.is_handed_over {
        return Some(ResumptionProblem::HandedOver(seen.volume.clone()));
    }
    let to: Box<str> = Box::from(&*seen.journal.goal.claim().namespace);
    let is_admitted =
        seen.audience.admits(|tenant| named(&to).and_then(Namespace::tenant) == Some(tenant));
    // Of a volume without a mark, only its namespaces show whose it is.
    let mut tenants = seen.namespaces.iter().map(Namespace::tenant);
    let first = tenants.next();
    if !is_admitted || tenants.any(|tenant| Some(tenant) != first) {
        let problem = MoveProblem::NotAdmitted(seen.volume.clone(), to);
        return Some(ResumptionProblem::Move(problem));
    }
    match write {
        MoveWrite::DeleteClaim(key, ..) => Some(ResumptionProblem::Deletion(key.clone())),
        MoveWrite::Record
        | MoveWrite::CreateClaim(_)
        | MoveWrite::Reserve(..)
        | MoveWrite::Fence(..)
        | MoveWrite::Finish => None,
    }
}

/// Returns whether the volume is reserved for a claim of the move. A person may have given it to another one since, and that
/// one may be gone again.
fn is_of_move(reservation: &Reservation, journal: &Journal) -> bool {
    match reservation {
        // A claim of the same name that was created since.
        Reservation::Held(key, uid) if *key == journal.origin && key != journal.goal.claim() => {
            journal.origin_uid.as_ref() == Some(uid)
        }
        Reservation::Held(key, _) | Reservation::Named(key) => journal.concerns(key),
        Reservation::Free | Reservation::Incomplete(..) => false,
    }
}

/// The namespaces of the claims that a move concerns, each once.
pub fn moved_namespaces(journal: &Journal) -> Vec<Box<str>> {
    let claims = [Some(&journal.origin), Some(journal.goal.claim()), journal.abandoned()];
    let names = claims.into_iter().flatten().map(|key| Box::from(&*key.namespace));
    let mut names: Vec<Box<str>> = names.collect();
    names.sort_unstable();
    names.dedup();
    names
}

impl fmt::Display for ResumptionProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoConsent(namespace) => write!(
                f,
                "Namespace {namespace:?} does not have the label {RESUME_MOVES}=true; the controller ends moves only between \
                 namespaces that have it"
            ),
            Self::NamespaceGone(namespace) => write!(
                f,
                "Namespace {namespace:?} does not exist, so that nothing says whether the controller may end its moves"
            ),
            Self::Deletion(claim) => write!(
                f,
                "the next step deletes PVC \"{claim}\", and the controller deletes no PVC: a pod may need it"
            ),
            Self::HandedOver(volume) => write!(
                f,
                "the data of PV {:?} belongs to another cluster; pods of two clusters would write to one disk",
                volume.as_str()
            ),
            Self::Move(problem) => problem.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::annotations::TENANT;
    use crate::model::{Deletion, ReclaimPolicy, ResourceVersion, Uid};
    use crate::moves::{Direction, Goal};

    fn namespace(name: &str, labels: &[(&str, &str)]) -> Namespace {
        let labels = labels.iter().copied().collect();
        Namespace { name: name.into(), labels, deletion: Deletion::NotAsked }
    }

    fn journal(direction: Direction) -> Journal {
        Journal {
            policy: ReclaimPolicy::Delete,
            origin: ClaimKey::new("a", "data"),
            origin_uid: Some(Uid::new("c1")),
            goal: Goal::Claim(ClaimKey::new("b", "data")),
            direction,
            begun_on: ResourceVersion::new("7"),
        }
    }

    /// What is said before this write of a move, in text; nothing if the controller goes on.
    fn problem(
        journal: &Journal,
        namespaces: &[Namespace],
        (audience, is_handed_over): (Audience<'_>, bool),
        write: &MoveWrite,
    ) -> Option<String> {
        let reservation = Reservation::Held(ClaimKey::new("a", "data"), Uid::new("c1"));
        let seen = ResumptionEvidence {
            volume: &VolumeName::new("pv-1"),
            journal,
            reservation: &reservation,
            audience,
            is_handed_over,
            namespaces,
        };
        resumption_problem(&seen, write).map(|problem| problem.to_string())
    }

    #[test]
    fn a_volume_that_was_given_to_another_claim_since_is_left() {
        let journal = journal(Direction::Forward);
        let key = ClaimKey::new;
        for (reservation, is_left) in [
            (Reservation::Held(key("a", "data"), Uid::new("c1")), false),
            (Reservation::Held(key("a", "data"), Uid::new("c9")), true),
            (Reservation::Held(key("b", "data"), Uid::new("c2")), false),
            (Reservation::Named(key("a", "data")), false),
            (Reservation::Held(key("c", "orders"), Uid::new("c3")), true),
            (Reservation::Named(key("c", "orders")), true),
            (Reservation::Free, true),
        ] {
            assert_eq!(!is_of_move(&reservation, &journal), is_left, "{reservation:?}");
        }
    }

    #[test]
    fn both_namespaces_must_permit_it() {
        const YES: &[(&str, &str)] = &[(RESUME_MOVES, "true")];
        let (journal, rest) = (journal(Direction::Forward), (Audience::Unmarked, false));
        let write = MoveWrite::CreateClaim(ClaimKey::new("b", "data"));
        let both = [namespace("a", YES), namespace("b", YES)];
        assert_eq!(problem(&journal, &both, rest, &write), None);
        for (silent, namespaces) in [
            ("\"b\"", vec![namespace("a", YES), namespace("b", &[(RESUME_MOVES, "false")])]),
            ("\"a\"", vec![namespace("a", &[]), namespace("b", YES)]),
        ] {
            let text = problem(&journal, &namespaces, rest, &write).unwrap();
            assert!(text.starts_with(&format!("Namespace {silent} does not have")), "{text}");
        }
        let text = problem(&journal, &[namespace("b", YES)], rest, &write).unwrap();
        assert!(text.starts_with("Namespace \"a\" does not exist"), "{text}");
        let tenants = ["red", "blue"].map(|tenant| [YES[0], (TENANT, tenant)]);
        let both = [namespace("a", &tenants[0]), namespace("b", &tenants[1])];
        let text = problem(&journal, &both, rest, &write).unwrap();
        assert!(text.contains("another tenant"), "{text}");
    }

    #[test]
    fn the_namespace_of_an_undone_move_must_permit_it_too() {
        let abandoned = Some(ClaimKey::new("c", "data"));
        let names = moved_namespaces(&journal(Direction::Back { abandoned }));
        assert_eq!(names, ["a", "b", "c"].map(Box::from));
    }

    #[test]
    fn no_claim_is_deleted_and_no_tenant_gets_the_volume_of_another() {
        const YES: &[(&str, &str)] = &[(RESUME_MOVES, "true"), (TENANT, "blue")];
        let both = [namespace("a", YES), namespace("b", YES)];
        let (journal, data) = (journal(Direction::Forward), ClaimKey::new("a", "data"));
        let deletion = MoveWrite::DeleteClaim(data, Uid::new("c1"), ResourceVersion::new("8"));
        for (rest, write, said) in [
            ((Audience::Unmarked, false), deletion, Some("the controller deletes no PVC")),
            ((Audience::OfTenant("blue"), false), MoveWrite::Finish, None),
            ((Audience::OfTenant("red"), false), MoveWrite::Finish, Some("another tenant")),
            ((Audience::Foreign, false), MoveWrite::Finish, Some("another tenant")),
            ((Audience::Unmarked, true), MoveWrite::Finish, Some("belongs to another cluster")),
        ] {
            let text = problem(&journal, &both, rest, &write);
            match said {
                None => assert_eq!(text, None),
                Some(said) => assert!(text.as_ref().unwrap().contains(said), "{text:?}"),
            }
        }
    }
}
