//! StorageClass: wire form to model.

use super::bounded::{ByteMeter, LabelUse, List, OptionalText, Text, parse_metered, wire};
use super::digest::Digest;
use super::metadata::Metadata;
use super::topology::{TopologyTermWire, allowed_topologies};
use crate::model::annotations::{BETA_DEFAULT_CLASS, DEFAULT_CLASS};
use crate::model::{
    BindingMode, Class, ClassName, DefaultMark, Expansion, NodeAffinity, Provisioner,
};

wire! {
    struct ClassWire<'a> {
        metadata: Metadata<'a> = "metadata",
        provisioner: Option<Text<'a>> = "provisioner",
        volume_binding_mode: Option<Text<'a>> = "volumeBindingMode",
        allow_volume_expansion: Option<bool> = "allowVolumeExpansion",
        allowed_topologies: List<TopologyTermWire<'a>> = "allowedTopologies",
    }
}

/// Reads a class from its JSON text.
pub fn class(text: &str) -> Result<Class, serde_json::Error> {
    metered(text, &ByteMeter::default())
}

/// The same; `meter` counts what is collected.
pub(super) fn metered(text: &str, meter: &ByteMeter) -> Result<Class, serde_json::Error> {
    let parsed = parse_metered::<ClassWire<'_>>(text, LabelUse::Skip, meter)?;
    let allowed_topologies = if parsed.is_cut {
        NodeAffinity::Unread(Digest::of(text))
    } else {
        allowed_topologies(&parsed.value.allowed_topologies.0)
    };
    let wire = parsed.value;
    let provisioner = Provisioner::from_text(wire.provisioner.or_empty());
    let binding_mode = match wire.volume_binding_mode.or_empty() {
        "WaitForFirstConsumer" => BindingMode::WaitForFirstConsumer,
        _ => BindingMode::Immediate,
    };
    let expansion = match wire.allow_volume_expansion {
        Some(true) => Expansion::Allowed,
        Some(false) | None => Expansion::NotAllowed,
    };
    let metadata = wire.metadata;
    let is_default = [DEFAULT_CLASS, BETA_DEFAULT_CLASS]
        .iter()
        .any(|key| metadata.annotations.get(key) == Some("true"));
    let default = if is_default {
        DefaultMark::Marked { created: metadata.creation_timestamp.or_empty().into() }
    } else {
        DefaultMark::Unmarked
    };
    let name = ClassName::new(metadata.name.or_empty());
    Ok(Class { name, provisioner, binding_mode, expansion, default, allowed_topologies })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::Node;

    fn admits(topologies: &Value, zone: &str) -> bool {
        let object = json!({"metadata": {"name": "fast"}, "allowedTopologies": topologies});
        let class = class(&object.to_string()).unwrap();
        let labels = [("zone", zone), ("rack", "1")].into_iter().collect();
        class.allowed_topologies.admits(&Node { name: "n1".into(), labels })
    }

    #[test]
    fn one_term_of_the_topologies_has_to_admit_a_node() {
        let of = |key: &str, values: &[&str]| json!({"key": key, "values": values});
        let term = |expressions: &[Value]| json!({"matchLabelExpressions": expressions});
        let zone_a = term(&[of("zone", &["a", "b"]), of("rack", &["1"])]);
        for (topologies, expected) in [
            (Value::Null, true),
            (json!([]), true),
            (json!([zone_a]), true),
            (json!([term(&[of("zone", &["c"])]), zone_a]), true),
            (json!([term(&[of("zone", &["a"]), of("rack", &["2"])])]), false),
            (json!([term(&[])]), false),
            (json!([term(&[of("zone", &[])])]), false),
        ] {
            assert_eq!(admits(&topologies, "a"), expected, "{topologies}");
        }
        assert!(!admits(&json!([zone_a]), "c"));
    }
}
