//! `docs/tutorial.md`, run as it is written beside Kubernetes' own binder, up to where it needs an image and a node.
//!
//! Not here: installing the chart (`installation`).

use std::path::Path;

use super::gitops::{Shell, fenced};
use crate::plane::persona::ADMIN;
use crate::plane::{Peers, Plane};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[case!(the_tutorial_runs_as_it_is_written)];

const PAGE: &str = include_str!("../../../docs/tutorial.md");

/// What a machine needs a container engine, a node or a compiler for.
const ELSEWHERE: [&str; 2] = ["kind ", "cargo "];

fn the_tutorial_runs_as_it_is_written() {
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shell = Shell { plane: &plane, folder, user: ADMIN };
    let blocks = fenced(PAGE, "sh");
    let here = blocks.iter().take_while(|block| !block.contains("make image"));
    let mut count = 0;
    for block in here {
        let is_here = |line: &&str| !ELSEWHERE.iter().any(|word| line.starts_with(word));
        let lines: Vec<&str> = block.lines().filter(is_here).collect();
        shell.run(&lines.join("\n"));
        count += lines.len();
    }
    assert!(count >= 10, "only {count} lines of the tutorial ran");
}
