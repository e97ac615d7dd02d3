//! Metrics that every server has: its version, and the `process_` metrics of Prometheus' client libraries.

use prometheus::process_collector::ProcessCollector;
use prometheus::{IntGauge, Opts, Registry};

use super::registry::{MetricRow, register};

/// What both processes are.
pub const BUILD: MetricRow = MetricRow {
    name: "bindery_build_info",
    kind: "IntGauge",
    labels: &["version"],
    help: "A metric with a constant value of 1, labeled by the version of the binary.",
};

/// Registers them.
pub fn register_process(registry: &Registry) -> Result<(), prometheus::Error> {
    let info = Opts::new(BUILD.name, BUILD.help);
    let info = IntGauge::with_opts(info.const_label("version", env!("CARGO_PKG_VERSION")))?;
    info.set(1);
    register(registry, info)?;
    registry.register(Box::new(ProcessCollector::for_self()))
}
