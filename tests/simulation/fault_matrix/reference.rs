//! What a path comes to where nothing goes wrong, and what can make a difference to that.

use bindery_sim::{Accepted, Method};
use serde_json::Value;

use super::cell::{Cell, Fate, Side, Sight, Strike};
use super::path::Path;
use super::play::HOLD;
use crate::invariants::ending::Ending;
use crate::random_faults::kind;
use crate::record::{is_stored, name};

/// Where a write says on which version it was decided.
const NAMED_VERSION: &str = "/metadata/resourceVersion";

/// What a path comes to where nothing goes wrong.
pub(super) struct Reference {
    /// The cluster after each act.
    pub(super) ends: Vec<Ending>,
    /// The writes that the controller sent: verb and path.
    pub(super) sent: Vec<String>,
    /// What was stored.
    pub(super) history: Vec<Accepted>,
    /// For each act, where in the history what followed it ends.
    pub(super) acts: Vec<usize>,
    /// How much of the history is from before any process ran.
    pub(super) founded: usize,
    /// What was broken.
    pub(super) breaches: Vec<String>,
}

impl Reference {
    /// Every single fault of the path.
    pub(super) fn cells(&self, path: &Path) -> Vec<Cell> {
        let of_write = |at: usize| {
            let is_first = self.act_of(at) == 0;
            let strikes = Fate::ALL.into_iter().flat_map(move |fate| {
                let sights =
                    Sight::of(fate).iter().filter(move |sight| !is_first || !sight.is_act());
                sights.map(move |sight| Strike { at, fate, sight: *sight })
            });
            strikes.map(|strike| Cell { path: path.name.clone(), strikes: vec![strike] })
        };
        (1..=self.sent.len()).flat_map(of_write).collect()
    }

    /// After which act the write of this number is made.
    pub(super) fn act_of(&self, at: usize) -> usize {
        let place = self.write(at).0;
        self.acts.iter().position(|end| *end > place).expect("an act")
    }

    /// The write of this number, and its place in the history.
    fn write(&self, at: usize) -> (usize, &Accepted) {
        let ours = |(_, write): &(usize, &Accepted)| write.user == name(0) && is_counted(write);
        self.history.iter().enumerate().filter(ours).nth(at - 1).expect("a write")
    }

    /// Returns whether the strike can make a difference: a write that names no version meets no conflict, and a
    /// sight hides nothing where nothing is written any more until it ends.
    pub(super) fn reaches(&self, strike: Strike) -> bool {
        let (place, write) = self.write(strike.at);
        let act = self.act_of(strike.at);
        if strike.fate == Fate::Conflict && write.sent.pointer(NAMED_VERSION).is_none() {
            return false;
        }
        let since = match strike.sight {
            Sight::Fresh => return true,
            Sight::Behind(_) | Sight::Missed if is_dropped(write, strike.fate) => place + 1,
            Sight::Behind(_) | Sight::Missed => place,
            Sight::Before(_) => self.acts[act - 1],
            Sight::Old(_) => self.founded,
        };
        // A process that goes on sees again after a while.
        let is_in_time =
            |later: &Accepted| strike.fate.is_crash() || later.at.duration_since(write.at) <= HOLD;
        let mut later = self.history[since..self.acts[act]].iter();
        later.any(|later| is_in_time(later) && is_hidden(strike.sight, later.resource))
    }
}

/// Returns whether a rejected write is not sent again: that a recycling failed is written once, and what
/// follows is the next recycling.
fn is_dropped(write: &Accepted, fate: Fate) -> bool {
    let policy = &write.object()["spec"]["persistentVolumeReclaimPolicy"];
    let is_denied = matches!(fate, Fate::Failure | Fate::Busy);
    is_denied && kind(write) == Some("volume Failed") && *policy == "Recycle"
}

/// Returns whether the sight hides what happens to objects of the resource.
pub(super) fn is_hidden(sight: Sight, resource: &str) -> bool {
    let of = |side| match side {
        Side::Volumes => "persistentvolumes",
        Side::Claims => "persistentvolumeclaims",
    };
    match sight {
        Sight::Fresh => false,
        Sight::Behind(side) | Sight::Before(side) | Sight::Old(side) => resource == of(side),
        Sight::Missed => [Side::Volumes, Side::Claims].map(of).contains(&resource),
    }
}

/// Returns whether it is what became of a request of the kind by which strikes are counted. A pod that is over is
/// first marked, then gone: that is one.
pub(super) fn is_counted(write: &Accepted) -> bool {
    let is_marked = |pod: &Value| !pod["metadata"]["deletionTimestamp"].is_null();
    let is_second =
        write.method == Method::Delete && write.before.as_deref().is_some_and(is_marked);
    is_stored(write) && !is_second
}
