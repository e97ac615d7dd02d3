//! Metrics of the node cleanup: those of sig-storage-local-static-provisioner under its names, and our own.

use prometheus::{IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Registry};

use crate::local::metrics::RequestMetrics;
use crate::telemetry::connections::ConnectionMetrics;
use crate::telemetry::process::{BUILD, register_process};
use crate::telemetry::registry::{MetricRow, metric_table};

metric_table! {
    /// All metrics of the process.
    #[derive(Debug)]
    pub struct NodeCleanupMetrics {
        /// PersistentVolumes of lost nodes deleted, by phase.
        pub volumes_deleted: IntCounterVec = "local_volume_node_cleanup_persistentvolume_delete_total" ["phase"],
        /// Deletions of PersistentVolumes of lost nodes that failed, by phase.
        pub volumes_failed: IntCounterVec =
            "local_volume_node_cleanup_persistentvolume_delete_failed_total" ["phase"],
        /// PersistentVolumeClaims deleted because their node is lost.
        pub claims_deleted: IntCounter = "local_volume_node_cleanup_persistentvolumeclaim_delete_total",
        /// Deletions of PersistentVolumeClaims that failed.
        pub claims_failed: IntCounter = "local_volume_node_cleanup_persistentvolumeclaim_delete_failed_total",
        /// PersistentVolumes by StorageClass and by what they wait for.
        pub volumes: IntGaugeVec = "bindery_local_node_cleanup_persistentvolumes" ["storage_class", "state"],
        /// Rounds over all PersistentVolumes, by outcome: ok or failed.
        pub rounds: IntCounterVec = "bindery_local_node_cleanup_rounds_total" ["outcome"],
        /// 1 while this process holds the Lease.
        pub leads: IntGauge = "bindery_local_node_cleanup_leader",
        /// 1 once all PersistentVolumes were listed.
        pub ready: IntGauge = "bindery_local_node_cleanup_ready",
    }
    and(registry) {
        registry: Registry = registry.clone(),
        /// Requests to the API server.
        pub requests: RequestMetrics = RequestMetrics::register(registry)?,
        /// What happened to connections.
        pub connections: ConnectionMetrics = ConnectionMetrics::register(registry)?,
    }
}

impl NodeCleanupMetrics {
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
        own.chain(ConnectionMetrics::METRICS)
    }
}
