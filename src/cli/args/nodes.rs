//! The nodes that `plan` is asked to do without.

/// Nodes that would be gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LostNodes {
    /// The node of this name.
    Node(Box<str>),
    /// All nodes whose zone label has this value.
    Zone(Box<str>),
}

/// A node that would be drained, by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrainedNode(pub Box<str>);

impl LostNodes {
    /// Reads `node/NAME` or `zone/NAME`.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        match named(text) {
            Some(("node", name)) => Ok(Self::Node(name.into())),
            Some(("zone", name)) => Ok(Self::Zone(name.into())),
            Some(_) | None => Err("expected node/NAME or zone/NAME".to_owned()),
        }
    }
}

impl DrainedNode {
    /// Reads `node/NAME`.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        match named(text) {
            Some(("node", name)) => Ok(Self(name.into())),
            Some(_) | None => Err("expected node/NAME".to_owned()),
        }
    }
}

/// The kind and the name.
fn named(text: &str) -> Option<(&str, &str)> {
    let (kind, name) = text.split_once('/')?;
    let is_name = !name.is_empty() && !name.contains('/');
    is_name.then_some((kind, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_and_a_name_are_needed() {
        assert_eq!(LostNodes::read("node/n1"), Ok(LostNodes::Node("n1".into())));
        assert_eq!(LostNodes::read("zone/a"), Ok(LostNodes::Zone("a".into())));
        assert_eq!(DrainedNode::read("node/n1"), Ok(DrainedNode("n1".into())));
        for text in ["n1", "node/", "/n1", "node/a/b", "pod/x", ""] {
            assert!(LostNodes::read(text).is_err() && DrainedNode::read(text).is_err(), "{text}");
        }
        assert!(DrainedNode::read("zone/a").is_err());
    }
}
