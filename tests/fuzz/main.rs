//! Hostile input, made from a small corpus by a fixed seed: what must hold for every input of a decoder holds
//! for as many as there is time for.
//!
//! `FUZZ_EXECUTIONS` says how many inputs each decoder gets. The same functions are run by cargo-fuzz, which
//! looks for inputs by what code they reach (`fuzz/`). Not here: requests on a socket (`tests/webhook/wire`).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod decoders;
mod large;
mod mutate;
mod runs;

use runs::Decoder;

#[test]
fn quantity() {
    runs::run(&Decoder {
        name: "quantity",
        check: decoders::quantity::check,
        words: &[
            "Ki",
            "Mi",
            "Gi",
            "Pi",
            "Ei",
            "E",
            "m",
            "n",
            "e",
            "E-",
            "e9",
            "+",
            "-",
            ".",
            "\n",
            "00",
            "9999999999",
        ],
    });
}

#[test]
fn selector() {
    runs::run(&Decoder {
        name: "selector",
        check: decoders::selector::check,
        words: &[
            "In",
            "NotIn",
            "Exists",
            "DoesNotExist",
            "tier",
            "zone",
            "fast",
            "a/b",
            "matchLabels",
            "matchExpressions",
            "key",
            "operator",
            "values",
            "[\"fast\"]",
            "{\"a\":\"b\"}",
        ],
    });
}

#[test]
fn review() {
    runs::run(&Decoder {
        name: "review",
        check: decoders::review::check,
        words: &[
            "CREATE",
            "UPDATE",
            "DELETE",
            "status",
            "pv-a",
            "pv-b",
            "data",
            "db",
            "Bound",
            "Released",
            "Delete",
            "Recycle",
            "10Gi",
            "5Gi",
            "ReadWriteOnce",
            "Block",
            "std",
            "object",
            "oldObject",
            "claimRef",
            "metadata",
            "annotations",
            "finalizers",
            "pv.kubernetes.io/bind-completed",
            "u-data",
        ],
    });
}

#[test]
fn yaml() {
    runs::run(&Decoder {
        name: "yaml",
        check: decoders::yaml::check,
        words: &[
            "a: 1\n",
            "- a\n",
            "  ",
            "'a'",
            "\"a\"",
            "{a: b}",
            "[a, b]",
            "yes",
            "0777",
            "0x1F",
            ".5",
            "!!int ",
            "%YAML 1.2\n",
            "...\n",
            "> a\n",
            "\"a\":",
            "\n\n",
        ],
    });
}

#[test]
fn configuration() {
    runs::run(&Decoder {
        name: "configuration",
        check: decoders::configuration::check,
        words: &[
            "deny",
            "warn",
            "audit",
            "off",
            "strict",
            "baseline",
            "168h",
            "1s",
            "-1h",
            "prebind-class",
            "modes",
            "rules",
            "list",
            "In",
            "2030-01-31T18:00:00Z",
            "podTemplate",
            "containers",
            "readOnly",
            "image",
            "{}",
            "[]",
        ],
    });
}

#[test]
fn dump() {
    runs::run(&Decoder {
        name: "dump",
        check: decoders::dump::check,
        words: &[
            "PersistentVolume",
            "PersistentVolumeClaim",
            "StorageClass",
            "Pod",
            "Node",
            "List",
            "items",
            "Bound",
            "Released",
            "Available",
            "Pending",
            "Lost",
            "Delete",
            "Recycle",
            "pv-a",
            "pv-b",
            "data",
            "db",
            "u-data",
            "claimRef",
            "volumeName",
            "5Gi",
            "10Gi",
            "deletionTimestamp",
        ],
    });
}
