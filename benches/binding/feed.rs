//! An API server that has objects and never changes: it answers watches with everything there is, and
//! rejects the rest.
//!
//! It exists because a real one takes minutes to be given 200,000 objects. Plain HTTP on a loopback port,
//! so that what is measured is the real process with its real client. Not here: the objects.

use std::fmt::Write as _;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::{Value, json};

/// Objects per resource, made as they are sent: number and version to object.
pub(crate) type Objects = fn(usize) -> Value;

/// A feed that serves until this process ends.
#[derive(Debug)]
pub(crate) struct Feed {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    count: usize,
    volumes: Objects,
    claims: Objects,
    /// Watches of volumes and of claims to which everything was sent.
    complete: AtomicUsize,
    /// What was asked besides.
    denied: Mutex<Vec<String>>,
}

impl Feed {
    /// Serves `count` volumes and as many claims.
    pub(crate) fn start(count: usize, volumes: Objects, claims: Objects) -> Result<Self, String> {
        let failed = |error: io::Error| format!("no feed: {error}");
        let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let (complete, denied) = (AtomicUsize::new(0), Mutex::default());
        let shared = Arc::new(Shared { count, volumes, claims, complete, denied });
        let serving = Arc::clone(&shared);
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let shared = Arc::clone(&serving);
                // A client that goes away is the end of its connection and no more.
                thread::spawn(move || drop(shared.serve(&connection)));
            }
        });
        Ok(Self { port, shared })
    }

    /// The kubeconfig for it.
    pub(crate) fn kubeconfig(&self) -> String {
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "feed",
            "clusters": [{"name": "feed",
                "cluster": {"server": format!("http://127.0.0.1:{}", self.port)}}],
            "users": [{"name": "forged", "user": {}}],
            "contexts": [{"name": "feed", "context": {"cluster": "feed", "user": "forged"}}],
        })
        .to_string()
    }

    /// Returns whether a watch of volumes and one of claims have seen everything.
    pub(crate) fn is_complete(&self) -> bool {
        self.shared.complete.load(Ordering::Acquire) >= 2
    }

    /// Returns what was asked that is no watch.
    pub(crate) fn denied(&self) -> Vec<String> {
        self.shared.denied.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Shared {
    fn serve(&self, connection: &TcpStream) -> io::Result<()> {
        connection.set_nodelay(true)?;
        let mut reader = BufReader::new(connection);
        let mut request = String::new();
        while reader.read_line(&mut request)? > 2 {}
        let line = request.lines().next().unwrap_or_default();
        let is_watch = line.starts_with("GET ") && line.contains("watch=true");
        if !is_watch {
            self.denied.lock().unwrap_or_else(PoisonError::into_inner).push(line.to_owned());
            let mut connection = connection;
            return connection.write_all(
                b"HTTP/1.1 501 Not Implemented\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            );
        }
        let (count, object): (usize, Objects) = if line.contains("/persistentvolumes") {
            (self.count, self.volumes)
        } else if line.contains("/persistentvolumeclaims") {
            (self.count, self.claims)
        } else {
            (0, self.volumes)
        };
        stream(connection, count, object)?;
        if count > 0 {
            self.complete.fetch_add(1, Ordering::Release);
        }
        // Silence until the client leaves.
        reader.read_line(&mut request).map(drop)
    }
}

/// Sends all that there is.
fn stream(mut connection: &TcpStream, count: usize, object: Objects) -> io::Result<()> {
    connection.write_all(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
    )?;
    let mut chunk = String::new();
    let mut event = |kind: &str, object: &Value, flush: bool| -> io::Result<()> {
        // Writing to a text cannot fail.
        let _ = writeln!(chunk, "{}", json!({"type": kind, "object": object}));
        if flush || chunk.len() > 32 * 1024 {
            write!(connection, "{:x}\r\n{chunk}\r\n", chunk.len())?;
            chunk.clear();
        }
        Ok(())
    };
    for number in 0..count {
        event("ADDED", &object(number), false)?;
    }
    let end = json!({"metadata": {"resourceVersion": "900000",
        "annotations": {"k8s.io/initial-events-end": "true"}}});
    event("BOOKMARK", &end, true)
}
