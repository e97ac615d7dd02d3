//! A user's action: the kubectl command that it stands for, and the request that kubectl would
//! make of it. Both come from one value, so that they cannot disagree.

use http::Request;
use kube::client::Body;
use serde_json::Value;

use super::error::DemoError;
use super::examples::{ExampleFile, collection};
use crate::RequestUser;
use bindery::rules::judging::actor::BREAK_GLASS;
use bindery::rules::judging::filter::OWN_CONTROLLER;

/// Who commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Caller {
    /// The cluster's administrator.
    Admin,
    /// A user who may do everything in namespace `qa` and nothing elsewhere.
    Tenant,
    /// The administrator, impersonating the group that has no members.
    BreakGlass,
    /// The controller that lets go of claims that no pod uses.
    ClaimProtection,
    /// The controller that lets go of volumes that are not bound.
    VolumeProtection,
    /// The in-tree binder.
    Binder,
    /// The controller of Bindery.
    Controller,
    /// The scheduler.
    Scheduler,
    /// The local static provisioner of Bindery.
    Provisioner,
}

impl Caller {
    /// The user as the API server knows them.
    pub(super) fn user(self) -> RequestUser {
        let account = |name: &str| {
            RequestUser::named(
                format!("system:serviceaccount:kube-system:{name}"),
                &[
                    "system:serviceaccounts",
                    "system:serviceaccounts:kube-system",
                    "system:authenticated",
                ],
            )
        };
        match self {
            Self::Admin => RequestUser::admin(),
            Self::Tenant => RequestUser::named("quinn", &["team-qa", "system:authenticated"]),
            Self::BreakGlass => RequestUser::named("admin", &["system:masters", BREAK_GLASS]),
            Self::ClaimProtection => account("pvc-protection-controller"),
            Self::VolumeProtection => account("pv-protection-controller"),
            Self::Binder => account("persistent-volume-binder"),
            Self::Controller => RequestUser::named(OWN_CONTROLLER, &["system:authenticated"]),
            Self::Scheduler => {
                RequestUser::named("system:kube-scheduler", &["system:authenticated"])
            }
            Self::Provisioner => RequestUser::named(
                "system:serviceaccount:bindery:bindery-local",
                &["system:authenticated"],
            ),
        }
    }

    /// The flags with which kubectl asks as this user.
    fn flags(self) -> String {
        match self {
            Self::BreakGlass => {
                format!(" --as=admin --as-group=system:masters --as-group={BREAK_GLASS}")
            }
            Self::Admin
            | Self::Tenant
            | Self::ClaimProtection
            | Self::VolumeProtection
            | Self::Binder
            | Self::Controller
            | Self::Scheduler
            | Self::Provisioner => String::new(),
        }
    }

    /// Returns who it is, if it is a controller and not a person.
    pub(super) fn controller(self) -> Option<&'static str> {
        match self {
            Self::Admin | Self::Tenant | Self::BreakGlass => None,
            Self::ClaimProtection => Some("claim protection"),
            Self::VolumeProtection => Some("volume protection"),
            Self::Binder => Some("the binder"),
            Self::Controller => Some("the controller"),
            Self::Scheduler => Some("the scheduler"),
            Self::Provisioner => Some("the local static provisioner"),
        }
    }
}

/// An object that is acted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A volume of this name.
    Volume(&'static str),
    /// A claim of this namespace and name.
    Claim(&'static str, &'static str),
}

impl Target {
    /// Its path.
    pub(super) fn path(self) -> String {
        match self {
            Self::Volume(name) => format!("/api/v1/persistentvolumes/{name}"),
            Self::Claim(namespace, name) => {
                format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}")
            }
        }
    }

    /// `kubectl`, a verb, and the object.
    fn command(self, verb: &str) -> String {
        match self {
            Self::Volume(name) => format!("kubectl {verb} pv {name}"),
            Self::Claim(namespace, name) => format!("kubectl -n {namespace} {verb} pvc {name}"),
        }
    }

    /// As kubectl prints what it did.
    fn reported(self) -> (&'static str, &'static str) {
        match self {
            Self::Volume(name) => ("persistentvolume", name),
            Self::Claim(_, name) => ("persistentvolumeclaim", name),
        }
    }
}

