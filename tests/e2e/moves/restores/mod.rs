//! Clusters that are restored from a backup which holds moves that had not ended, and volumes of the trash.

pub(crate) mod backup;
pub(crate) mod etcd;
