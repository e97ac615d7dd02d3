//! The requests of exports and imports, and what the API server says of a request before it is made.

use std::collections::BTreeMap;

use http::Method;
use serde_json::{Value, json};

use super::error::MoveError;
use super::requests::{
    FIELD_MANAGER, MoveRequests, StoredClaim, VOLUMES, Written, claim_text, claims_path, failed,
    unreadable, volume_text, written,
};
use crate::api::claim::claim;
use crate::api::moves::is_denied_by;
use crate::api::node::node;
use crate::api::pods::any_pod;
use crate::client::request::escaped;
use crate::model::{ClaimKey, Node, VolumeName};

impl MoveRequests {
    /// Returns the claims of a namespace.
    ///
    /// # Errors
    ///
    /// The list failed, or a claim cannot be read.
    pub async fn claims(&self, namespace: &str) -> Result<Vec<StoredClaim>, MoveError> {
        let path = format!("/api/v1/namespaces/{}/persistentvolumeclaims", escaped(namespace));
        let mut claims = Vec::new();
        let take = |text: &str| {
            let claim = claim(text, "")?;
            claims.push(StoredClaim { object: serde_json::from_str(text)?, claim });
            Ok(())
        };
        self.list(&path, &format!("the PVCs of Namespace {namespace:?}"), take).await?;
        Ok(claims)
    }

    /// Returns the pods of a namespace by the names of the claims that they name, finished or not.
    ///
    /// # Errors
    ///
    /// The list failed, or a pod cannot be read: which pods use a claim is then not known.
    pub async fn users_in(
        &self,
        namespace: &str,
    ) -> Result<BTreeMap<Box<str>, Vec<Box<str>>>, MoveError> {
        let path = format!("/api/v1/namespaces/{}/pods", escaped(namespace));
        let mut users: BTreeMap<Box<str>, Vec<Box<str>>> = BTreeMap::new();
        let take = |text: &str| {
            let pod = any_pod(text)?;
            for claim in &pod.claims {
                users.entry((&*claim.name).into()).or_default().push((&*pod.key.name).into());
            }
            Ok(())
        };
        self.list(&path, &format!("the pods of Namespace {namespace:?}"), take).await?;
        Ok(users)
    }

    /// Returns all objects of a resource of `storage.k8s.io/v1`, such as `storageclasses`.
    ///
    /// # Errors
    ///
    /// The list failed.
    pub async fn storage_objects(&self, resource: &str) -> Result<Vec<Value>, MoveError> {
        let mut objects = Vec::new();
        let take = |text: &str| {
            objects.push(serde_json::from_str(text)?);
            Ok(())
        };
        let path = format!("/apis/storage.k8s.io/v1/{resource}");
        self.list(&path, &format!("the {resource}"), take).await?;
        Ok(objects)
    }

    /// Returns all nodes.
    ///
    /// # Errors
    ///
    /// The list failed, or a node cannot be read: whether one can reach a volume is then not known.
    pub async fn nodes(&self) -> Result<Vec<Node>, MoveError> {
        let mut nodes = Vec::new();
        let take = |text: &str| {
            nodes.push(node(text)?);
            Ok(())
        };
        self.list("/api/v1/nodes", "the nodes", take).await?;
        Ok(nodes)
    }

    /// Creates a volume.
    ///
    /// # Errors
    ///
    /// It was rejected, or its outcome is unknown.
    pub async fn create_volume(
        &self,
        name: &VolumeName,
        manifest: &Value,
    ) -> Result<Written, MoveError> {
        let path = format!("{VOLUMES}?fieldManager={FIELD_MANAGER}");
        let sent = self.send(Method::POST, &path, Some(manifest)).await;
        written(sent, || format!("the creation of {}", volume_text(name)))
    }

    /// Returns why the API server would not create a volume; nothing if it would.
    ///
    /// # Errors
    ///
    /// There was no answer.
    pub async fn volume_denial(
        &self,
        name: &VolumeName,
        manifest: &Value,
    ) -> Result<Option<String>, MoveError> {
        let path = format!("{VOLUMES}?dryRun=All");
        match self.send(Method::POST, &path, Some(manifest)).await {
            Ok(_) => Ok(None),
            Err(error) => match failed(volume_text(name), error) {
                MoveError::Rejected { reason, .. } => Ok(Some(reason)),
                error @ (MoveError::Request { .. }
                | MoveError::Unreadable { .. }
                | MoveError::Journal { .. }
                | MoveError::VolumeGone(_)) => Err(error),
            },
        }
    }

    /// Returns why the API server would not create a claim that names a volume; nothing if it would. `rule` is one of ours that
    /// may deny it at present, and will not when it is created.
    ///
    /// # Errors
    ///
    /// There was no answer.
    pub async fn creation_denial(
        &self,
        key: &ClaimKey,
        manifest: &Value,
        rule: Option<&str>,
    ) -> Result<Option<String>, MoveError> {
        let Some(denial) = self.claim_denial(key, manifest).await? else { return Ok(None) };
        if !rule.is_some_and(|rule| is_denied_by(&denial, rule)) {
            return Ok(Some(denial));
        }
        // What comes after webhooks, such as a quota, was not asked.
        let mut without_volume = manifest.clone();
        without_volume["spec"]["volumeName"] = Value::Null;
        self.claim_denial(key, &without_volume).await
    }

    async fn claim_denial(
        &self,
        key: &ClaimKey,
        manifest: &Value,
    ) -> Result<Option<String>, MoveError> {
        let path = format!("{}?dryRun=All", claims_path(&key.namespace));
        match self.send(Method::POST, &path, Some(manifest)).await {
            Ok(_) => Ok(None),
            Err(error) => match failed(claim_text(key), error) {
                MoveError::Rejected { reason, .. } => Ok(Some(reason)),
                error @ (MoveError::Request { .. }
                | MoveError::Unreadable { .. }
                | MoveError::Journal { .. }
                | MoveError::VolumeGone(_)) => Err(error),
            },
        }
    }

    /// Returns the account of these requests as `userInfo`, as a `SelfSubjectReview` answers it.
    ///
    /// # Errors
    ///
    /// There was no answer.
    pub async fn user_info(&self) -> Result<Value, MoveError> {
        let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
        let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
        let what = "the name of this account";
        let answer = self.send(Method::POST, path, Some(&review)).await;
        let answer = answer.map_err(|error| failed(what.to_owned(), error))?;
        let mut answer: Value = serde_json::from_str(&answer).map_err(unreadable(what))?;
        Ok(answer["status"]["userInfo"].take())
    }
}

/// The text of a storage object's name.
pub(super) fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}
