//! StorageClass: wire form to model.

use serde::Deserialize;

use super::bounded::{LabelUse, Object, Text, read};
use super::metadata::{Metadata, or_empty};
use crate::model::annotations::{BETA_DEFAULT_CLASS, DEFAULT_CLASS};
use crate::model::{BindingMode, Class, ClassName, DefaultMark, Expansion, Provisioner};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClassWire<'a> {
    #[serde(borrow, default)]
    metadata: Object<Metadata<'a>>,
    provisioner: Option<Text<'a>>,
    volume_binding_mode: Option<Text<'a>>,
    allow_volume_expansion: Option<bool>,
}

/// Reads a class from its JSON text.
pub fn class(text: &str) -> Result<Class, serde_json::Error> {
    let wire: ClassWire<'_> = read(text, LabelUse::Skip)?.value;
    let provisioner = Provisioner::from_text(or_empty(wire.provisioner.as_ref()));
    let binding_mode = match or_empty(wire.volume_binding_mode.as_ref()) {
        "WaitForFirstConsumer" => BindingMode::WaitForFirstConsumer,
        _ => BindingMode::Immediate,
    };
    let expansion = match wire.allow_volume_expansion {
        Some(true) => Expansion::Allowed,
        Some(false) | None => Expansion::NotAllowed,
    };
    let metadata = wire.metadata.0;
    let is_default = [DEFAULT_CLASS, BETA_DEFAULT_CLASS]
        .iter()
        .any(|key| metadata.annotations.0.get(key) == Some("true"));
    let default = if is_default {
        DefaultMark::Marked { created: or_empty(metadata.creation_timestamp.as_ref()).into() }
    } else {
        DefaultMark::Unmarked
    };
    let name = ClassName::new(or_empty(metadata.name.as_ref()));
    Ok(Class { name, provisioner, binding_mode, expansion, default })
}
