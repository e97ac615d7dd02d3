//! `bindery adopt`: creates pairs for disks that exist.

use std::path::Path;
use std::time::Duration;

use super::create::create;
use super::object;
use crate::api::moves::{AdoptedDisk, imported_claim, imported_volume};
use crate::api::volume::{Wanted, volume};
use crate::cli::args::AdoptArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::input::text::{error_reason, name_of, read_text};
use crate::model::{ClassName, ReclaimPolicy};
use crate::move_runner::ImportOrder;

/// The columns of a file of disks; the first four are needed.
const COLUMNS: [&str; 8] =
    ["driver", "handle", "size", "claim", "class", "access-modes", "volume-mode", "fs-type"];

/// How many of the columns are needed.
const NEEDED_COLUMNS: usize = 4;

/// Runs the command.
pub(in crate::cli) fn run(arguments: &AdoptArgs) -> Result<Exit, Failure> {
    let disks = match &arguments.csv {
        Some(path) => table(&read_text(path)?, path)?,
        None => vec![of_flags(arguments)?],
    };
    let orders = disks.iter().map(order).collect::<Result<Vec<_>, _>>()?;
    // Nothing was exported: it has no age.
    create(&orders, Duration::MAX, &arguments.common)
}

/// The disk that the flags describe.
fn of_flags(arguments: &AdoptArgs) -> Result<AdoptedDisk, Failure> {
    let given = |value: &Option<String>| value.clone().unwrap_or_default();
    let modes = arguments.access_modes.join(" ");
    let values = [
        given(&arguments.driver),
        given(&arguments.handle),
        given(&arguments.size),
        given(&arguments.claim),
        given(&arguments.class),
        modes,
        given(&arguments.volume_mode),
        given(&arguments.fs_type),
    ];
    disk(values).map_err(Failure::usage)
}

/// The disk with these values, in the order of the columns. The error is a sentence.
fn disk(values: [String; COLUMNS.len()]) -> Result<AdoptedDisk, String> {
    let needed = values.iter().zip(COLUMNS).take(NEEDED_COLUMNS);
    if let Some((_, column)) = needed.into_iter().find(|(value, _)| value.is_empty()) {
        return Err(format!("the {column} of a disk is empty; give it"));
    }
    let or = |value: String, absent: &str| if value.is_empty() { absent.to_owned() } else { value };
    let [driver, handle, size, claim, class, access_modes, volume_mode, fs_type] = values;
    let key = object::destination(&claim, "")
        .map_err(|_| format!("{claim:?} can be no PVC; write NAMESPACE/NAME"))?;
    let access_modes = or(access_modes, "ReadWriteOnce");
    Ok(AdoptedDisk {
        driver,
        handle,
        size,
        class,
        key,
        access_modes: access_modes.split_whitespace().map(str::to_owned).collect(),
        volume_mode: or(volume_mode, "Filesystem"),
        fs_type: (!fs_type.is_empty()).then_some(fs_type),
    })
}

/// The disks of a CSV file.
fn table(text: &str, path: &Path) -> Result<Vec<AdoptedDisk>, Failure> {
    let wrong = |line: usize, what: String| {
        Failure::usage(format!("{}:{}: {what}", name_of(path), line + 1))
    };
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let Some((first, header)) = lines.next() else {
        return Err(wrong(0, "has no header; begin with driver,handle,size,claim".to_owned()));
    };
    let header: Vec<&str> = header.split(',').map(str::trim).collect();
    let unknown = header.iter().find(|name| !COLUMNS.contains(name));
    let missing = COLUMNS.iter().take(NEEDED_COLUMNS).find(|name| !header.contains(name));
    if let Some(name) = unknown {
        return Err(wrong(
            first,
            format!("no column is called {name:?}; known: {}", COLUMNS.join(", ")),
        ));
    }
    if let Some(name) = missing {
        return Err(wrong(first, format!("the column {name} is missing; add it")));
    }
    let mut disks = Vec::new();
    for (number, line) in lines {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        if line.contains('"') || fields.len() != header.len() {
            let what = format!("needs {} values without quotes", header.len());
            return Err(wrong(number, what));
        }
        let value = |column: &str| {
            let at = header.iter().position(|name| *name == column);
            at.and_then(|at| fields.get(at)).map_or_else(String::new, |text| (*text).to_owned())
        };
        disks.push(disk(COLUMNS.map(value)).map_err(|what| wrong(number, what))?);
    }
    Ok(disks)
}

/// The pair of a disk, as an import creates it.
fn order(disk: &AdoptedDisk) -> Result<ImportOrder, Failure> {
    let (volume_object, claim) = disk.pair();
    let (source, policy) = (disk.source(), ReclaimPolicy::Retain);
    let volume_manifest = imported_volume(&volume_object, &source, &policy);
    let text = volume_manifest.to_string();
    let volume = volume(&text, Wanted::Both).map_err(|error| {
        let reason = error_reason(&error);
        Failure::usage(format!(
            "the disk {source:?} cannot be described: {reason}; check the flags"
        ))
    })?;
    let volume = volume.volume;
    let class = Some(&*disk.class).filter(|class| !class.is_empty());
    Ok(ImportOrder {
        claim_manifest: imported_claim(&claim, &disk.key, &volume.name),
        volume_manifest,
        volume,
        key: disk.key.clone(),
        source: source.into(),
        policy,
        classes: class.map(ClassName::new).into_iter().collect(),
        needs_driver: true,
        is_handed_over: true,
        age: Duration::ZERO,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ClaimKey;

    fn read(text: &str) -> Result<Vec<AdoptedDisk>, Failure> {
        table(text, Path::new("disks.csv"))
    }

    #[test]
    fn a_table_has_a_disk_a_line() {
        let text = "claim, driver,handle,size,access-modes\ndb/data,d.example.com,vol-1,1Gi,\n\n\
            db/other,d.example.com,vol-2,2Gi,ReadWriteMany ReadOnlyMany\n";
        let [one, two] = &*read(text).unwrap() else { panic!("two disks") };
        assert_eq!(one.key, ClaimKey::new("db", "data"));
        assert_eq!((&*one.source(), &*one.size), ("d.example.com/vol-1", "1Gi"));
        assert_eq!(one.access_modes, ["ReadWriteOnce"]);
        assert_eq!(one.volume_mode, "Filesystem");
        assert_eq!(two.access_modes, ["ReadWriteMany", "ReadOnlyMany"]);
    }

    #[test]
    fn a_wrong_table_is_an_error_with_its_line() {
        for (text, expected) in [
            ("", "disks.csv:1: has no header"),
            ("driver,handle,size", "disks.csv:1: the column claim is missing"),
            ("driver,handle,size,claim,zone", "no column is called \"zone\""),
            ("driver,handle,size,claim\na,b,1Gi", "disks.csv:2: needs 4 values"),
            (
                "driver,handle,size,claim\na,,1Gi,db/data",
                "disks.csv:2: the handle of a disk is empty",
            ),
            ("driver,handle,size,claim\na,b,1Gi,data", "\"data\" can be no PVC"),
            ("driver,handle,size,claim\na,\"b\",1Gi,db/data", "without quotes"),
        ] {
            let message = read(text).unwrap_err().message;
            assert!(message.contains(expected), "{text}: {message}");
        }
    }
}
