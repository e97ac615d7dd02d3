//! Pairs on their way from one cluster to another, as JSON: without what belongs to one cluster, and the marks.

mod adopt;
mod import;
mod mapping;
mod mark;
mod sanitized;
#[cfg(test)]
mod tests;

pub use adopt::AdoptedDisk;
pub use import::{import_finish_patch, imported_claim, imported_volume, is_in_import, made_volume};
pub use mapping::{MappedKind, Mapping, MappingError, Mappings};
pub use mark::{ExportMark, HandOver, export_mark, hand_over, hand_over_patch};
pub(in crate::api) use sanitized::portable_volume;
pub use sanitized::{
    exported_claim, exported_object, exported_volume, referenced_secrets, volume_class,
};
