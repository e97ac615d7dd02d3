//! Metrics of the local static provisioner: those of sig-storage-local-static-provisioner under its names, and our own.

use prometheus::{
    CounterVec, GaugeVec, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Registry,
};

use crate::telemetry::configuration::ConfigurationMetrics;
use crate::telemetry::connections::ConnectionMetrics;
use crate::telemetry::process::{BUILD, register_process};
use crate::telemetry::registry::{MetricRow, metric_table};

/// Bounds of durations of discovery and of requests, in seconds.
const SHORT_BOUNDS: [f64; 10] = [0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0];

/// Bounds of the duration of a cleaning, in seconds: a second for an empty file system, a day for a large disk.
const CLEANING_BOUNDS: [f64; 10] =
    [1.0, 5.0, 10.0, 60.0, 300.0, 900.0, 3_600.0, 14_400.0, 43_200.0, 86_400.0];

metric_table! {
    /// The metrics of requests to the API server.
    #[derive(Clone, Debug)]
    pub struct RequestMetrics {
        /// Requests to the API server, by method.
        pub(super) sent: IntCounterVec = "local_volume_provisioner_apiserver_requests_total" ["method"],
        /// Requests to the API server that failed, by method.
        pub(super) failed: IntCounterVec = "local_volume_provisioner_apiserver_requests_failed_total" ["method"],
        /// Seconds of a request to the API server, by method.
        pub(super) duration: HistogramVec =
            "local_volume_provisioner_apiserver_requests_duration_seconds" ["method"] in SHORT_BOUNDS,
    }
}

metric_table! {
    /// All metrics of the process.
    #[derive(Debug)]
    pub struct LocalMetrics {
        /// Bytes of the disks that were found, by volume mode.
        pub capacity: GaugeVec = "local_volume_provisioner_persistentvolume_capacity_bytes" ["mode"],
        /// PersistentVolumes created.
        pub discovered: IntCounterVec = "local_volume_provisioner_persistentvolume_discovery_total" ["mode"],
        /// Seconds from the first scan that found a disk to its PersistentVolume.
        pub discovery_duration: HistogramVec =
            "local_volume_provisioner_persistentvolume_discovery_duration_seconds" ["mode"] in SHORT_BOUNDS,
        /// PersistentVolumes deleted after their disk was cleaned.
        pub deleted: IntCounterVec = "local_volume_provisioner_persistentvolume_delete_total" ["mode", "type"],
        /// Cleanings that failed.
        pub delete_failed: IntCounterVec =
            "local_volume_provisioner_persistentvolume_delete_failed_total" ["mode", "type"],
        /// Seconds of a cleaning.
        pub delete_duration: HistogramVec =
            "local_volume_provisioner_persistentvolume_delete_duration_seconds"
            ["mode", "type", "capacity", "cleanup_command"] in CLEANING_BOUNDS,
        /// Cleanings under way in this process; those of Jobs are disks in the state `cleaned_by_job`.
        pub cleaning: IntGauge = "local_volume_provisioner_proctable_running",
        /// Bytes that the cleanings under way in this process have removed so far.
        pub cleaning_bytes: GaugeVec = "bindery_local_cleaning_bytes" ["persistentvolume"],
        /// Disks found, by StorageClass and by what they wait for; a word for each is on the page of events.
        pub disks: IntGaugeVec = "bindery_local_disks" ["storage_class", "state"],
        /// Scans of the discovery folders, by outcome: ok or failed.
        pub scans: IntCounterVec = "bindery_local_scans_total" ["outcome"],
        /// Steps that failed and are tried again, by step.
        pub failures: CounterVec = "bindery_local_failed_steps_total" ["step"],
        /// 1 once all folders were scanned twice and all PersistentVolumes of the node were listed.
        pub ready: IntGauge = "bindery_local_ready",
    }
    and(registry) {
        registry: Registry = registry.clone(),
        /// Requests to the API server.
        pub requests: RequestMetrics = RequestMetrics::register(registry)?,
        /// Whether the configuration is in use.
        pub configuration: ConfigurationMetrics = ConfigurationMetrics::register(registry)?,
        /// What happened to connections.
        pub connections: ConnectionMetrics = ConnectionMetrics::register(registry)?,
    }
}

impl LocalMetrics {
    /// All metrics, with a registry of their own.
    ///
    /// # Errors
    ///
    /// A name is there twice.
    pub fn new() -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        register_process(&registry)?;
        Self::register(&registry)
    }

    /// The registry.
    pub fn registry(&self) -> Registry {
        self.registry.clone()
    }

    /// Every metric, for the reference page.
    pub fn rows() -> impl Iterator<Item = &'static MetricRow> {
        let own = [&BUILD].into_iter().chain(Self::METRICS).chain(RequestMetrics::METRICS);
        own.chain(ConfigurationMetrics::METRICS).chain(ConnectionMetrics::METRICS)
    }
}

/// Returns the label by which cleanings are grouped: the capacity rounded up to 500 GiB.
///
/// sig-storage-local-static-provisioner: `pkg/metrics/metrics.go`, `CapacityBreakDown`.
pub fn capacity_group(bytes: u64) -> String {
    format!("{}G", bytes.div_ceil(500 << 30) * 500)
}

#[test]
fn capacities_are_grouped_as_by_the_local_static_provisioner() {
    for (bytes, group) in [(0, "0G"), (1, "500G"), (500 << 30, "500G"), ((500 << 30) + 1, "1000G")]
    {
        assert_eq!(capacity_group(bytes), group);
    }
}
