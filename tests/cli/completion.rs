//! Completion: what a shell and kubectl are offered, from the program itself, a dump and a cluster.

use std::fs::canonicalize;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use bindery::rules::RULES;
use bindery::rules::mutations::MUTATIONS;
use serde_json::{Value, json};

use super::bad_input::kubeconfig;
use super::cluster::server;
use crate::{Folder, LIVE, run};

const BINARY: &str = env!("CARGO_BIN_EXE_bindery");

/// What is offered for the last of the words, as bash gets it.
fn offered(folder: &Folder, words: &[&str]) -> Vec<String> {
    let output = Command::new(BINARY)
        .arg("--")
        .args(words)
        .current_dir(folder.path())
        .env_clear()
        .env("HOME", folder.path())
        .env("BINDERY_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string())
        .env("_CLAP_IFS", "\n")
        .output()
        .expect("the binary runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*stderr), (Some(0), ""), "{words:?}");
    String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect()
}

/// Two namespaces with claims, and a node.
fn answer(path: &str) -> (u16, Value) {
    let named = |names: &[&str]| {
        let items = names.iter().map(|name| json!({"metadata": {"name": name}}));
        (200, json!({"kind": "List", "items": items.collect::<Vec<_>>()}))
    };
    match path {
        "/api/v1/namespaces?limit=500" => named(&["shop", "shop-test", "default"]),
        "/api/v1/namespaces/shop/persistentvolumeclaims?limit=500" => named(&["data", "logs"]),
        "/api/v1/namespaces/default/persistentvolumeclaims?limit=500" => named(&["scratch"]),
        "/api/v1/nodes?limit=500" => named(&["n1", "n2"]),
        "/apis/apps/v1/namespaces/shop/statefulsets?limit=500" => named(&["db"]),
        _ => (403, json!({"kind": "Status", "code": 403, "message": "no"})),
    }
}

#[test]
fn every_rule_and_mutation_is_offered() {
    let all: Vec<&str> =
        RULES.iter().map(|rule| rule.id).chain(MUTATIONS.iter().map(|one| one.id)).collect();
    let folder = Folder::new();
    let found: Vec<String> = offered(&folder, &["bindery", "rule", ""])
        .into_iter()
        .filter(|id| !id.starts_with('-'))
        .collect();
    assert_eq!(found, all);
    assert_eq!(offered(&folder, &["bindery", "rule", "recycle"]), ["recycle-policy"]);
}

#[test]
fn contexts_are_those_of_the_kubeconfig_that_the_line_names() {
    let folder = Folder::new();
    folder.write(".kube/config", kubeconfig(1));
    folder.write("other", kubeconfig(1).replace("name: a, context", "name: production, context"));
    assert_eq!(offered(&folder, &["bindery", "scan", "--context", ""]), ["a"]);
    let other = ["bindery", "scan", "--kubeconfig", "other", "--context", "p"];
    assert_eq!(offered(&folder, &other), ["production"]);
    assert!(
        offered(&folder, &["bindery", "scan", "--kubeconfig", "none", "--context", ""]).is_empty()
    );
}

#[test]
fn objects_are_those_of_the_cluster_and_the_namespace_of_the_line() {
    let (port, _paths) = server(answer);
    let folder = Folder::new();
    folder.write(".kube/config", kubeconfig(port));
    let rows: [(&str, &[&str]); 11] = [
        ("transfer pvc/", &["pvc/scratch"]),
        ("transfer -n shop pvc/", &["pvc/data", "pvc/logs"]),
        ("transfer pvc/shop/l", &["pvc/shop/logs"]),
        ("explain -n shop pvc d", &["data"]),
        ("explain -n shop statefulset/", &["statefulset/db"]),
        ("explain p", &["pvc/", "pv/", "pod/"]),
        ("plan --drain node/n", &["node/n1", "node/n2"]),
        ("transfer pvc/data --to sh", &["shop", "shop-test"]),
        ("explain pvc/data -n shop-", &["shop-test"]),
        // The account may not list these, and the last is no kind.
        ("explain pv/", &[]),
        ("explain nothing/", &[]),
    ];
    for (line, expected) in rows {
        let words: Vec<&str> = ["bindery"].into_iter().chain(line.split(' ')).collect();
        assert_eq!(offered(&folder, &words), expected, "{line}");
    }
}

#[test]
fn without_a_cluster_nothing_is_offered_and_nothing_is_printed() {
    let folder = Folder::new();
    assert!(offered(&folder, &["bindery", "explain", "pvc/"]).is_empty());
    folder.write(".kube/config", kubeconfig(1));
    assert!(offered(&folder, &["bindery", "explain", "pvc/"]).is_empty());
}

#[test]
fn objects_of_a_dump_are_offered_where_the_line_names_one() {
    let folder = Folder::new();
    folder.write("dump.yaml", LIVE);
    let explain = ["bindery", "explain", "-f", "dump.yaml", "pv/"];
    assert_eq!(offered(&folder, &explain), ["pv/pv-a"]);
    let check = ["bindery", "check", "--live", "dump.yaml", "--delete", "pvc/db/"];
    assert_eq!(offered(&folder, &check), ["pvc/db/data"]);
}

/// The script as bash runs it, with the words of a person's line.
#[test]
fn bash_asks_the_program() {
    let folder = Folder::new();
    let binaries = canonicalize(Path::new(BINARY).parent().expect("a folder")).expect("a path");
    let script = "set -eu; PATH=$BINARIES:$PATH; source <(bindery generate completion bash); complete -p bindery; \
         COMP_WORDS=(bindery rule recyc); COMP_CWORD=2 COMP_TYPE=9; \
         _clap_complete_bindery bindery recyc rule; echo \"${COMPREPLY[*]}\"";
    let output = Command::new("bash")
        .args(["-c", script])
        .current_dir(folder.path())
        .env("BINARIES", binaries)
        .output()
        .expect("bash runs");
    let stdout = String::from_utf8(output.stdout).expect("text");
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(
        lines.last(),
        Some(&"recycle-policy"),
        "{stdout}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(lines[0].ends_with("-F _clap_complete_bindery bindery"), "{stdout}");
}

#[test]
fn every_shell_gets_a_script_that_asks_the_program() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = Folder::new().run(&["generate", "completion", shell]);
        assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{shell}");
        assert!(output.stdout.contains("BINDERY_COMPLETE"), "{shell}");
    }
}

/// kubectl starts the program as `kubectl_complete-bindery`; the last line says that no files are offered.
#[test]
fn kubectl_is_answered_in_its_own_form() {
    let folder = Folder::new();
    let completion = folder.path().join("kubectl_complete-bindery");
    symlink(BINARY, &completion).expect("a link");
    let answered = |words: &[&str]| {
        let output = run(&completion, &folder, words, "");
        assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{words:?}");
        output.stdout
    };
    let recycle = RULES.iter().find(|rule| rule.id == "recycle-policy").expect("a rule");
    let hazard = recycle.page.hazard;
    assert_eq!(answered(&["rule", "recyc"]), format!("recycle-policy\t{hazard}\n:4\n"));
    assert_eq!(answered(&["explain", "po"]), "pod/\n:6\n");
    assert!(answered(&[""]).starts_with("webhook\tServe the admission webhook"));
    assert_eq!(answered(&["rule", "no-such-rule"]), ":4\n");
}

#[test]
fn a_shell_that_is_not_known_is_an_error() {
    let output = Command::new(BINARY).env("BINDERY_COMPLETE", "tcsh").output().expect("it runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("unknown shell `tcsh`") && stderr.lines().count() == 1, "{stderr}");
}
