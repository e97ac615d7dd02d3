//! Certificates are renewed under load, again and again, unnoticed.
//!
//! Not here: renewals while the controller is killed or its Secrets are wiped (`certificates`).

use std::net::SocketAddr;
use std::time::Duration;

use bindery::certificates::ca_certificates;
use hyper::Method;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::json;

use super::WRITERS;
use super::load::Load;
use super::site::{NAME, Site, installation};
use crate::caller::Call;
use crate::eventually::eventually;
use crate::plane::Body;
use crate::plane::persona::ADMIN;
use crate::runner::{Case, case, extent};

pub(crate) const CASES: &[Case] = &[case!(renewals_go_unnoticed)];

fn renewals_go_unnoticed() {
    let (leaves, authorities) = if extent().is_full { (1_000, 200) } else { (5, 1) };
    let site = Site::install(&["webhook.replicas=3"]);
    settle_soon(&site);
    let before = site.node.processes();
    let load = Load::start(site.plane, WRITERS);
    for number in 0..leaves {
        renew(&site, "certificate", number);
    }
    let asked = load.asked();
    println!("{leaves} serving certificates renewed during {asked} admissions");
    for number in 0..authorities {
        renew(&site, "ca", number);
    }
    let asked = load.asked() - asked;
    println!("{authorities} CAs renewed during {asked} admissions");
    let tally = load.stop();
    println!("{} failed, p99 {:?}", tally.failures.len(), tally.p99);
    assert!(tally.failures.is_empty(), "{:#?}", tally.failures.iter().take(10).collect::<Vec<_>>());
    assert_eq!(site.node.processes(), before, "nothing was restarted");
}

/// Lets the leader wait a second for others to learn of a change, rather than a minute.
fn settle_soon(site: &Site) {
    let path = format!("/apis/apps/v1/namespaces/{NAME}/deployments/{NAME}");
    let containers = "/spec/template/spec/containers";
    let patch = json!([
        {"op": "test", "path": format!("{containers}/1/name"), "value": "controller"},
        {"op": "add", "path": format!("{containers}/1/args/-"), "value": "--certificate-propagation=1s"},
    ]);
    let patch = Body::raw("application/json-patch+json", patch.to_string());
    site.plane.request(ADMIN, Method::PATCH, &path, patch).expect_ok();
    site.await_ready();
}

/// Asks for one to be renewed, and waits until every pod serves the new leaf to who trusts what is registered.
fn renew(site: &Site, what: &str, number: usize) {
    let former = (leaf(site), site.bundle());
    let own = installation();
    let secret = match what {
        "ca" => own.ca_secret(),
        _ => own.serving_secret(),
    };
    let asked = json!({"metadata": {"annotations": {"bindery.dev/renew": what}}});
    let asked = Body::merge_patch(&asked);
    site.plane.request(ADMIN, Method::PATCH, &own.secret_path(&secret), asked).expect_ok();
    eventually(&format!("{what} {number} is new"), Duration::from_mins(1), || {
        let now = (leaf(site), site.bundle());
        let bundle = now.1.clone().ok_or("the entries disagree")?;
        let count = ca_certificates(&bundle).len();
        let is_new = now.0 != former.0 && (what != "ca" || now.1 != former.1);
        if is_new && count == 1 {
            Ok(())
        } else {
            Err(format!("{count} authorities, new: {is_new}"))
        }
    });
    let bundle = site.bundle().expect("all entries trust the same");
    let wanted = leaf(site);
    for pod in site.node.running() {
        let address: SocketAddr = format!("{}:8443", pod.address).parse().unwrap();
        eventually("a pod serves it", Duration::from_secs(5), || {
            let shown = Call::connect(address, &bundle, &own.host())?.leaf();
            if shown == wanted { Ok(()) } else { Err("another leaf".to_owned()) }
        });
    }
}

/// The leaf that is stored, as DER.
fn leaf(site: &Site) -> Vec<u8> {
    let chain = site.secret(&installation().serving_secret(), "tls.crt").expect("a certificate");
    CertificateDer::from_pem_slice(chain.as_bytes()).expect("PEM").to_vec()
}
