//! StorageClass: wire form to model.

use super::bounded::{LabelUse, OptionalText, Text, parse, wire};
use super::metadata::Metadata;
use crate::model::annotations::{BETA_DEFAULT_CLASS, DEFAULT_CLASS};
use crate::model::{BindingMode, Class, ClassName, DefaultMark, Expansion, Provisioner};

wire! {
    struct ClassWire<'a> {
        metadata: Metadata<'a> = "metadata",
        provisioner: Option<Text<'a>> = "provisioner",
        volume_binding_mode: Option<Text<'a>> = "volumeBindingMode",
        allow_volume_expansion: Option<bool> = "allowVolumeExpansion",
    }
}

/// Reads a class from its JSON text.
pub fn class(text: &str) -> Result<Class, serde_json::Error> {
    let wire: ClassWire<'_> = parse(text, LabelUse::Skip)?.value;
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
    Ok(Class { name, provisioner, binding_mode, expansion, default })
}
