//! How much the controller may write.

use crate::binding::Write;

/// How much the controller may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing of a binding: it tells what it would do.
    Observe,
    /// Everything: it is the only binder of the cluster.
    Full,
}

impl Mode {
    /// Its name in arguments, logs and metrics.
    pub fn label(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Full => "full",
        }
    }

    /// Whether it makes this write.
    pub fn makes(self, _: &Write) -> bool {
        match self {
            Self::Observe => false,
            Self::Full => true,
        }
    }
}
