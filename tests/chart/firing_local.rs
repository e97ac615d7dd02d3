//! The alerts on local disks: an installation that is well, and what makes each fire (`firing`).

/// The labels of a pod's series.
pub(crate) const LABELS: &str =
    "namespace=\"store\",job=\"rel-bindery-local-metrics\",node=\"n\",pod=\"l\"";

/// The labels of the node cleanup's series, besides the pod.
pub(crate) const CLEANUP_LABELS: &str =
    "namespace=\"store\",job=\"rel-bindery-local-node-cleanup-metrics\"";

/// A node whose disks are well: one is being released, one was cleaned again after a failure.
pub(crate) const WELL: &[&str] = &[
    "bindery_local_ready{LOCAL} 0x10 1x50",
    "bindery_configuration_last_reload_successful{LOCAL} 1x60",
    "local_volume_provisioner_proctable_running{LOCAL} 0x60",
    // Another node, which has been cleaning a large disk since its pod started.
    "bindery_local_ready{namespace=\"store\",job=\"rel-bindery-local-metrics\",node=\"m\",pod=\"k\"} 0x60",
    "local_volume_provisioner_proctable_running{namespace=\"store\",job=\"rel-bindery-local-metrics\",node=\"m\",pod=\"k\"} 1x60",
    "bindery_local_disks{LOCAL,storage_class=\"fast\",state=\"offered\"} 4x60",
    "bindery_local_disks{LOCAL,storage_class=\"fast\",state=\"in_use\"} 1x60",
    "bindery_local_disks{LOCAL,storage_class=\"fast\",state=\"claim_exists\"} 1x60",
    "bindery_local_disks{LOCAL,storage_class=\"fast\",state=\"retained\"} 1x60",
    "bindery_local_disks{LOCAL,storage_class=\"fast\",state=\"other_disk\"} 0x60",
    "local_volume_provisioner_persistentvolume_delete_failed_total{LOCAL,mode=\"Block\",type=\"process\"} 0x10 4x50",
    "bindery_local_failed_steps_total{LOCAL,step=\"offer\"} 0x10 5x50",
    "bindery_local_scans_total{LOCAL,outcome=\"ok\"} 0+3x60",
    // One of two pods leads, and waits for a node that restarts.
    "bindery_local_node_cleanup_rounds_total{CLEANUP,pod=\"a\",outcome=\"ok\"} 0+2x60",
    "bindery_local_node_cleanup_rounds_total{CLEANUP,pod=\"b\",outcome=\"ok\"} 0x60",
    "bindery_local_node_cleanup_persistentvolumes{CLEANUP,storage_class=\"fast\",state=\"node_not_ready\"} 3x60",
];

/// As the cases of `firing`.
pub(crate) const CASES: &[(&str, &[&str], u32)] = &[
    ("BinderyLocalDown", &["bindery_local_ready"], 5),
    ("BinderyLocalNotReady", &["bindery_local_ready{LOCAL} 0x60"], 20),
    (
        "BinderyLocalConfigurationInvalid",
        &["bindery_configuration_last_reload_successful{LOCAL} 0x60"],
        5,
    ),
    (
        "BinderyDiskReplaced",
        &["bindery_local_disks{LOCAL,storage_class=\"fast\",state=\"other_disk\"} 1x60"],
        5,
    ),
    (
        "BinderyVolumeReservedWhileCleaned",
        &[
            "bindery_local_disks{LOCAL,storage_class=\"fast\",state=\"reserved_while_cleaned\"} 0 0 1x58",
        ],
        1,
    ),
    (
        "BinderyDiskHeld",
        &["bindery_local_disks{LOCAL,storage_class=\"fast\",state=\"not_empty\"} 1x60"],
        15,
    ),
    (
        "BinderyDiskHeld",
        &["bindery_local_disks{LOCAL,storage_class=\"fast\",state=\"offer_interrupted\"} 1x60"],
        15,
    ),
    (
        "BinderyDiskHeld",
        &["bindery_local_disks{LOCAL,storage_class=\"fast\",state=\"unusable\"} 1x60"],
        15,
    ),
    (
        "BinderyDiskHeld",
        &["bindery_local_disks{LOCAL,storage_class=\"fast\",state=\"deleted_by_hand\"} 2x60"],
        15,
    ),
    (
        "BinderyCleaningFails",
        &[
            "local_volume_provisioner_persistentvolume_delete_failed_total{LOCAL,mode=\"Block\",type=\"process\"} 0+1x60",
        ],
        16,
    ),
    (
        "BinderyLocalStepsFail",
        &["bindery_local_failed_steps_total{LOCAL,step=\"offer\"} 0+1x60"],
        16,
    ),
    (
        "BinderyNodeCleanupDown",
        &["bindery_local_node_cleanup_rounds_total{CLEANUP,pod=\"a\",outcome=\"failed\"} 0+2x60"],
        5,
    ),
    (
        "BinderyNodeLost",
        &[
            "bindery_local_node_cleanup_persistentvolumes{CLEANUP,storage_class=\"fast\",state=\"no_stateful_set\"} 2x60",
        ],
        15,
    ),
    ("BinderyLocalScansFail", &["bindery_local_scans_total{LOCAL,outcome=\"failed\"} 0+1x60"], 6),
];