/// What is done.
#[derive(Clone, Copy, Debug)]
pub(super) enum Verb {
    /// Creates the object of a file.
    Create(&'static ExampleFile),
    /// Replaces an object by that of a file.
    Replace(&'static ExampleFile),
    /// Changes an object by a JSON merge patch.
    Patch(Target, &'static str),
    /// The same through `/status`.
    PatchStatus(Target, &'static str),
    /// Puts an annotation; `{until}` stands for a time that has not come yet.
    Annotate(Target, &'static str, &'static str),
    /// Deletes an object.
    Delete(Target),
}

/// A user or a controller commands.
#[derive(Clone, Copy, Debug)]
pub(super) struct KubectlCommand {
    /// Who.
    pub(super) by: Caller,
    /// What.
    pub(super) verb: Verb,
}

impl KubectlCommand {
    /// The printed form: a command, or what a controller does by itself. `until` is the
    /// time that `{until}` stands for.
    pub(super) fn line(&self, until: &str) -> String {
        if let Some(controller) = self.by.controller() {
            return format!("# meanwhile, {controller} does its part");
        }
        let command = match self.verb {
            Verb::Create(file) => format!("kubectl create -f {}", file.path),
            Verb::Replace(file) => format!("kubectl replace -f {}", file.path),
            Verb::Patch(target, patch) => {
                format!("{} --type=merge -p '{patch}'", target.command("patch"))
            }
            Verb::PatchStatus(target, patch) => format!(
                "{} --subresource=status --type=merge -p '{patch}'",
                target.command("patch")
            ),
            Verb::Annotate(target, key, value) => {
                let value = value.replace("{until}", until);
                format!("{} {key}='{value}'", target.command("annotate"))
            }
            Verb::Delete(target) => target.command("delete"),
        };
        format!("$ {command}{}", self.by.flags())
    }

    /// The request that kubectl makes of it.
    pub(super) fn request(&self, until: &str) -> Result<Request<Body>, DemoError> {
        const JSON: &str = "application/json";
        const MERGE: &str = "application/merge-patch+json";
        let (method, path, kind, body) = match self.verb {
            Verb::Create(file) => {
                let object = file.object()?;
                ("POST", collection(&object)?, JSON, object.to_string())
            }
            Verb::Replace(file) => {
                let object = file.object()?;
                let name = object["metadata"]["name"].as_str().unwrap_or_default();
                let path = format!("{}/{name}", collection(&object)?);
                ("PUT", path, JSON, object.to_string())
            }
            Verb::Patch(target, patch) => ("PATCH", target.path(), MERGE, patch.to_owned()),
            Verb::PatchStatus(target, patch) => {
                ("PATCH", format!("{}/status", target.path()), MERGE, patch.to_owned())
            }
            Verb::Annotate(target, key, value) => {
                let annotations = serde_json::json!({ key: value.replace("{until}", until) });
                let patch = serde_json::json!({"metadata": {"annotations": annotations}});
                ("PATCH", target.path(), MERGE, patch.to_string())
            }
            Verb::Delete(target) => ("DELETE", target.path(), JSON, String::new()),
        };
        let built = Request::builder().method(method).uri(path).header("content-type", kind);
        let built = built.body(Body::from(body.into_bytes()));
        built.map_err(|error| DemoError::Examples(error.to_string()))
    }

    /// Returns what kubectl prints when it worked; `object` is what came back.
    pub(super) fn success(&self, object: &Value) -> String {
        let named = |word: &str| {
            let kind = object["kind"].as_str().unwrap_or_default().to_lowercase();
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            format!("{kind}/{name} {word}")
        };
        match self.verb {
            Verb::Create(_) => named("created"),
            Verb::Replace(_) => named("replaced"),
            Verb::Patch(..) | Verb::PatchStatus(..) => named("patched"),
            Verb::Annotate(..) => named("annotated"),
            Verb::Delete(target) => {
                let (kind, name) = target.reported();
                format!("{kind} \"{name}\" deleted")
            }
        }
    }

    /// Returns what kubectl prints when it did not; `status` is what came back.
    pub(super) fn failure(&self, status: &Value) -> String {
        let reason = status["reason"].as_str().unwrap_or("Unknown");
        let message = status["message"].as_str().unwrap_or_default();
        let doing = match self.verb {
            Verb::Create(file) => format!("error when creating \"{}\": ", file.path),
            Verb::Replace(file) => format!("error when replacing \"{}\": ", file.path),
            Verb::Patch(..) | Verb::PatchStatus(..) | Verb::Annotate(..) | Verb::Delete(_) => {
                String::new()
            }
        };
        format!("Error from server ({reason}): {doing}{message}")
    }

    /// Returns whether the answer is shown.
    pub(super) fn is_typed(&self) -> bool {
        self.by.controller().is_none()
    }
}
