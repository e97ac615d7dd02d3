//! How many requests wrote to volumes and claims, by the API server's own count.

use hyper::Method;

use crate::plane::{Body, Plane, persona};

/// Requests so far that changed volumes or claims, rejected ones included; creations are not counted.
pub(crate) fn count(plane: &Plane) -> Result<f64, String> {
    let reply = plane.try_request(persona::ADMIN, Method::GET, "/metrics", Body::none())?;
    if reply.code != 200 {
        return Err(format!("no metrics of the API server: {}", reply.code));
    }
    let lines = reply.text.lines().filter(|line| line.starts_with("apiserver_request_total{"));
    let has = |line: &str, label: &str, values: &[&str]| {
        values.iter().any(|value| line.contains(&format!("{label}=\"{value}\"")))
    };
    let changes = lines.filter(|line| {
        has(line, "verb", &["PUT", "PATCH", "APPLY"])
            && has(line, ",resource", &["persistentvolumes", "persistentvolumeclaims"])
    });
    let counts = changes.map(|line| {
        let figure = line.rsplit(' ').next().unwrap_or_default();
        figure.parse::<f64>().map_err(|error| format!("{line}: {error}"))
    });
    counts.sum()
}
