//! The storage sidecars of Kubernetes CSI at work beside Bindery: what they provision is bound, and what becomes of it
//! is what becomes of it without Bindery. No write of theirs is denied or mutated, no disk is lost and none is left.
//! The same of a provisioner that elects no leader, has no driver behind it and makes folders of nodes (`local_path`).
//!
//! # Who is played in the end-to-end tests
//!
//! The controllers and the scheduler of Kubernetes are real everywhere, and here so are the sidecars and the local-path
//! provisioner; the driver behind the sidecars is our own and passes the suite that tests drivers. These are played, by
//! the requests that their source makes:
//!
//! | who | where | source of its writes |
//! |---|---|---|
//! | provisioner, attacher, resizer | `storage_lifecycle`, `no_false_denials::dead_webhook`, `binding::lifecycle`, `denials::rules` | external-provisioner `pkg/controller/controller.go`: `Provision`; external-attacher `pkg/controller/csi_handler.go`: `addPVFinalizer`; external-resizer `pkg/controller/resize_status.go`; all three are real here |
//! | kubelet: helper pods of the local-path provisioner; their commands run, on a folder of this machine | `local_path` | kubernetes `pkg/kubelet/status/status_manager.go`: `syncPod` |
//! | kubelet: the state of a node, and the event of a mount that failed | `attach_faults` | kubernetes `pkg/kubelet/nodestatus/setters.go`, `pkg/kubelet/events/event.go` |
//! | kubelet: a grown file system | `storage_lifecycle` | kubernetes `pkg/volume/util/resize_util.go`: `MarkFSResizeFinished` |
//! | volume populator | `storage_lifecycle` | kubernetes-csi/lib-volume-populator `populator-machinery/controller.go`: `syncPvc` |
//! | provisioner of local disks | `storage_lifecycle` | sig-storage-local-static-provisioner `pkg/discovery/discovery.go`: `createPV` |
//! | backup tool | `storage_lifecycle` | velero `pkg/restore/restore.go`: `restoreItem` |
//!
//! Those below the first are not to be had as Go modules, or need a kubelet. Not here: that hazards are denied
//! (`denials::rules`).

mod advice;
mod attach_faults;
mod conformance;
mod interrupted;
mod killed;
mod labelled;
mod local_path;
mod local_scene;
mod provisioned;
mod scenarios;
mod scene;
mod trash;

use crate::runner::{Case, case};

use advice::advice_that_is_followed_word_by_word_keeps_the_data;
use attach_faults::each_fault_of_attaching_and_mounting_is_named;
use conformance::the_driver_keeps_to_csi;
use interrupted::a_claim_that_goes_while_it_is_provisioned_leaves_no_disk;
use killed::a_sidecar_that_is_killed_leaves_no_disk_and_loses_none;
use labelled::a_retained_volume_goes_to_no_other_tenant;
use local_path::folders_of_nodes_come_and_go_as_without_bindery;
use provisioned::what_is_provisioned_is_bound_and_goes_as_without_bindery;
use scenarios::disks_live_as_without_bindery;
use trash::a_deleted_claim_leaves_its_disk_in_the_trash;

pub(crate) const CASES: &[Case] = &[
    case!(the_driver_keeps_to_csi),
    case!(what_is_provisioned_is_bound_and_goes_as_without_bindery),
    case!(a_claim_that_goes_while_it_is_provisioned_leaves_no_disk),
    case!(a_retained_volume_goes_to_no_other_tenant),
    case!(a_deleted_claim_leaves_its_disk_in_the_trash),
    case!(disks_live_as_without_bindery),
    case!(folders_of_nodes_come_and_go_as_without_bindery),
    case!(each_fault_of_attaching_and_mounting_is_named),
    case!(advice_that_is_followed_word_by_word_keeps_the_data),
    case!(a_sidecar_that_is_killed_leaves_no_disk_and_loses_none),
];
