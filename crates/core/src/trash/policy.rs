//! Which volumes stay in the trash, and for how long.

use jiff::SignedDuration;

use super::evidence::Retention;
use super::record::ReturnTo;
use crate::model::VolumeClass;

/// The settings of the trash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrashPolicy {
    /// Those of all volumes.
    pub all: TrashSettings,
    /// Those of some; of several that match, the last counts.
    pub overrides: Vec<TrashOverride>,
}

/// How long a volume stays, and who gets it back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrashSettings {
    /// How long; zero: not at all.
    pub keep: SignedDuration,
    /// Who gets it back.
    pub return_to: ReturnTo,
}

impl TrashPolicy {
    /// Returns whether some volumes go back to the next claim of their name.
    pub fn is_soft(&self) -> bool {
        let some = self.overrides.iter().filter_map(|other| other.return_to);
        some.chain([self.all.return_to]).any(|return_to| return_to == ReturnTo::SameName)
    }
}

/// Other settings for some volumes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrashOverride {
    /// The StorageClasses that it concerns; all if there are none.
    pub classes: Vec<String>,
    /// The namespaces of the claims that it concerns; all if there are none.
    pub namespaces: Vec<String>,
    /// How long; nothing: as before.
    pub keep: Option<SignedDuration>,
    /// Who gets it back; nothing: as before.
    pub return_to: Option<ReturnTo>,
}

/// What is set on a volume itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnKeep {
    /// Nothing.
    Unset,
    /// This time; zero: not at all.
    For(SignedDuration),
    /// It cannot be read.
    Unreadable,
}

impl TrashPolicy {
    /// Returns how long a volume of this class stays whose claim is, or was, in this namespace. What is set on the volume
    /// itself counts more.
    pub fn retention(&self, class: VolumeClass<'_>, namespace: &str, own: OwnKeep) -> Retention {
        let mut settings = self.all;
        let class = match class {
            VolumeClass::Named(name) => name.as_str(),
            VolumeClass::Classless => "",
        };
        let names = |names: &[String], name| names.is_empty() || names.iter().any(|it| it == name);
        let matching =
            |it: &&TrashOverride| names(&it.classes, class) && names(&it.namespaces, namespace);
        for found in self.overrides.iter().filter(matching) {
            settings.keep = found.keep.unwrap_or(settings.keep);
            settings.return_to = found.return_to.unwrap_or(settings.return_to);
        }
        let keep = match own {
            OwnKeep::Unset => settings.keep,
            OwnKeep::For(keep) => keep,
            OwnKeep::Unreadable => return Retention::Unreadable,
        };
        if keep.is_positive() { Retention::For(keep, settings.return_to) } else { Retention::None }
    }
}
