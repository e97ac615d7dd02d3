//! Whether another binder is known to be at work, as the controller's Lease stores it.
//!
//! It is stored there because it has to outlive a restart, and because every replica reads the Lease anyway. Not here:
//! how another binder is noticed (`controller`), and how the Lease is written (`lease`).

/// Whether another binder is known to be at work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OtherBinder {
    /// None was seen, or a person has removed the annotation since.
    #[default]
    Unseen,
    /// This process saw one, and the Lease does not say so yet: when, and what it did.
    Seen(String),
    /// The Lease says so: when, and what it did.
    Stored(String),
}

impl OtherBinder {
    /// Returns when it was seen, and what it did.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Unseen => None,
            Self::Seen(text) | Self::Stored(text) => Some(text),
        }
    }

    /// Returns what the Lease does not say yet.
    pub fn unstored(&self) -> Option<&str> {
        match self {
            Self::Seen(text) => Some(text),
            Self::Unseen | Self::Stored(_) => None,
        }
    }

    /// Takes in what this process saw, unless one is known already. Returns whether that is news.
    pub fn see(&mut self, text: String) -> bool {
        let is_news = *self == Self::Unseen;
        if is_news {
            *self = Self::Seen(text);
        }
        is_news
    }

    /// Takes in the annotation of a Lease. Returns whether that is news. Where a deployment tool has wiped the Lease,
    /// no person has cleared it: the annotation is to be stored again.
    pub fn read(&mut self, annotation: Option<&str>, is_wiped: bool) -> bool {
        let next = match (&*self, annotation) {
            (Self::Unseen | Self::Seen(_) | Self::Stored(_), Some(text)) => {
                Self::Stored(text.to_owned())
            }
            (Self::Seen(_), None) => return false,
            (Self::Stored(text), None) if is_wiped => Self::Seen(text.clone()),
            (Self::Unseen | Self::Stored(_), None) => Self::Unseen,
        };
        let is_news = *self != next;
        *self = next;
        is_news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_clears_what_is_stored_and_nothing_else_does() {
        let mut known = OtherBinder::default();
        assert!(!known.read(None, false) && known.text().is_none());
        assert!(known.see("first".to_owned()) && !known.see("second".to_owned()));
        assert!(!known.read(None, false), "a reply from before it was stored clears nothing");
        assert_eq!(known.unstored(), Some("first"));
        assert!(known.read(Some("first"), false));
        assert_eq!((known.unstored(), known.text()), (None, Some("first")));
        assert!(known.read(None, true), "a wiped Lease is to be written again");
        assert_eq!(known.unstored(), Some("first"));
        known.read(Some("first"), false);
        assert!(known.read(None, false));
        assert_eq!(known, OtherBinder::Unseen);
    }
}
