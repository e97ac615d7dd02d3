//! `docs/pictures/explain.svg`: what it shows of kubectl is what a real cluster answers.

use std::path::Path;
use std::time::Duration;

use bindery::document;
use serde_json::Value;

use crate::eventually::eventually;
use crate::no_false_denials::world::World;
use crate::page::Shell;
use crate::plane::persona::ADMIN;
use crate::plane::{Peers, Plane};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[case!(the_picture_shows_what_kubectl_answers)];

const PICTURE: &str = include_str!("../../../docs/pictures/explain.svg");
const DUMP: &str = include_str!("../../../examples/pending.yaml");

/// The objects of the dump that a person creates before the picture begins; the others are bound.
const CREATED: [&str; 5] = ["media", "archive", "nfs-small", "nfs-films", "films"];

fn the_picture_shows_what_kubectl_answers() {
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let world = World { plane: &plane, name: "media" };
    create(&world);
    let shell = Shell { plane: &plane, folder: Path::new("/"), user: ADMIN };
    let shown = text_of(PICTURE);
    let commands: Vec<&str> = shown.iter().filter_map(|line| line.strip_prefix("$ ")).collect();
    let [get, explain, fix, _, again] = commands.as_slice() else {
        panic!("the picture has other commands: {commands:?}")
    };
    let is_pending = |_: &str| true;
    expect_answer(&shell, &shown, 0, get, is_pending);
    let explained = shell.output(explain);
    assert_eq!(explained.status.code(), Some(1), "{explained:?}");
    let explained = String::from_utf8_lossy(&explained.stdout).into_owned();
    assert_eq!(explained.lines().last(), Some(*fix), "{explained}");
    expect_answer(&shell, &shown, 2, fix, is_pending);
    expect_answer(&shell, &shown, 4, again, |answer| answer.contains("Bound"));
}

/// Creates the objects of the dump that are not bound.
fn create(world: &World<'_>) {
    let dump = document::read(DUMP).expect("the dump is YAML")[0].to_json();
    for object in dump["items"].as_array().expect("a list") {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let path = match object["kind"].as_str() {
            _ if !CREATED.contains(&name) => continue,
            Some("Namespace") => {
                world.namespace(name);
                continue;
            }
            Some("StorageClass") => "/apis/storage.k8s.io/v1/storageclasses",
            Some("PersistentVolume") => "/api/v1/persistentvolumes",
            Some("PersistentVolumeClaim") => "/api/v1/namespaces/media/persistentvolumeclaims",
            _ => continue,
        };
        let mut object = object.clone();
        object["status"] = Value::Null;
        world.post(ADMIN, path, &object).expect_ok();
    }
    for name in ["nfs-small", "nfs-films"] {
        world.until(&format!("/api/v1/persistentvolumes/{name}"), "Available");
    }
    world.until("/api/v1/namespaces/media/persistentvolumeclaims/films", "Pending");
}

/// Runs a command until its answer `is_due`, and compares that with what the picture shows below the command of this
/// number, but for the age.
fn expect_answer(
    shell: &Shell<'_>,
    shown: &[String],
    number: usize,
    command: &str,
    is_due: impl Fn(&str) -> bool,
) {
    let begins = |line: &&String| line.starts_with("$ ");
    let mut blocks = shown.split(|line| begins(&line)).skip(1);
    let below = blocks.nth(number).expect("the picture has the command");
    let expected: Vec<&str> =
        below.iter().filter(|line| !line.is_empty()).map(|line| ageless(line)).collect();
    eventually(command, Duration::from_mins(1), || {
        let output = shell.output(command);
        let answer = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() && is_due(&answer) {
            let answer: Vec<&str> = answer.lines().map(ageless).collect();
            assert_eq!(answer, expected, "{command}");
            Ok(())
        } else {
            Err(format!("{output:?}"))
        }
    });
}

/// The line of a table without its last column; any other line as it is.
fn ageless(line: &str) -> &str {
    line.rsplit_once("   ").map_or(line, |(before, _)| before.trim_end())
}

/// The lines of text in a picture of a terminal.
fn text_of(svg: &str) -> Vec<String> {
    let lines = svg.lines().filter(|line| line.trim_start().starts_with("<tspan x="));
    let text = lines.map(|line| {
        let pieces = line.split('<').filter_map(|piece| Some(piece.split_once('>')?.1));
        let text: String = pieces.collect();
        text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
    });
    text.collect()
}
