//! How much the controller may write.

use clap::ValueEnum;

/// How much the controller may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ControllerMode {
    /// No binding: events say what it would do.
    Observe,
    /// Reservations for claims whose pods have a node that no scheduler chose, beside another binder.
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
