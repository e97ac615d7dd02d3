//! The demo notices what goes wrong: a scene that ends otherwise, a webhook that does not answer, a
//! controller that does not bind, an interruption.

use std::future::{pending, ready};
use std::sync::Arc;
use std::time::Duration;

use super::admission::AdmissionChain;
use super::kubectl::{Caller, KubectlCommand, Target, Verb};
use super::print::Word;
use super::scenes::{AdmissionScene, Then};
use super::*;

const VOLUME: Target = Target::Volume("pv-db-0");

fn folder() -> Folder {
    Folder::create(&std::env::temp_dir()).expect("a folder")
}

fn scene(word: Word, verb: &'static [KubectlCommand], then: &'static [Then]) -> AdmissionScene {
    AdmissionScene {
        title: "a scene",
        word,
        commands: verb,
        reports: &["bound-volume-delete"],
        then,
    }
}

async fn run_scene(setup: &DemoSetup, scene: AdmissionScene) -> (usize, String) {
    let mut out = Vec::new();
    let mut printer = Printer::new(&mut out, Colour::Off);
    let unexpected = run_scenes::run(setup, &[scene], &mut printer).await.expect("it ran");
    let text = String::from_utf8(out).expect("text");
    // Lines are wrapped anywhere.
    (unexpected, text.split_whitespace().collect::<Vec<_>>().join(" "))
}

const DELETE: &[KubectlCommand] =
    &[KubectlCommand { by: Caller::Admin, verb: Verb::Delete(VOLUME) }];

const WRONG: &[KubectlCommand] =
    &[KubectlCommand { by: Caller::Admin, verb: Verb::Delete(Target::Volume("none")) }];
const FIRST: &[KubectlCommand] =
    &[DELETE[0], KubectlCommand { by: Caller::BreakGlass, verb: Verb::Delete(VOLUME) }];
const RESTORE: KubectlCommand =
    KubectlCommand { by: Caller::Tenant, verb: Verb::Create(&examples::CLAIM_EXPORTED) };
const CREATE: &[KubectlCommand] =
    &[KubectlCommand { by: Caller::Tenant, verb: Verb::Create(&examples::CLAIM_WRONG_CLASS) }];

#[tokio::test]
async fn a_scene_that_ends_otherwise_is_counted_and_reported() {
    let folder = folder();
    let setup = DemoSetup::start(&folder).await.expect("a stage");
    assert_eq!(run_scene(&setup, scene(Word::Denied, DELETE, &[])).await.0, 0);

    let (unexpected, text) = run_scene(&setup, scene(Word::Allowed, DELETE, &[])).await;
    assert_eq!(unexpected, 1);
    assert!(text.contains("NOT AS DOCUMENTED: expected ALLOWED, came to DENIED"), "{text}");

    let gone = &[Then::Gone(VOLUME)];
    let (unexpected, text) = run_scene(&setup, scene(Word::Denied, DELETE, gone)).await;
    assert_eq!(unexpected, 1);
    assert!(text.contains("still exists"), "{text}");

    let (unexpected, text) = run_scene(&setup, scene(Word::Denied, WRONG, &[])).await;
    assert_eq!(unexpected, 1);
    assert!(text.contains("expected DENIED, came to an error"), "{text}");

    let (unexpected, text) = run_scene(&setup, scene(Word::Allowed, FIRST, &[])).await;
    assert_eq!(unexpected, 1);
    assert!(text.contains("a step around it was denied"), "{text}");
    setup.end().await.expect("ended");
}

#[tokio::test]
async fn a_webhook_that_does_not_answer_stops_only_what_guard_holds() {
    let folder = folder();
    let mut setup = DemoSetup::start(&folder).await.expect("a stage");
    let ca = std::fs::read_to_string(&setup.ca_file).expect("a CA");
    // Nothing listens on the port of a socket that is gone.
    let socket = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let base = format!("https://{}", socket.local_addr().expect("an address"));
    drop(socket);
    setup.admission = Arc::new(AdmissionChain::new(&base, &ca).expect("a way"));

    let (unexpected, text) = run_scene(&setup, scene(Word::Denied, DELETE, &[])).await;
    assert_eq!(unexpected, 1);
    assert!(text.contains("failed calling webhook \"guard.bindery.dev\""), "{text}");
    assert!(setup.stored(VOLUME).expect("there")["metadata"]["deletionTimestamp"].is_null());

    let (unexpected, text) = run_scene(&setup, scene(Word::Allowed, CREATE, &[])).await;
    assert_eq!(unexpected, 1);
    assert!(text.contains("persistentvolumeclaim/search created"), "{text}");
    assert!(text.contains("NOT AS DOCUMENTED: advise.bindery.dev: "), "{text}");
}

