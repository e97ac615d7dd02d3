//! On what was measured: the machine, and the versions of what took part.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::programs;

/// Lines of a table: what, and which.
pub(crate) fn rows() -> Vec<(&'static str, String)> {
    vec![
        ("processor", format!("{} threads of {}", threads(), field("/proc/cpuinfo", "model name"))),
        ("memory", memory()),
        ("kernel", kernel()),
        ("Bindery", env!("CARGO_PKG_VERSION").to_owned()),
        ("Kubernetes", version_in("tests/kube/go.mod", "k8s.io/kubernetes")),
        ("controller-runtime", version_in("benches/peer/go.mod", "sigs.k8s.io/controller-runtime")),
        ("nginx", version_of("nginx", "-v")),
        ("wrk", version_of("wrk", "-v")),
        ("valgrind", version_of("valgrind", "--version")),
        ("rustc", version_of("rustc", "--version")),
    ]
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The release without what a builder put behind it.
fn kernel() -> String {
    let release = read("/proc/sys/kernel/osrelease");
    format!("Linux {}", release.trim().split('-').next().unwrap_or_default())
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// What a file of `/proc` says after a name and a colon.
fn field(path: &str, name: &str) -> String {
    let text = read(path);
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_once(':').map_or("unknown", |(_, value)| value.trim()).to_owned()
}

fn memory() -> String {
    let kibibytes = field("/proc/meminfo", "MemTotal");
    let kibibytes = kibibytes.split_whitespace().next().and_then(|number| number.parse().ok());
    kibibytes.map_or("unknown".to_owned(), |kibibytes: u64| format!("{} GiB", kibibytes >> 20))
}

/// The version of a Go module in a file of this repository.
fn version_in(file: &str, module: &str) -> String {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file));
    let text = text.unwrap_or_default();
    let mut words = text.lines().map(str::split_whitespace);
    let version =
        words.find_map(|mut words| words.find(|word| *word == module).and_then(|_| words.next()));
    version.unwrap_or("unknown").to_owned()
}

/// The first number with a dot in what a program says of itself.
fn version_of(program: &str, argument: &str) -> String {
    let said = programs::find(program)
        .ok()
        .and_then(|path| Command::new(path).arg(argument).output().ok())
        .map(|output| [output.stdout, output.stderr].concat())
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let Some(said) = said else { return "not installed".to_owned() };
    let mut words = said.split(|one: char| !one.is_ascii_digit() && one != '.');
    words.find(|word| word.contains('.') && word.len() > 1).unwrap_or("unknown").to_owned()
}
