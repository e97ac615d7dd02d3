//! A server with the PVs of a cluster, for reports that read nothing else.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use serde_json::{Value, json};

/// Answers every list of PVs with these, until the process ends. Returns the kubeconfig of it.
pub(crate) fn serve(volumes: &[Value]) -> String {
    let list = json!({"apiVersion": "v1", "kind": "PersistentVolumeList",
        "metadata": {"resourceVersion": "1"}, "items": volumes});
    let list = list.to_string();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            answer(stream.expect("a connection"), &list);
        }
    });
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "clusters": [{"name": "a", "cluster": {"server": format!("http://127.0.0.1:{port}")}}],
        "users": [{"name": "a", "user": {}}],
    })
    .to_string()
}

fn answer(mut stream: TcpStream, list: &str) {
    let mut lines = BufReader::new(stream.try_clone().expect("a socket")).lines();
    let first = lines.next().expect("a request").expect("text");
    while lines.next().is_some_and(|line| !line.expect("text").is_empty()) {}
    let is_list = first.starts_with("GET /api/v1/persistentvolumes");
    let (code, body) = if is_list { ("200 OK", list) } else { ("404 Not Found", "{}") };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {code}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    // A client that has gone needs no answer.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
}
