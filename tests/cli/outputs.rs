//! A report in each of its forms: what it says, and that those who read the form can read it.

use bindery::document;
use serde_json::{Value, json};
use uppsala::XsdValidator;

use super::schemas::expect_valid;
use crate::{Folder, LIVE, volume};

const FORMS: [&str; 8] = ["text", "wide", "json", "yaml", "junit", "sarif", "github", "markdown"];

/// What holds for every sign that means something in a form: in a name of a file, and in a sentence.
const ODD: &str = "odd, [50%]: <a|b> & \"c\".yaml";

/// A folder with a denial, a rejection by the API server, a warning, an exemption, a mutation, something unverified
/// and something clean.
fn folder() -> Folder {
    let folder = Folder::new();
    let exempt = "allow.bindery.dev/bound-volume-access-modes: \"UNTIL moving, 50% done\"";
    let until = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(2);
    let exempt = exempt.replace("UNTIL", &until.to_string());
    folder.write(
        "live.yaml",
        LIVE.replace("uid: u1,", &format!("uid: u1, annotations: {{{exempt}}},")),
    );
    // A dump from the future is no second old, however long the forms take.
    let dump = std::fs::File::options().append(true).open(folder.path().join("live.yaml"));
    let future = std::time::SystemTime::now() + std::time::Duration::from_hours(1);
    dump.and_then(|dump| dump.set_modified(future)).expect("a dump");
    let mut volume = volume("5Gi").replace("ReadWriteOnce", "ReadWriteMany");
    volume = volume.replace("name: pv-a", &format!("name: pv-a\n  annotations: {{{exempt}}}"));
    folder.write(ODD, volume);
    let claim = "kind: PersistentVolumeClaim\napiVersion: v1\nmetadata:\n  name: data\n  namespace: db\nspec:\n  \
        accessModes: [ReadWriteOnce]\n  volumeName: pv-other\n  volumeMode: Filesystem\n  resources: {requests: {storage: 20Gi}}\n";
    folder.write("claim.yaml", claim);
    let created = "kind: PersistentVolume\napiVersion: v1\nmetadata: {name: NAME}\nspec:\n  capacity: {storage: 1Gi}\n  \
        accessModes: [ReadWriteOnce]\n  SOURCE\n";
    let of = |name: &str, source: &str| created.replace("NAME", name).replace("SOURCE", source);
    folder.write("warned.yaml", of("pv-warned", "hostPath: {path: /srv}"));
    folder.write("clean.yaml", of("pv-clean", "nfs: {server: b, path: /srv/clean}"));
    let stale =
        "nfs: {server: c, path: /srv/stale}\n  claimRef: {namespace: db, name: gone, uid: u9}";
    folder.write("mutated.yaml", of("pv-edited", stale));
    folder.write(
        "owned.yaml",
        of("pv-owned", "nfs: {server: d, path: /d}").replace(
            "{name: pv-owned}",
            "{name: pv-owned, ownerReferences: [{apiVersion: a/v1, kind: A, name: a, uid: u8}]}",
        ),
    );
    folder
}

const ARGUMENTS: [&str; 15] = [
    "check",
    "-f",
    ODD,
    "-f",
    "claim.yaml",
    "-f",
    "warned.yaml",
    "-f",
    "clean.yaml",
    "-f",
    "mutated.yaml",
    "-f",
    "owned.yaml",
    "--live",
    "live.yaml",
];

/// Returns what is printed in this form.
fn printed(folder: &Folder, form: &str) -> String {
    let output = folder.run(&[&ARGUMENTS[..], &["-o", form]].concat());
    assert_eq!((output.code, output.stderr.as_str()), (1, ""), "{form}: {output:?}");
    output.stdout
}

#[test]
fn every_form_is_written_at_once_and_as_alone() {
    let folder = folder();
    let outputs: Vec<String> =
        FORMS.iter().flat_map(|form| ["-o".to_owned(), format!("{form}=report.{form}")]).collect();
    let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
    let output = folder.run(&[&ARGUMENTS[..], &outputs].concat());
    assert_eq!((output.code, output.stdout.as_str(), output.stderr.as_str()), (1, "", ""));
    for form in FORMS {
        assert_eq!(folder.read(&format!("report.{form}")), printed(&folder, form), "{form}");
    }
}

#[test]
fn json_and_yaml_are_one_report_and_what_the_schema_promises() {
    let folder = folder();
    let json: Value = serde_json::from_str(&printed(&folder, "json")).expect("JSON");
    expect_valid("report", &json);
    let yaml = document::read(&printed(&folder, "yaml")).expect("YAML");
    assert_eq!(yaml[0].to_json(), json);
    let summary = json!({"objects": 6, "denied": 1, "warned": 1, "audited": 0, "exempted": 0, "api": 1,
        "unverified": 1});
    assert_eq!(json["summary"], summary, "{json:#}");
    assert_eq!(json["mutations"][0]["mutation"], "repair-stale-claim-ref");
    let exempted = json["findings"].as_array().expect("findings").iter();
    let exempted: Vec<_> = exempted.filter(|finding| finding["result"] == "exempted").collect();
    assert_eq!(exempted[0]["exempt"]["reason"], "moving, 50% done");
    assert_eq!(exempted[0]["rule"], "bound-volume-access-modes");
}

