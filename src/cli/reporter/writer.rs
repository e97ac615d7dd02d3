//! Policy reports in the cluster: which API it has, and the writes that make its reports those of a scan.
//!
//! Only reports with our name and label are touched. Each is compared with what is stored, so that a cluster without news
//! has no writes. Not here: what reports say (`policy_report`).

use std::collections::BTreeMap;
use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use kube::core::Status;
use serde::Deserialize;
use serde_json::{Value, json};

use super::policy_report::{PolicyReport, SOURCE};
use crate::client::request::{
    RequestError, escaped, forced_apply_request, is_absent, request, send_text,
};

/// The name of all our reports.
pub(super) const NAME: &str = "bindery-scan";

/// The label of all our reports, and its value.
const LABEL: (&str, &str) = ("app.kubernetes.io/managed-by", "bindery");

/// How long one request may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Reports of a page of a list: at most 25 MiB at a time.
const PAGE_COUNT: usize = 50;

/// An API of policy reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReportApi {
    /// Its group and version.
    pub(super) version: &'static str,
    /// The resource and the kind of reports on a Namespace.
    namespaced: (&'static str, &'static str),
    /// The same of the report on the cluster.
    cluster: (&'static str, &'static str),
    /// Whether a report names its source besides its results.
    has_source: bool,
}

/// Both APIs; the first that is installed is used.
pub(super) const APIS: [ReportApi; 2] = [
    ReportApi {
        version: "openreports.io/v1alpha1",
        namespaced: ("reports", "Report"),
        cluster: ("clusterreports", "ClusterReport"),
        has_source: true,
    },
    ReportApi {
        version: "wgpolicyk8s.io/v1alpha2",
        namespaced: ("policyreports", "PolicyReport"),
        cluster: ("clusterpolicyreports", "ClusterPolicyReport"),
        has_source: false,
    },
];

/// What was changed in a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ReportChanges {
    /// Reports that were written.
    pub(super) applied: u64,
    /// Reports that were deleted.
    pub(super) deleted: u64,
    /// Reports that say what they said.
    pub(super) unchanged: u64,
    /// Reports that were not written.
    pub(super) not_applied: u64,
    /// Reports that were not deleted.
    pub(super) not_deleted: u64,
    /// Why the first of these failed.
    pub(super) first_failure: Option<String>,
}

/// A write of a report.
#[derive(Clone, Copy, Debug)]
enum Write {
    Apply,
    Delete,
}

