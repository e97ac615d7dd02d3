//! What a move records on a volume, and the writes that it makes.

mod claim_copy;
mod clusters;
mod denial;
mod journal;
mod patch;
mod replacement;

pub use claim_copy::{
    claim_copy, claim_from, claim_manifest, claim_of_volume, copy_text, recorded_copy,
    recorded_copy_of,
};
pub(in crate::api) use clusters::portable_volume;
pub use clusters::{
    AdoptedDisk, ExportMark, HandOver, MappedKind, Mapping, MappingError, Mappings, export_mark,
    exported_claim, exported_object, exported_volume, hand_over, hand_over_patch,
    import_finish_patch, imported_claim, imported_volume, is_in_import, made_volume,
    referenced_secrets, volume_class,
};
pub use denial::is_denied_by;
pub use journal::{is_moving, journal, journal_text, moving_text};
pub use patch::{fence_patch, finish_patch, record_patch, reserve_patch};
pub use replacement::{is_replacement, replaced, replacement_manifest};
