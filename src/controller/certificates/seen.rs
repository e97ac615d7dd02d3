//! What the leader sees of an installation: its two Secrets and its two registrations.

use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::api::bundle::RegisteredWebhooks;
use crate::api::installation::Installation;
use crate::api::secret::{Secret, stored};
use crate::certificates::rotation::Stored;
use crate::client::object_watch::{ObjectPath, ObjectState, watch_object};

/// Everything that the next step depends on.
#[derive(Debug)]
pub(super) struct InstallationState {
    pub(super) stored: Stored,
    pub(super) ca: Secret,
    pub(super) serving: Secret,
    /// The registrations that exist, each with its path.
    pub(super) registered: Vec<(String, RegisteredWebhooks)>,
}

impl InstallationState {
    /// Returns what each registered webhook trusts.
    pub(super) fn trust(&self) -> Vec<String> {
        let bundles = self.registered.iter().flat_map(|(_, registered)| registered.trust());
        bundles.map(str::to_owned).collect()
    }
}

/// Watches the four objects until it is dropped.
pub(super) struct ObjectWatches {
    ca: WatchedObject,
    serving: WatchedObject,
    registrations: [WatchedObject; 2],
    _tasks: JoinSet<()>,
}

struct WatchedObject {
    path: String,
    state: watch::Receiver<ObjectState>,
    /// Whether it was logged that it is missing or cannot be read, since it last could.
    is_logged: bool,
}

/// It was not looked at yet, or cannot be read.
struct Unknown;

const REGISTRATIONS: &str = "/apis/admissionregistration.k8s.io/v1";

impl ObjectWatches {
    pub(super) fn start(client: &Client, installation: &Installation) -> Self {
        let mut tasks = JoinSet::new();
        let mut watched = |collection: String, name: String| {
            let (sender, state) = watch::channel(ObjectState::default());
            let path = format!("{collection}/{name}");
            tasks.spawn(watch_object(client.clone(), ObjectPath { collection, name }, sender));
            WatchedObject { path, state, is_logged: false }
        };
        let secrets = || format!("/api/v1/namespaces/{}/secrets", installation.namespace());
        let name = || installation.name().to_owned();
        Self {
            ca: watched(secrets(), installation.ca_secret()),
            serving: watched(secrets(), installation.serving_secret()),
            registrations: [
                watched(format!("{REGISTRATIONS}/validatingwebhookconfigurations"), name()),
                watched(format!("{REGISTRATIONS}/mutatingwebhookconfigurations"), name()),
            ],
            _tasks: tasks,
        }
    }

    /// Returns when something has changed.
    pub(super) async fn changed(&mut self) {
        let [validating, mutating] = &mut self.registrations;
        // The tasks that send live as long as this.
        tokio::select! {
            _ = self.ca.state.changed() => {}
            _ = self.serving.state.changed() => {}
            _ = validating.state.changed() => {}
            _ = mutating.state.changed() => {}
        }
    }

    /// Returns what there is; nothing until all was looked at and both Secrets exist.
    pub(super) fn seen(&mut self, installation: &Installation) -> Option<InstallationState> {
        let ca = self.ca.secret()?;
        let serving = self.serving.secret()?;
        let mut registered = Vec::new();
        for watched in &mut self.registrations {
            registered.extend(watched.registered(installation).ok()?);
        }
        Some(InstallationState { stored: stored(&ca, &serving), ca, serving, registered })
    }
}

impl ObjectWatches {
    /// Returns whether something that was looked at is missing or cannot be read.
    pub(super) fn are_blocked(&self) -> bool {
        let all = [&self.ca, &self.serving].into_iter().chain(&self.registrations);
        all.into_iter().any(|watched| watched.is_logged)
    }
}

impl WatchedObject {
    fn secret(&mut self) -> Option<Secret> {
        let read = match &*self.state.borrow_and_update() {
            ObjectState::Unseen => return None,
            ObjectState::Absent => None,
            ObjectState::Present(text) => Some(Secret::read(text.as_str())),
        };
        match read {
            Some(Ok(secret)) => {
                self.is_logged = false;
                return Some(secret);
            }
            Some(Err(error)) => self.log_error(&error.to_string()),
            None => self.log_error(
                "it does not exist; no certificate can be stored; install the chart again",
            ),
        }
        None
    }

    /// The registration with its path, if it exists.
    fn registered(
        &mut self,
        installation: &Installation,
    ) -> Result<Option<(String, RegisteredWebhooks)>, Unknown> {
        let read = match &*self.state.borrow_and_update() {
            ObjectState::Unseen => return Err(Unknown),
            ObjectState::Absent => None,
            ObjectState::Present(text) => {
                Some(RegisteredWebhooks::read(text.as_str(), installation))
            }
        };
        match read.transpose() {
            Ok(registered) => {
                self.is_logged = false;
                Ok(registered.map(|registered| (self.path.clone(), registered)))
            }
            Err(error) => {
                self.log_error(&error.to_string());
                Err(Unknown)
            }
        }
    }

    fn log_error(&mut self, reason: &str) {
        if !std::mem::replace(&mut self.is_logged, true) {
            tracing::error!(
                path = self.path,
                reason,
                "certificates cannot be renewed; API servers trust no replica once they expire"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registration_that_can_be_read_again_blocks_nothing() {
        let installation: Installation = "bindery/bindery".parse().unwrap();
        let (sender, state) = watch::channel(ObjectState::default());
        let mut watched = WatchedObject { path: "registered".to_owned(), state, is_logged: false };
        let mut look = |state: ObjectState| {
            sender.send_replace(state);
            let is_known = watched.registered(&installation).is_ok();
            (is_known, watched.is_logged)
        };
        let present = |text: &str| ObjectState::Present(text.into());
        assert_eq!(look(ObjectState::Unseen), (false, false));
        assert_eq!(look(present("[")), (false, true));
        assert_eq!(look(present("{}")), (true, false));
        assert_eq!(look(present("[")), (false, true));
        assert_eq!(look(ObjectState::Absent), (true, false));
    }
}
