//! The fallback from `full` once another binder was seen at work, which outlives a restart.
//!
//! Not here: how another binder is noticed (`reconciler`), and how the Lease stores it (`client::lease`).

use jiff::Timestamp;
use tokio::sync::watch;
use tokio::time::Instant;

use super::reconciler::Reconciler;
use crate::client::lease::LeaderElection;
use crate::client::other_binder::OtherBinder;
use crate::model::annotations::OTHER_BINDER;

/// Passes what the reconciler saw on to the Lease, and what the Lease says on to the reconciler.
pub(super) struct Fallback {
    known: watch::Sender<OtherBinder>,
    remedy: String,
    is_reported: bool,
}

/// Returns what a person does for the controller to bind again, once the other binder is switched off.
pub(super) fn remedy(election: Option<&LeaderElection>) -> String {
    let Some(LeaderElection { namespace, name, .. }) = election else {
        return "start the controller again".to_owned();
    };
    format!("run `kubectl -n {namespace} annotate lease {name} {OTHER_BINDER}-`")
}

impl Fallback {
    pub(super) fn new(known: watch::Sender<OtherBinder>, remedy: String) -> Self {
        Self { known, remedy, is_reported: false }
    }

    /// Passes on what either knows. Called after the lead is checked and before anything is written: what the Lease
    /// says is known before it is won.
    pub(super) fn apply(&mut self, reconciler: &mut Reconciler, is_leading: bool, now: Instant) {
        if let Some(seen) = reconciler.take_sighting() {
            let seen = format!("{:.0} {seen}", Timestamp::now());
            self.known.send_if_modified(|known| known.see(seen));
        }
        let known = self.known.borrow().clone();
        reconciler.set_other_binder(known.text().is_some(), now);
        let is_fallen = is_leading && reconciler.has_fallen_back();
        if is_fallen && !self.is_reported {
            let Self { remedy, .. } = self;
            tracing::error!(
                seen = known.text(),
                "kube-controller-manager was seen to bind volumes too; two binders would undo each other's bindings, \
                 so the controller only observes; start kube-controller-manager with \
                 --controllers=*,-persistentvolume-binder-controller, then {remedy}"
            );
        } else if is_leading && !is_fallen && self.is_reported {
            tracing::info!("the annotation {OTHER_BINDER} was removed; the controller binds again");
        }
        self.is_reported = is_fallen;
    }
}
