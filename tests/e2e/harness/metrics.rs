//! The metrics of a process of ours, as a scrape returns them.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

/// The metrics of the process with this log: it says where they are. None while it starts.
pub(crate) fn scrape(log: &str) -> String {
    let address = log.lines().find_map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).ok()?;
        line["health"].as_str().map(str::to_owned)
    });
    let mut text = String::new();
    if let Some(mut stream) = address.and_then(|address| TcpStream::connect(address).ok()) {
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").unwrap();
        stream.read_to_string(&mut text).unwrap();
    }
    text
}

/// The sum of the series of a metric that have all these labels.
pub(crate) fn sum(metrics: &str, name: &str, labels: &[&str]) -> u64 {
    let of_it = |line: &&str| {
        let rest = line.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with(['{', ' ']))
            && labels.iter().all(|label| line.contains(label))
    };
    let values = metrics.lines().filter(of_it).filter_map(|line| line.rsplit(' ').next());
    values.filter_map(|value| value.parse::<u64>().ok()).sum()
}
