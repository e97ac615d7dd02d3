//! Live reads that are lists: the pods of a claim, a node that can be reached, the default class.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::reader::{AnswerText, LiveReader, decoded};
use super::text::{Missing, whole};
use crate::api::class::class;
use crate::api::list::items;
use crate::api::pods::{PodPage, pod_page, users_page};
use crate::binding::{Observed, PodUse, ReadResult, View};
use crate::client::request::escaped;
use crate::model::{ClaimKey, Class, NodeTerm, Pod};

/// Pods on one page of a list: a pod has some 10 KiB, and a namespace may hold thousands.
const PODS_COUNT_MAX: usize = 50;

/// Bytes of a page of several pods. 2 MiB: 50 pods of 40 KiB. Where they are larger fewer are asked for.
const PAGE_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Returns whether pods use the claim.
pub(super) async fn pod_use(reader: &LiveReader, key: &ClaimKey) -> ReadResult<PodUse> {
    let until_used = |page: &str| {
        Ok(match pod_page(page, key)? {
            PodPage::Used => ControlFlow::Break(PodUse::Used),
            PodPage::End => ControlFlow::Break(PodUse::Unused),
            PodPage::More(next) => ControlFlow::Continue(next),
        })
    };
    pods(reader, key, until_used).await
}

/// All pods that use the claim and have not finished.
pub(super) async fn live_pods(reader: &LiveReader, key: &ClaimKey) -> ReadResult<Vec<Pod>> {
    let mut users = Vec::new();
    let all = |page: &str| {
        let page = users_page(page, key)?;
        users.extend(page.users);
        Ok(page
            .next
            .map_or_else(|| ControlFlow::Break(std::mem::take(&mut users)), ControlFlow::Continue))
    };
    pods(reader, key, all).await
}

/// Pages through the pods of the claim's namespace until `take` has what it wants; else it names the next page.
async fn pods<T>(
    reader: &LiveReader,
    key: &ClaimKey,
    mut take: impl FnMut(&str) -> Result<ControlFlow<T, String>, serde_json::Error>,
) -> ReadResult<T> {
    let permit = reader.limits.lists.of_namespace(&key.namespace).await;
    let space = escaped(&key.namespace);
    let (mut token, mut count) = (String::new(), PODS_COUNT_MAX);
    loop {
        let _page = permit.acquire().await;
        let path = format!("/api/v1/namespaces/{space}/pods?limit={count}&continue={token}");
        let text = match whole(&reader.client, &path, PAGE_BYTES_MAX).await {
            Ok(text) => Ok(AnswerText::from(text)),
            Err(Missing::TooLong) if count > 1 => {
                count /= 7;
                continue;
            }
            // One pod that is larger than a page takes the permit of a large object.
            Err(Missing::TooLong) => reader.fetch(&key.namespace, &path).await,
            Err(missing) => Err(missing),
        };
        // A list is never absent: that it is not found says nothing.
        let text = match text {
            Ok(text) => text,
            Err(missing) => return missing.failed(),
        };
        match take(&text) {
            Ok(ControlFlow::Break(found)) => return ReadResult::Found(Arc::new(found)),
            Ok(ControlFlow::Continue(next)) => token = next,
            Err(error) => {
                tracing::warn!(%error, "the API server sent pods that cannot be read");
                return ReadResult::Failed;
            }
        }
    }
}

/// Returns whether there is a node that the term admits.
pub(super) async fn any_node(reader: &LiveReader, term: &NodeTerm) -> ReadResult<()> {
    let Some(query) = term.query() else { return ReadResult::NotFound };
    let (labels, fields) = (escaped(&query.labels), escaped(&query.fields));
    let path = format!("/api/v1/nodes?limit=1&labelSelector={labels}&fieldSelector={fields}");
    match reader.fetch("", &path).await {
        Ok(text) => match items(&text) {
            Ok(nodes) if nodes.is_empty() => ReadResult::NotFound,
            Ok(_) => ReadResult::Found(Arc::new(())),
            Err(error) => decoded(Err(error)),
        },
        Err(missing) => missing.failed(),
    }
}

/// The class that claims without a class get.
pub(super) async fn default_class(reader: &LiveReader) -> ReadResult<Class> {
    let text = match reader.fetch("", "/apis/storage.k8s.io/v1/storageclasses").await {
        Ok(text) => text,
        Err(missing) => return missing.failed(),
    };
    let classes = items(&text).and_then(|items| items.into_iter().map(class).collect());
    let classes: Vec<Class> = match classes {
        Ok(classes) => classes,
        Err(error) => return decoded(Err(error)),
    };
    let mut view = View::default();
    for class in classes {
        view.apply(Observed::Class(Arc::new(class)));
    }
    let found = view.default_class().map(Arc::clone);
    found.map_or(ReadResult::NotFound, ReadResult::Found)
}
