//! The decision paths.

mod binding;
mod claims;
mod giving_back;
mod marks;

use super::path::Path;

/// All of them.
pub(super) fn paths() -> Vec<Path> {
    let mut paths = binding::paths();
    paths.extend(binding::beginnings());
    paths.extend(claims::paths());
    paths.extend(giving_back::paths());
    paths.extend(marks::paths());
    paths
}