/// The APIs that a cluster serves.
pub(super) async fn installed(client: &Client) -> Result<Vec<ReportApi>, RequestError> {
    let mut found = Vec::new();
    for api in APIS {
        let path = format!("/apis/{}", api.version);
        match send_text(client, request(Method::GET, &path, None), TIMEOUT).await {
            Ok(text) if [api.namespaced, api.cluster].iter().all(|kind| serves(&text, kind.0)) => {
                found.push(api);
            }
            Ok(_) => {}
            Err(error) if error.status().is_some_and(|status| status.code == 404) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Returns whether an `APIResourceList` (JSON) names a resource.
fn serves(list: &str, resource: &str) -> bool {
    let list: Value = serde_json::from_str(list).unwrap_or_default();
    let mut resources = list["resources"].as_array().into_iter().flatten();
    resources.any(|served| served["name"] == resource)
}

/// Makes our reports of `api` those of `wanted`, and deletes the others.
pub(super) async fn write_reports(
    client: &Client,
    api: ReportApi,
    mut wanted: BTreeMap<Option<String>, PolicyReport>,
) -> Result<ReportChanges, RequestError> {
    let mut changes = ReportChanges::default();
    for (resource, _) in [api.namespaced, api.cluster] {
        compare(client, (api, resource), &mut wanted, &mut changes).await?;
    }
    for (namespace, report) in wanted {
        let namespace = namespace.as_deref();
        let object = object(api, namespace, &report);
        let sent = forced_apply_request(NAME, &path(api, namespace), &object);
        let sent = send_text(client, sent, TIMEOUT).await;
        changes.count(sent, namespace, Write::Apply)?;
    }
    Ok(changes)
}

/// Compares what is stored with what is wanted: reports that agree are wanted no more, those that are not wanted are
/// deleted.
async fn compare(
    client: &Client,
    (api, resource): (ReportApi, &str),
    wanted: &mut BTreeMap<Option<String>, PolicyReport>,
    changes: &mut ReportChanges,
) -> Result<(), RequestError> {
    let (version, (label, value)) = (api.version, LABEL);
    let selector = escaped(&format!("{label}={value}"));
    let list = format!("/apis/{version}/{resource}?labelSelector={selector}&limit={PAGE_COUNT}");
    let mut uri = list.clone();
    loop {
        let text = send_text(client, Request::get(&uri).body(Vec::new()), TIMEOUT).await?;
        // One that says nothing that can be read is written anew.
        let page: ReportPage = serde_json::from_str(&text).unwrap_or_default();
        for item in page.items {
            let stored = StoredReport::deserialize(&item["metadata"]).unwrap_or_default();
            if stored.name != NAME {
                continue;
            }
            let said = PolicyReport::deserialize(&item).unwrap_or_default();
            let Some(report) = wanted.get_mut(&stored.namespace) else {
                let path = path(api, stored.namespace.as_deref());
                let sent = delete(client, &path, &stored.uid).await;
                changes.count(sent, stored.namespace.as_deref(), Write::Delete)?;
                continue;
            };
            report.keep_times(&said);
            if (&report.summary, &report.results) == (&said.summary, &said.results) {
                wanted.remove(&stored.namespace);
                changes.unchanged += 1;
            }
        }
        if page.metadata.next.is_empty() {
            return Ok(());
        }
        uri = format!("{list}&continue={}", escaped(&page.metadata.next));
    }
}

async fn delete(client: &Client, path: &str, uid: &str) -> Result<String, RequestError> {
    let body = json!({"preconditions": {"uid": uid}});
    send_text(client, request(Method::DELETE, path, Some(&body)), TIMEOUT).await
}

/// A page of a list of reports.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ReportPage {
    metadata: PageMetadata,
    items: Vec<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PageMetadata {
    #[serde(rename = "continue")]
    next: String,
}

/// What identifies a stored report.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StoredReport {
    name: String,
    namespace: Option<String>,
    uid: String,
}

impl ReportChanges {
    /// Counts a write by what became of it. A cluster that cannot be reached ends the scan; a denial concerns one report.
    fn count(
        &mut self,
        sent: Result<String, RequestError>,
        namespace: Option<&str>,
        write: Write,
    ) -> Result<(), RequestError> {
        let (made, failed) = match write {
            Write::Apply => (&mut self.applied, &mut self.not_applied),
            Write::Delete => (&mut self.deleted, &mut self.not_deleted),
        };
        match sent {
            Ok(_) => *made += 1,
            Err(error) => match error.status() {
                Some(status) if is_gone(status) => {}
                Some(status) => {
                    *failed += 1;
                    let place = namespace.map_or_else(
                        || "the report on the cluster".to_owned(),
                        |namespace| format!("the report on Namespace {namespace:?}"),
                    );
                    let message = status.message.trim_end_matches('.');
                    self.first_failure.get_or_insert_with(|| format!("{place}: {message}"));
                }
                None => return Err(error),
            },
        }
        Ok(())
    }
}

/// Returns whether the report or its Namespace is gone, or goes.
///
/// Kubernetes: `plugin/namespace/lifecycle/admission.go` denies what is created in a Namespace that is deleted.
fn is_gone(status: &Status) -> bool {
    is_absent(status) || (status.code == 403 && status.message.contains("is being terminated"))
}

fn path(api: ReportApi, namespace: Option<&str>) -> String {
    let version = api.version;
    match namespace {
        Some(namespace) => {
            let (resource, _) = api.namespaced;
            format!("/apis/{version}/namespaces/{}/{resource}/{NAME}", escaped(namespace))
        }
        None => format!("/apis/{version}/{}/{NAME}", api.cluster.0),
    }
}

/// The report as it is applied.
fn object(api: ReportApi, namespace: Option<&str>, report: &PolicyReport) -> Value {
    let (_, kind) = if namespace.is_some() { api.namespaced } else { api.cluster };
    let (label, value) = LABEL;
    let mut object = json!({
        "apiVersion": api.version,
        "kind": kind,
        "metadata": {"name": NAME, "labels": {label: value}},
        "summary": report.summary,
        "results": report.results,
    });
    if let Some(namespace) = namespace {
        object["metadata"]["namespace"] = json!(namespace);
        object["scope"] = json!({"apiVersion": "v1", "kind": "Namespace", "name": namespace});
    }
    if api.has_source {
        object["source"] = json!(SOURCE);
    }
    object
}
