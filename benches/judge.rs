//! The pure paths alone: bytes to a verdict, its two smallest parts, and the choice of a volume. `cargo bench --bench judge`.
//!
//! It exists to show where a change of the whole (`benches/webhook`) comes from: no socket, no TLS, no
//! cluster. Not here: floors; these figures are for people who look for what became slower.
#![allow(clippy::expect_used, reason = "a benchmark of a failure measures nothing")]

#[path = "shared/among.rs"]
mod among;

use std::hint::black_box;

use among::{ASKER, among};
use bindery::api::claim::claim;
use bindery::api::review::{AdmissionResponse, parse_request, response_bytes};
use bindery::api::volume::Wanted;
use bindery::api::volume::volume;
use bindery::binding::{Evidence, FitCheck, LiveReads, View, choose, fit};
use bindery::model::Quantity;
use bindery::rules::{Endpoint, Policy, Question, RULES, judge};
use divan::Bencher;
use divan::counter::BytesCount;

const ALLOWED: &str = include_str!("data/allowed.json");
const DENIED: &str = include_str!("data/denied.json");

fn main() {
    divan::main();
}

/// The recorded review as it comes in, to the answer as it goes out.
#[divan::bench(args = ["allowed", "denied"])]
fn bytes_to_answer(bencher: Bencher<'_, '_>, review: &str) {
    let (policy, view) = (Policy::default(), View::default());
    let body = if review == "allowed" { ALLOWED } else { DENIED }.as_bytes();
    bencher.counter(BytesCount::of_slice(body)).bench(|| {
        let read =
            parse_request(black_box(body), &policy).expect("the recorded review can be read");
        let question = Question {
            endpoint: Endpoint::Guard,
            change: &read.change,
            policy: &policy,
            now: jiff::Timestamp::UNIX_EPOCH,
        };
        let judgement = judge(RULES, question, &Evidence::new(&view, &LiveReads::default()));
        let made = AdmissionResponse {
            denial: judgement.verdict.denial(),
            ..AdmissionResponse::default()
        };
        response_bytes(&read.uid, &made)
    });
}

/// Reading alone.
#[divan::bench]
fn bytes_to_change(bencher: Bencher<'_, '_>) {
    let policy = Policy::default();
    let body = ALLOWED.as_bytes();
    bencher.counter(BytesCount::of_slice(body)).bench(|| {
        parse_request(black_box(body), &policy).expect("the recorded review can be read")
    });
}

#[divan::bench(args = ["100Gi", "1.5Gi", "1e9", "107374182400", "0.000000001"])]
fn quantity(text: &str) -> Quantity {
    Quantity::parse(black_box(text)).expect("a quantity")
}

/// A volume that fits, asked about by a user who names the pair.
#[divan::bench]
fn fit_of_a_pair(bencher: Bencher<'_, '_>) {
    let review: serde_json::Value = serde_json::from_str(ALLOWED).expect("JSON");
    let text = review["request"]["oldObject"].to_string();
    let volume = volume(&text, Wanted::Both).expect("a volume").volume;
    let claim = claim(CLAIM, "default").expect("a claim");
    bencher.bench(|| {
        fit(black_box(&volume), black_box(&claim), None, FitCheck::Prebind).expect("the two fit")
    });
}

/// One claim among n volumes of its class, all sizes different; the one that fits stands in the middle.
#[divan::bench(args = [1_000, 10_000, 100_000])]
fn choice_among(bencher: Bencher<'_, '_>, count: u64) {
    let (view, claim) = among(count).expect("volumes and a claim");
    bencher.bench(|| choose(black_box(&view), black_box(&claim), ASKER));
}

const CLAIM: &str = r#"{"metadata":{"name":"data","uid":"48538823-193d-4d7a-8914-d300ecc119bc"},
"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"fast","volumeName":"pv-orders-0",
"resources":{"requests":{"storage":"100Gi"}}}}"#;
