//! `docs/how-to/policies.md`, run as it is written: from the policies to the denial.

use std::path::Path;
use std::time::Duration;

use crate::eventually::eventually;
use crate::page::{Shell, commands_without, fenced};
use crate::plane::persona::ADMIN;
use crate::plane::{Peers, Plane};

const PAGE: &str = include_str!("../../../../docs/how-to/policies.md");

pub(super) fn the_page_denies_as_it_is_written() {
    let blocks = fenced(PAGE, "sh");
    let [apply, plane, commands, ..] = blocks.as_slice() else { panic!("{blocks:?}") };
    assert_eq!(plane, "make plane\n");
    // The program is the one under test.
    let commands = commands_without(&["cargo install "], commands);
    assert!(commands.len() <= 6, "ten with clone, plane, export and installation: {commands:?}");
    assert!(commands.contains(&apply.trim().to_owned()), "{commands:?}");
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shell = Shell { plane: &plane, folder, user: ADMIN };
    let mut denials = 0;
    for command in &commands {
        if !command.starts_with("kubectl delete pv ") {
            shell.run(command);
            continue;
        }
        // The API server takes new policies in once a second; a person types slower.
        eventually("the deletion is denied", Duration::from_secs(30), || {
            let output = shell.output(&format!("{command} --dry-run=server"));
            let stderr = String::from_utf8_lossy(&output.stderr);
            if stderr.contains("[bound-volume-delete]") {
                Ok(())
            } else {
                Err(format!("{output:?}"))
            }
        });
        let output = shell.output(command);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        denials += 1;
    }
    assert_eq!(denials, 1, "{commands:?}");
}