#[tokio::test]
async fn a_webhook_of_another_ca_is_not_believed() {
    let folder = folder();
    let mut stage = DemoSetup::start(&folder).await.expect("a stage");
    let other = bindery::certificates::development(&bindery::certificates::SubjectNames::default());
    let base = format!("https://{}", stage.webhook.address());
    let admission = AdmissionChain::new(&base, &other.expect("a pair").ca_pem).expect("a way");
    stage.admission = Arc::new(admission);
    let (unexpected, text) = run_scene(&stage, scene(Word::Denied, DELETE, &[])).await;
    assert_eq!(unexpected, 1);
    assert!(text.contains("failed calling webhook"), "{text}");
}

#[tokio::test]
async fn a_controller_that_does_not_bind_is_counted_and_reported() {
    let folder = folder();
    let setup = DemoSetup::start(&folder).await.expect("a stage");
    // It is created by the webhook's scenes, which do not run here.
    let request = RESTORE.request("").expect("a request");
    assert!(run_scenes::ask(&setup, RESTORE.by, request).await.expect("asked").is_done);
    let mut out = Vec::new();
    let mut printer = Printer::new(&mut out, Colour::Off);
    let patience = Duration::from_millis(50);
    let scenes = &binding::SCENES[..2];
    let unexpected =
        binding::run(&setup, scenes, (ControllerMode::Observe, patience), &mut printer);
    assert_eq!(unexpected.await.expect("it ran"), 2);
    let text = String::from_utf8(out).expect("text");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("history Pending 10Gi pv-archive-0"), "{text}");
    let fault = "NOT AS DOCUMENTED: PVC \"qa/history\" should have PV pv-archive-0; \
         it is Pending with PV pv-archive-0";
    assert!(text.contains(fault), "{text}");
    assert!(text.contains("NOT AS DOCUMENTED: PVC \"qa/ledger\" does not exist"), "{text}");
    assert!(text.contains("0 PVCs bound"), "{text}");
    assert!(text.contains("2 NOT AS DOCUMENTED, which is a defect"), "{text}");
    setup.end().await.expect("ended");
}

#[tokio::test]
async fn an_undecided_claim_does_not_pass_for_a_waiting_one() {
    let folder = folder();
    let setup = DemoSetup::start(&folder).await.expect("a stage");
    let mut out = Vec::new();
    let mut printer = Printer::new(&mut out, Colour::Off);
    let patience = Duration::from_millis(50);
    let scenes = &binding::SCENES[3..];
    let unexpected =
        binding::run(&setup, scenes, (ControllerMode::Observe, patience), &mut printer);
    assert_eq!(unexpected.await.expect("it ran"), 1);
    let text = String::from_utf8(out).expect("text");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let fault = "NOT AS DOCUMENTED: no event of the PVC says \"no persistent volumes";
    assert!(text.contains(fault), "{text}");
    setup.end().await.expect("ended");
}

#[tokio::test]
async fn a_disk_that_is_not_offered_is_counted_and_reported() {
    let folder = folder();
    let setup = DemoSetup::start(&folder).await.expect("a stage");
    let mut out = Vec::new();
    let mut printer = Printer::new(&mut out, Colour::Off);
    // Two scans have to agree before a disk is offered.
    let unexpected = disks::run(&setup, &folder, Duration::ZERO, &mut printer).await;
    assert_eq!(unexpected.expect("it ran"), 3);
    let text = String::from_utf8(out).expect("text");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("NOT AS DOCUMENTED: PV local-pv-654b1e46 does not exist"), "{text}");
    assert!(text.contains("NOT AS DOCUMENTED: the text is 4 times on the disk, not 0"), "{text}");
    assert!(text.contains("3 scenes with a disk; 3 NOT AS DOCUMENTED"), "{text}");
    setup.end().await.expect("ended");
}

#[tokio::test]
async fn an_interruption_ends_it_at_once() {
    let options = DemoOptions::default();
    let mut out = Vec::new();
    let outcome = run_until(&options, &mut out, ready(())).await.expect("ended");
    assert_eq!(outcome, DemoOutcome::Interrupted);
    assert!(out.is_empty());
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_reported() {
    let options =
        DemoOptions { temporary: PathBuf::from("/nowhere/at/all"), ..DemoOptions::default() };
    let error = run_until(&options, &mut Vec::new(), pending()).await.expect_err("no folder");
    let reported = error.to_string();
    assert!(reported.starts_with("/nowhere/at/all/bindery-demo-"), "{reported}");
    assert!(reported.ends_with("set TMPDIR to a folder of yours"), "{reported}");
}
