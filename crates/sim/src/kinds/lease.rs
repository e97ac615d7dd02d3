//! Leases: `LeaseStrategy` of `coordination.k8s.io`.

use serde_json::{Value, json};

use super::Strategy;
use bindery::api::server::Cause;
use bindery::api::server::fields::{at, remove, set_default};

/// `LeaseStrategy`.
#[derive(Debug)]
pub(crate) struct LeaseStrategy;

const DURATION: [&str; 2] = ["spec", "leaseDurationSeconds"];
const TRANSITIONS: [&str; 2] = ["spec", "leaseTransitions"];

/// Kubernetes: dropped unless the feature gate `CoordinatedLeaderElection` is on; it is off.
const COORDINATED: [&str; 2] = ["strategy", "preferredHolder"];

impl Strategy for LeaseStrategy {
    /// A typed server always writes the specification, without the fields of a feature that is off.
    fn default(&self, object: &mut Value) {
        set_default(object, &["spec"], json!({}));
        for field in COORDINATED {
            remove(object, &["spec", field]);
        }
    }

    fn prepare_update(&self, _object: &mut Value, _existing: &Value) {}

    fn is_made_by_put(&self) -> bool {
        true
    }

    /// Returns who renews a lease must say which one: two candidates would both believe that they hold it.
    fn takes_blind_updates(&self) -> bool {
        false
    }

    fn validate(&self, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let number = |path: &[&str]| at(object, path).and_then(Value::as_i64);
        if let Some(seconds) = number(&DURATION).filter(|seconds| *seconds <= 0) {
            let field = "spec.leaseDurationSeconds";
            causes.push(Cause::invalid(field, &json!(seconds), "must be greater than 0"));
        }
        if let Some(count) = number(&TRANSITIONS).filter(|count| *count < 0) {
            let detail = "must be greater than or equal to 0";
            causes.push(Cause::invalid("spec.leaseTransitions", &json!(count), detail));
        }
        causes
    }

    fn returns_deleted(&self) -> bool {
        false
    }
}
