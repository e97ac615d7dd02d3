//! A raw client of the API server: any method, path and body, as any persona, and the reply as it came.
//!
//! It exists because typed clients hide what cases look at: codes, `Warning` headers, unknown fields.
//! It blocks; its runtime is its own. Not here: kubectl (`kubectl`), and the product's own client.

use std::fmt;
use std::time::Duration;

use hyper::header::{AUTHORIZATION, CONTENT_TYPE, WARNING};
use hyper::{Method, Request, Response, Uri};
use serde_json::Value;
use tokio::runtime::Runtime;

use super::certificates::TestCa;

/// How long one request may take. Admission may take 30 s by its own rules; more means a dead server.
const REQUEST_DEADLINE: Duration = Duration::from_secs(40);

/// A request body and its content type.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    content_type: &'static str,
    bytes: Vec<u8>,
}

impl Body {
    /// No body.
    pub(crate) fn none() -> Self {
        Self { content_type: "application/json", bytes: Vec::new() }
    }

    /// An object to create or to put, or the options of a delete.
    pub(crate) fn json(value: &Value) -> Self {
        Self::raw("application/json", value.to_string())
    }

    /// A merge patch (RFC 7396).
    pub(crate) fn merge_patch(value: &Value) -> Self {
        Self::raw("application/merge-patch+json", value.to_string())
    }

    /// Bytes as they are, under any content type: other patches, server-side apply, malformed bodies.
    pub(crate) fn raw(content_type: &'static str, bytes: impl Into<Vec<u8>>) -> Self {
        Self { content_type, bytes: bytes.into() }
    }
}

/// What the API server answered.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    /// The HTTP status.
    pub(crate) code: u16,
    /// The body, if it is JSON; else `null`.
    pub(crate) json: Value,
    /// The body as text.
    pub(crate) text: String,
    /// The texts of the `Warning` headers, in order.
    pub(crate) warnings: Vec<String>,
}

impl Reply {
    /// The JSON body of a reply with a 2xx code. Panics otherwise, with the server's words.
    #[track_caller]
    pub(crate) fn expect_ok(self) -> Value {
        assert!((200..300).contains(&self.code), "the API server rejected: {self}");
        self.json
    }

    /// The text of an error: `message` of the Status object. Panics on a reply with another code.
    #[track_caller]
    pub(crate) fn expect_denied(&self, code: u16) -> &str {
        assert_eq!(self.code, code, "another answer was expected: {self}");
        self.json["message"].as_str().unwrap_or(&self.text)
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.code, self.text.trim())
    }
}

/// The connection pool to one API server, and the runtime that drives it.
pub(crate) struct Api {
    runtime: Runtime,
    client: kube::Client,
    secret: String,
}

impl fmt::Debug for Api {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Api").finish_non_exhaustive()
    }
}

impl Api {
    /// A client of the server at `https://127.0.0.1:port`. It connects with the first request.
    pub(crate) fn new(port: u16, ca: &TestCa, secret: &str) -> Result<Self, String> {
        let failed = |error: &dyn fmt::Display| format!("cannot make a client: {error}");
        // Another plane of this process may have installed it: the provider is the same.
        drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(|error| failed(&error))?;
        let address: Uri =
            format!("https://127.0.0.1:{port}").parse().map_err(|error| failed(&error))?;
        let mut config = kube::Config::new(address);
        config.root_cert = Some(vec![ca.der.clone()]);
        // Another process on the port may accept and say nothing; loopback needs no longer, even under load.
        config.connect_timeout = Some(Duration::from_secs(10));
        // A case looks at each answer; a retry would hide the first.
        config.default_retry = false;
        let client = {
            let _inside = runtime.enter();
            kube::Client::try_from(config).map_err(|error| failed(&error))?
        };
        Ok(Self { runtime, client, secret: secret.to_owned() })
    }

    /// Sends one request and waits for the reply. The error is about the connection; a rejection is a reply.
    pub(crate) fn send(
        &self,
        persona: super::Persona,
        method: Method,
        path_and_query: &str,
        body: Body,
    ) -> Result<Reply, String> {
        let what = format!("{method} {path_and_query} as {}", persona.name);
        let request = Request::builder()
            .method(method)
            .uri(path_and_query)
            .header(AUTHORIZATION, format!("Bearer {}", persona.token(&self.secret)))
            .header(CONTENT_TYPE, body.content_type)
            .body(kube::client::Body::from(body.bytes))
            .map_err(|error| format!("{what}: {error}"))?;
        let exchange = async {
            let response = self.client.send(request).await.map_err(|error| error.to_string())?;
            read(response).await
        };
        self.runtime
            .block_on(async { tokio::time::timeout(REQUEST_DEADLINE, exchange).await })
            .unwrap_or_else(|_| Err(format!("no answer within {REQUEST_DEADLINE:?}")))
            .map_err(|error| format!("{what}: {error}"))
    }
}

async fn read(response: Response<kube::client::Body>) -> Result<Reply, String> {
    let (head, body) = response.into_parts();
    let bytes = body.collect_bytes().await.map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let warnings = head.headers.get_all(WARNING).iter();
    Ok(Reply {
        code: head.status.as_u16(),
        json: serde_json::from_str(&text).unwrap_or(Value::Null),
        text,
        warnings: warnings
            .map(|value| warning_text(&String::from_utf8_lossy(value.as_bytes())))
            .collect(),
    })
}

/// The text of a `Warning` header, `299 - "text"`, in which `\` escapes. Kubernetes sends one header per
/// warning. Anything else is handed out as it is, so that no case overlooks it.
fn warning_text(header: &str) -> String {
    let Some(quoted) = header.strip_prefix("299 - \"").and_then(|rest| rest.strip_suffix('"'))
    else {
        return header.to_owned();
    };
    let mut text = String::new();
    let mut letters = quoted.chars();
    while let Some(letter) = letters.next() {
        text.extend(if letter == '\\' { letters.next() } else { Some(letter) });
    }
    text
}
