//! Storage classes: what a claim asks for, what a volume has, and what the class object says.
//!
//! Absent, empty and named are three different requests; this module distinguishes them, so that no
//! rule compares texts.

use std::fmt;

use super::names::ClassName;
use super::topology::NodeAffinity;

/// Which class a claim asks for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClassRequest {
    /// Field and legacy annotation are both absent: the default class may be filled in.
    Unset,
    /// The empty text: only volumes without a class, and never the default class.
    Classless,
    /// This class.
    Named(ClassName),
}

impl ClassRequest {
    /// The request that an optional text spells.
    pub fn from_text(text: Option<&str>) -> Self {
        match text {
            None => Self::Unset,
            Some("") => Self::Classless,
            Some(name) => Self::Named(ClassName::new(name)),
        }
    }

    /// The class that a volume must have to match.
    ///
    /// Kubernetes: `pkg/volume/util`, `GetPersistentVolumeClaimClass`: nil and `""` are equal for
    /// matching.
    pub fn wanted(&self) -> VolumeClass<'_> {
        match self {
            Self::Unset | Self::Classless => VolumeClass::Classless,
            Self::Named(name) => VolumeClass::Named(name),
        }
    }
}

/// The class of a volume, or the one that a claim would match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VolumeClass<'a> {
    /// No class.
    Classless,
    /// This class; the class object need not exist.
    Named(&'a ClassName),
}

impl<'a> VolumeClass<'a> {
    /// The name, if there is one.
    pub fn name(self) -> Option<&'a ClassName> {
        match self {
            Self::Classless => None,
            Self::Named(name) => Some(name),
        }
    }
}

impl fmt::Display for VolumeClass<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Classless => f.write_str("no StorageClass"),
            Self::Named(name) => write!(f, "StorageClass \"{name}\""),
        }
    }
}

/// When a claim of a class may be bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BindingMode {
    /// As soon as a volume fits.
    Immediate,
    /// Once a pod that uses the claim has been given a node.
    WaitForFirstConsumer,
}

/// Who makes volumes of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Provisioner {
    /// `kubernetes.io/no-provisioner`: volumes are made by hand.
    Static,
    /// The driver or plug-in of this name.
    Named(Box<str>),
}

impl Provisioner {
    /// Reads `provisioner`; a class that names none has no provisioner either.
    pub fn from_text(text: &str) -> Self {
        match text {
            "" | NO_PROVISIONER => Self::Static,
            name => Self::Named(name.into()),
        }
    }

    /// The name that a class has in `provisioner`.
    pub fn name(&self) -> &str {
        match self {
            Self::Static => NO_PROVISIONER,
            Self::Named(name) => name,
        }
    }
}

/// Kubernetes: `storage/util`, `NotSupportedProvisioner`.
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

/// A storage class object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// Its name.
    pub name: ClassName,
    /// Who makes its volumes.
    pub provisioner: Provisioner,
    /// When its claims bind.
    pub binding_mode: BindingMode,
    /// What `allowVolumeExpansion` says.
    pub expansion: Expansion,
    /// Whether claims without a class get this one.
    pub default: DefaultMark,
    /// The nodes for which its provisioner makes volumes: `allowedTopologies`.
    ///
    /// Kubernetes: `component-helpers/scheduling/corev1/helpers.go`, `MatchTopologySelectorTerms`: without terms every
    /// node, else the nodes that one of the terms admits.
    pub allowed_topologies: NodeAffinity,
}

/// Whether a class is marked as the one for claims that ask for none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DefaultMark {
    /// It is not.
    Unmarked,
    /// It is; of several the newest counts.
    Marked {
        /// `metadata.creationTimestamp`, whose texts sort as their times do.
        created: Box<str>,
    },
}

/// Whether claims of a class may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expansion {
    /// `allowVolumeExpansion: true`.
    Allowed,
    /// False or absent.
    NotAllowed,
}