/// The policy of the rule sees no exemption; another rule has none.
#[test]
fn a_finding_names_who_enforces_it_where_the_policies_are_installed() {
    let folder = folder();
    for (more, exempted, of_owner) in [
        (&[][..], json!(["webhook"]), json!(["webhook"])),
        (&["--policies=beside"], json!(["webhook", "policy"]), json!(["webhook"])),
        (&["--policies=instead"], json!(["policy"]), json!(["nothing"])),
    ] {
        let output = folder.run(&[&ARGUMENTS[..], &["-o", "json"], more].concat());
        let json: Value = serde_json::from_str(&output.stdout).expect("JSON");
        expect_valid("report", &json);
        let findings = json["findings"].as_array().expect("findings");
        let enforced_by = |key: &str, value: &str| {
            let found = findings.iter().find(|finding| finding[key] == value);
            found.unwrap_or_else(|| panic!("{value}: {json:#}"))["enforcedBy"].clone()
        };
        assert_eq!(enforced_by("rule", "bound-volume-access-modes"), exempted, "{more:?}");
        assert_eq!(enforced_by("rule", "orphan-owner"), of_owner, "{more:?}");
        assert_eq!(enforced_by("result", "api"), json!(["api-server"]), "{more:?}");
    }
}

#[test]
fn sarif_is_that_of_oasis() {
    let log: Value = serde_json::from_str(&printed(&folder(), "sarif")).expect("JSON");
    let mut schema: Value =
        serde_json::from_str(include_str!("../schemas/sarif-2.1.0.json")).expect("a schema");
    // As published it has a bracket too many, which strict readers reject; nothing of ours has a language.
    for part in ["run", "toolComponent"] {
        let language = &mut schema["definitions"][part]["properties"]["language"];
        language.as_object_mut().expect("a map").remove("pattern").expect("the pattern");
    }
    let validator = jsonschema::draft7::new(&schema).expect("a schema");
    let errors: Vec<String> = validator
        .iter_errors(&log)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let mut wrong = log.clone();
    wrong["runs"][0]["results"][0]["level"] = json!("fatal");
    assert!(!validator.is_valid(&wrong), "the schema rejects nothing");

    let results = log["runs"][0]["results"].as_array().expect("results");
    let denied = results.iter().find(|result| result["level"] == "error").expect("a denial");
    assert_eq!(denied["ruleId"], "bound-volume-capacity");
    let place = &denied["locations"][0]["physicalLocation"];
    let uri = "odd%2C%20%5B50%25%5D%3A%20%3Ca%7Cb%3E%20%26%20%22c%22.yaml";
    assert_eq!(place["artifactLocation"]["uri"], uri);
    assert_eq!(place["region"], json!({"startLine": 8, "startColumn": 5}));
    let suppressed = results.iter().filter(|result| result.get("suppressions").is_some());
    assert_eq!(suppressed.count(), 1);
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().expect("rules");
    let ids: Vec<&str> = rules.iter().filter_map(|rule| rule["id"].as_str()).collect();
    for result in results {
        assert!(ids.contains(&result["ruleId"].as_str().expect("an id")), "{result}");
    }
}

#[test]
fn junit_is_what_build_servers_read() {
    let text = printed(&folder(), "junit");
    let schema = uppsala::parse(include_str!("../schemas/junit.xsd")).expect("XML");
    let schema = XsdValidator::from_schema(&schema).expect("a schema");
    let errors = |text: &str| schema.validate(&uppsala::parse(text).expect("XML")).len();
    assert_eq!(errors(&text), 0, "{text}");
    assert_ne!(errors(&text.replace("classname", "class")), 0, "the schema rejects nothing");
    let counts = "tests=\"6\" skipped=\"1\" failures=\"2\" errors=\"0\"";
    assert!(text.contains(counts), "{text}");
    assert!(text.contains("<skipped message=\"[orphan-owner] "), "{text}");
    assert!(text.contains(": exempted: [bound-volume-access-modes] "), "{text}");
}

#[test]
fn github_gets_a_command_for_each_finding() {
    let text = printed(&folder(), "github");
    let lines: Vec<&str> = text.lines().collect();
    let begins = |start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
    let file = "::error file=odd%2C [50%25]%3A <a|b> & \"c\".yaml,line=8,col=5,title=bound-volume-capacity%3A \
        PersistentVolume pv-a::[bound-volume-capacity] ";
    assert_eq!(begins(file), 1, "{text}");
    assert_eq!((begins("::error "), begins("::warning ")), (2, 2), "{text}");
    assert_eq!(begins("::notice "), 2, "{text}");
    assert!(lines.last().is_some_and(|line| line.starts_with("6 objects: 1 denied")), "{text}");
}

#[test]
fn markdown_puts_denials_first_and_escapes() {
    let text = printed(&folder(), "markdown");
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).collect();
    assert!(
        rows[2].starts_with("| **denied** | PersistentVolume pv-a | odd, \\[50%\\]: \\<a\\|b\\> "),
        "{text}"
    );
    assert!(
        rows[3].starts_with("| **api** | PersistentVolumeClaim db/data | claim.yaml:"),
        "{text}"
    );
    assert!(text.contains("The webhook would mutate:\n\n* PersistentVolume pv-edited: "), "{text}");
}

#[test]
fn wide_is_a_table_with_every_patch() {
    let text = printed(&folder(), "wide");
    let head = text.lines().next().expect("a head");
    let columns: Vec<&str> =
        head.split("  ").filter(|column| !column.is_empty()).map(str::trim).collect();
    let expected = [
        "RESULT",
        "RULE",
        "OPERATION",
        "OBJECT",
        "FIELD",
        "ENFORCED BY",
        "AT STAKE",
        "WHERE",
        "WHY",
    ];
    assert_eq!(columns, expected);
    assert!(
        text.contains("PersistentVolume pv-edited: repair-stale-claim-ref: [{\"op\":\"remove\""),
        "{text}"
    );
}
