//! Amounts: what the API server accepts, what it makes of it, and how it orders two of them.

use bindery::model::Quantity;
use hyper::Method;
use serde_json::json;

use crate::plane::persona::ADMIN;
use crate::plane::{Body, Peers, Plane};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[case!(amounts_are_read_as_the_api_server_reads_them)];

/// Numbers and suffixes whose every combination is a spelling, right or wrong.
const NUMBERS: [&str; 16] = [
    "1",
    "10",
    "0.5",
    ".5",
    "5.",
    "1.25",
    "007",
    "+3",
    "1.000000001",
    "1.0000000001",
    "999999999",
    "9223372036854775807",
    "9223372036854775808",
    "1_0",
    "--1",
    "",
];
const SUFFIXES: [&str; 22] = [
    "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3",
    "E3", "e-3", "K", "ki", "B",
];

/// A dry-run claim asks for the amount; the answer spells it as the API server does.
fn amounts_are_read_as_the_api_server_reads_them() {
    let plane = Plane::shared(Peers::WithoutBinder);
    let path = "/api/v1/namespaces/default/persistentvolumeclaims?dryRun=All";
    let mut wrong = Vec::new();
    let mut compared = 0;
    for number in NUMBERS {
        for suffix in SUFFIXES {
            let spelling = format!("{number}{suffix}");
            let claim = json!({
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "amount"},
                "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "none-such",
                    "resources": {"requests": {"storage": spelling}}},
            });
            let reply = plane.request(ADMIN, Method::POST, path, Body::json(&claim));
            let ours = Quantity::parse(&spelling).map(Quantity::rounded_up_to_thousandths);
            compared += 1;
            let theirs = reply.json.pointer("/spec/resources/requests/storage");
            let agree = match (&ours, theirs.and_then(|text| text.as_str())) {
                // The same amount in the same words; a plus sign and zeros in front are echoed.
                (Ok(ours), Some(theirs)) => {
                    let same = Quantity::parse(theirs).is_ok_and(|theirs| theirs == *ours);
                    same && (ours.to_string() == theirs || spelling == theirs)
                }
                (Err(_), None) => reply.code == 400,
                // Read, and then rejected because it is not positive.
                (Ok(ours), None) => reply.code == 422 && !ours.is_positive(),
                (Err(_), Some(_)) => false,
            };
            if !agree {
                wrong.push(format!(
                    "{spelling:?}: ours {ours:?}, theirs {} {}",
                    reply.code, reply.text
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {compared}:\n{}", wrong.len(), wrong.join("\n"));
}
