//! The volumes of a pod, as a kubelet fills them: every object in a folder of files that is swapped as a whole
//! (`..data`) when the object changes.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::Method;
use serde_json::{Value, json};

use crate::plane::persona::ADMIN;
use crate::plane::{Body, Plane};

/// One volume and the files that are in it now.
pub(super) struct Volume {
    folder: PathBuf,
    spec: Value,
    files: BTreeMap<String, Vec<u8>>,
    generation: u32,
    /// What is to be mounted, and since when that is known.
    news: Option<(BTreeMap<String, Vec<u8>>, Instant)>,
    /// The token that was issued last.
    token: Option<(String, Instant)>,
}

/// How long a token is used before the next is asked for.
const TOKEN_LIFETIME: Duration = Duration::from_mins(10);

/// Who a pod is, for its volumes.
pub(super) struct Owner<'a> {
    pub(super) plane: &'a Plane,
    pub(super) namespace: &'a str,
    pub(super) account: &'a str,
}

impl Volume {
    /// A volume of a pod's spec, in a folder of its own.
    pub(super) fn new(folder: PathBuf, spec: &Value) -> Result<Self, String> {
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self {
            folder,
            spec: spec.clone(),
            files: BTreeMap::new(),
            generation: 0,
            news: None,
            token: None,
        })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Looks whether its objects have changed; what has is mounted `after` a while, at first at once.
    pub(super) fn look(&mut self, owner: &Owner<'_>, after: Duration) -> Result<(), String> {
        // Nothing serves files here: an empty folder stands for a share.
        if self.spec["emptyDir"].is_object() || self.spec["nfs"].is_object() {
            return Ok(());
        }
        let wanted = self.wanted(owner)?;
        if wanted == self.files {
            self.news = None;
        } else if self.news.as_ref().is_none_or(|(known, _)| *known != wanted) {
            self.news = Some((wanted, Instant::now()));
        }
        let is_first = self.generation == 0;
        if let Some((files, _)) =
            self.news.take_if(|(_, since)| is_first || since.elapsed() >= after)
        {
            self.swap(files)?;
        }
        Ok(())
    }

    fn wanted(&mut self, owner: &Owner<'_>) -> Result<BTreeMap<String, Vec<u8>>, String> {
        let spec = self.spec.clone();
        if let Some(sources) = spec.pointer("/projected/sources").and_then(Value::as_array) {
            let mut files = BTreeMap::new();
            for source in sources {
                files.extend(self.source(source, owner)?);
            }
            return Ok(files);
        }
        self.source(&spec, owner)
    }

    fn source(
        &mut self,
        source: &Value,
        owner: &Owner<'_>,
    ) -> Result<BTreeMap<String, Vec<u8>>, String> {
        let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
        if let token @ Value::Object(_) = &source["serviceAccountToken"] {
            let seconds = token["expirationSeconds"].as_i64().unwrap_or(3600);
            return Ok([(text(token, "path"), self.token(seconds, owner)?.into_bytes())].into());
        }
        if let items @ Value::Array(_) = &source["downwardAPI"]["items"] {
            // The only field that an account's volume asks for.
            let files = items.as_array().into_iter().flatten();
            return Ok(files.map(|item| (text(item, "path"), owner.namespace.into())).collect());
        }
        let (map, kind, name) = match (&source["configMap"], &source["secret"]) {
            (map @ Value::Object(_), _) => (map, "configmaps", text(map, "name")),
            (_, map @ Value::Object(_)) => {
                let name = if map["name"].is_string() { "name" } else { "secretName" };
                (map, "secrets", text(map, name))
            }
            _ => return Err(format!("a volume of an unknown kind: {source}")),
        };
        let path = format!("/api/v1/namespaces/{}/{kind}/{name}", owner.namespace);
        let reply = owner.plane.try_request(ADMIN, Method::GET, &path, Body::none())?;
        if reply.code != 200 {
            return Err(reply.to_string());
        }
        let of = |key: &str| reply.json[key].as_object().cloned().unwrap_or_default().into_iter();
        let bytes = |(key, value): (String, Value)| {
            let text = value.as_str().unwrap_or_default();
            let is_plain = kind == "configmaps";
            let bytes =
                if is_plain { text.into() } else { STANDARD.decode(text).unwrap_or_default() };
            (key, bytes)
        };
        let files: BTreeMap<String, Vec<u8>> = of("data").map(bytes).collect();
        Ok(match map["items"].as_array() {
            None => files,
            Some(items) => items
                .iter()
                .filter_map(|item| {
                    Some((text(item, "path"), files.get(&text(item, "key"))?.clone()))
                })
                .collect(),
        })
    }

    fn token(&mut self, seconds: i64, owner: &Owner<'_>) -> Result<String, String> {
        if let Some((token, _)) =
            self.token.as_ref().filter(|(_, at)| at.elapsed() < TOKEN_LIFETIME)
        {
            return Ok(token.clone());
        }
        let request = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"audiences": [], "expirationSeconds": seconds},
        });
        let path = format!(
            "/api/v1/namespaces/{}/serviceaccounts/{}/token",
            owner.namespace, owner.account
        );
        let reply = owner.plane.try_request(ADMIN, Method::POST, &path, Body::json(&request))?;
        let token = reply.json.pointer("/status/token").and_then(Value::as_str);
        let token = token.ok_or_else(|| reply.to_string())?.to_owned();
        self.token = Some((token.clone(), Instant::now()));
        Ok(token)
    }

    /// Puts all files in the place of the former ones at once.
    fn swap(&mut self, files: BTreeMap<String, Vec<u8>>) -> Result<(), String> {
        let reported = |error: std::io::Error| format!("{}: {error}", self.folder.display());
        self.generation += 1;
        let name = format!("..{}", self.generation);
        let folder = self.folder.join(&name);
        fs::create_dir(&folder).map_err(reported)?;
        for (file, bytes) in &files {
            fs::write(folder.join(file), bytes).map_err(reported)?;
            let link = self.folder.join(file);
            if link.symlink_metadata().is_err() {
                symlink(Path::new("..data").join(file), link).map_err(reported)?;
            }
        }
        symlink(&name, self.folder.join("..data_tmp")).map_err(reported)?;
        fs::rename(self.folder.join("..data_tmp"), self.folder.join("..data")).map_err(reported)?;
        for former in self.files.keys().filter(|file| !files.contains_key(*file)) {
            fs::remove_file(self.folder.join(former)).map_err(reported)?;
        }
        self.files = files;
        Ok(())
    }
}
