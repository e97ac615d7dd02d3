//! How much the controller may write.

/// How much the controller may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing of a binding: it tells what it would do.
    Observe,
    /// Reservations alone, for claims that no scheduler will see; another binder does the rest.
    Prebind,
    /// Everything: it is the only binder of the cluster.
    Full,
}

impl Mode {
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
