//! How much the controller may write.

use clap::ValueEnum;

/// Which writes the controller may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ControllerMode {
    /// No binding: it reports what it would do.
    Observe,
    /// Reservations for PersistentVolumeClaims whose pods bypass the scheduler, beside the in-tree binder.
    Prebind,
    /// Everything, as the only binder of the cluster.
    Full,
}

impl ControllerMode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Observe, Self::Prebind, Self::Full];

    /// Its name in arguments, logs and metrics.
    pub fn label(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Prebind => "prebind",
            Self::Full => "full",
        }
    }
}
