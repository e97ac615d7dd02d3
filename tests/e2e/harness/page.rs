//! A page of the documentation: its blocks of commands, and a shell that runs them against a plane.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::plane::Plane;
use crate::plane::persona::Persona;

/// The blocks of the page in this language; those of a list are indented.
pub(crate) fn fenced(page: &str, language: &str) -> Vec<String> {
    let (mut blocks, mut open) = (Vec::new(), None);
    for line in page.lines() {
        match (&mut open, line.trim()) {
            (Some(_), "```") => blocks.extend(open.take()),
            (Some(block), _) => *block = format!("{block}{line}\n"),
            (None, fence) if fence == format!("```{language}") => open = Some(String::new()),
            (None, _) => {}
        }
    }
    blocks
}

/// The commands of a block that begin with none of these words, each on one line.
pub(crate) fn commands_without(elsewhere: &[&str], block: &str) -> Vec<String> {
    let joined = block.replace("\\\n", "");
    let lines = joined.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.filter(|line| !elsewhere.iter().any(|word| line.starts_with(word))).collect()
}

/// A shell in a folder in which `bindery`, `kubectl` and `helm` are those under test.
pub(crate) struct Shell<'a> {
    pub(crate) plane: &'a Plane,
    pub(crate) folder: &'a Path,
    pub(crate) user: Persona,
}

impl Shell<'_> {
    #[track_caller]
    pub(crate) fn run(&self, commands: &str) {
        let output = self.output(commands);
        assert!(output.status.success(), "{commands}\n{output:?}");
    }

    /// Runs the commands of a block that begin with none of these words. Returns them. Where the page expects the exit
    /// code 1, 0 fails too.
    #[track_caller]
    pub(crate) fn run_without(&self, elsewhere: &[&str], block: &str) -> Vec<String> {
        let commands = commands_without(elsewhere, block);
        self.run(&commands.join("\n").replace(" || test $? -eq 1", " && exit 9 || test $? -eq 1"));
        commands
    }

    pub(crate) fn output(&self, commands: &str) -> Output {
        let own = std::env::var_os("PATH").unwrap_or_default();
        let binary = Path::new(env!("CARGO_BIN_EXE_bindery")).parent().unwrap();
        let folders = [binary.to_owned(), self.plane.binaries().to_owned()];
        let folders = folders.into_iter().chain(std::env::split_paths(&own));
        Command::new("bash")
            .args(["-eu", "-o", "pipefail", "-c", commands])
            .current_dir(self.folder)
            .env("PATH", std::env::join_paths(folders).unwrap())
            .env("HOME", self.plane.home())
            .env("KUBECONFIG", self.plane.kubeconfig(self.user))
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }
}
