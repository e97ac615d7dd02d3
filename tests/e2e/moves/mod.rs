//! `bindery transfer`, `rename`, `swap`, `rescue` and `undo`, `export` and `import`, and the trash, beside the real API server and the in-tree binder.

pub(crate) mod clusters;
pub(crate) mod crowd;
pub(crate) mod deleted_volumes;
pub(crate) mod interrupted;
pub(crate) mod leaders;
pub(crate) mod released;
pub(crate) mod replicas;
pub(crate) mod restores;
pub(crate) mod resumption;
mod scene;
pub(crate) mod shown;
pub(crate) mod single_writes;
pub(crate) mod thieves;
pub(crate) mod tombstones;
pub(crate) mod transfer;
mod trash;

pub(crate) use scene::{Printed, bindery};
