//! The pages about an installation, run as they are written on one control plane: a cluster is read, Bindery is
//! installed by the chart and rolled out stage by stage until it is the only binder, looked after, uninstalled, and
//! run without the chart.
//!
//! Not here: what needs an image, another tool, or the kubelet's own API (`ELSEWHERE`); what the installation does
//! meanwhile (`changes`, `renewals`).

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use super::site::{Site, unclaimed_volume};
use crate::page::{Shell, commands_without, fenced};
use crate::plane::Peers;
use crate::plane::persona::ADMIN;
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[case!(the_pages_of_an_installation_run_as_they_are_written)];

const README: &str = include_str!("../../../../README.md");
const CHART: &str = include_str!("../../../../charts/bindery/README.md");
const INSTALL: &str = include_str!("../../../../docs/how-to/install.md");
const OPERATE: &str = include_str!("../../../../docs/how-to/operate.md");
const RECYCLE: &str = include_str!("../../../../docs/how-to/recycle.md");
const REPLACE: &str = include_str!("../../../../docs/how-to/replace-the-in-tree-binder.md");
const ROLL_OUT: &str = include_str!("../../../../docs/how-to/roll-out.md");
const TROUBLESHOOT: &str = include_str!("../../../../docs/how-to/troubleshoot.md");

/// Commands that build or load an image, those of other tools, and those that a kubelet answers.
const ELSEWHERE: &[&str] = &[
    "make ",
    "kind ",
    "k3s ",
    "ctr ",
    "skopeo ",
    "cargo ",
    "ln ",
    "kubectl -n bindery port-forward ",
    "sleep ",
    "curl ",
    "kill ",
    "kubectl -n $N logs ",
];

/// Where the Prometheus operator is missing; two pages say so.
const WITHOUT_OPERATOR: [&str; 2] =
    ["--set metrics.serviceMonitor.enabled=false", "--set metrics.prometheusRule.enabled=false"];

/// The address on which the page on installing runs the webhook without the chart.
const ADDRESS: &str = "192.0.2.10";

/// A node on which nothing runs: another one reaches what it reaches.
const SPARE: &str = r#"for node in spare other; do
  echo "{apiVersion: v1, kind: Node, metadata: {name: $node}, status: {conditions: [{type: Ready, status: 'True'}]}}" |
    kubectl create -f -
done"#;

fn the_pages_of_an_installation_run_as_they_are_written() {
    let site = Site::on(Peers::AuditedCluster, "restricted");
    let folder = tempfile::tempdir().unwrap();
    let mut reader = Reader::new(&site, folder.path());
    reader.rolls_out();
    reader.replaces_the_binder();
    reader.troubleshoots();
    reader.meets_no_other_command();
    reader.uninstalls();
    reader.runs_without_the_chart();
}

/// Somebody who follows the pages.
struct Reader<'a> {
    site: &'a Site,
    shell: Shell<'a>,
    /// Every command that was run.
    ran: Vec<String>,
}

impl<'a> Reader<'a> {
    /// In a folder that holds what a clone of the repository does, beside a cluster that holds the tutorial's storage.
    fn new(site: &'a Site, folder: &'a Path) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        for name in ["charts", "examples"] {
            symlink(root.join(name), folder.join(name)).unwrap();
        }
        fs::write(folder.join("unclaimed.json"), unclaimed_volume().to_string()).unwrap();
        let shell = Shell { plane: site.plane, folder, user: ADMIN };
        shell.run("kubectl create namespace db && kubectl apply -f examples/tutorial/storage.yaml");
        Self { site, shell, ran: Vec::new() }
    }

    #[track_caller]
    fn run(&mut self, block: &str) {
        self.ran.extend(self.shell.run_without(ELSEWHERE, block));
    }

    /// From nothing to the profile strict, with what the pages on installing and operating say in between.
    fn rolls_out(&mut self) {
        let [scan, accept, audit, count, warn, deny, strict] = &blocks(ROLL_OUT);
        let [.., doctor, renew, _, _, _] = &blocks::<10>(INSTALL);
        let [try_values, upgrade, _, _] = &blocks(OPERATE);
        self.shell.run("kubectl apply -f unclaimed.json");
        for block in [scan, accept] {
            self.run(block);
        }
        self.shell
            .run("grep -q prebind-incomplete baseline.yaml && kubectl delete -f unclaimed.json");
        for block in [audit, count, doctor, renew, warn, deny] {
            self.run(block);
        }
        self.site.await_denial();
        for block in [try_values, upgrade] {
            self.run(&block.replace("STAGE.yaml", "charts/bindery/values-deny.yaml"));
        }
        self.run(&without_operator(ROLL_OUT, strict));
    }

    /// Nothing binds in this cluster until Bindery does.
    fn replaces_the_binder(&mut self) {
        let [compare, full, forget] = &blocks(REPLACE);
        self.run(compare);
        let full = without_operator(REPLACE, full);
        self.run(&full.replace("--wait", "--dry-run=server"));
        self.run(&full);
        self.shell.run(
            "kubectl -n db wait pvc/data --for=jsonpath='{.status.phase}'=Bound --timeout=30s",
        );
        self.run(forget);
    }

    fn troubleshoots(&mut self) {
        let pod = "kubectl -n db run web --image=web --dry-run=client -o yaml";
        self.shell.run(&format!("{pod} | kubectl apply -f -"));
        self.shell.run(SPARE);
        let [variables, symptoms @ ..] = &fenced(TROUBLESHOOT, "sh")[..] else {
            panic!("the page has no blocks")
        };
        let (variables, rest) = variables.split_once('\n').unwrap();
        for block in std::iter::once(rest).chain(symptoms.iter().map(String::as_str)) {
            let named = [
                "pvc/NAME",
                "pod/NAME",
                "pv/NAME",
                "pv NAME",
                "set/NAME",
                "node/NAME",
                "NAMESPACE",
            ];
            let names =
                ["pvc/data", "pod/web", "pv/db-data", "pv db-data", "set/web", "node/spare", "db"];
            let block = named
                .iter()
                .zip(names)
                .fold(block.to_owned(), |block, (from, to)| block.replace(from, to));
            // No node is there for the pod, and no StatefulSet has one.
            let block = block.replace("pod/web -n db", "pod/web -n db || test $? -eq 1");
            let block = block.replace("set/web -n db", "set/web -n db || test $? -eq 2");
            self.run(&format!("{variables}\n{block}"));
        }
        let [.., drain] = &blocks::<4>(OPERATE);
        self.run(&drain.replace("node/NAME", "node/spare").replace("drain NAME", "drain spare"));
        let [watch] = &blocks(RECYCLE);
        self.run(&watch.replace("NAME", "db-data"));
    }

    /// The remaining pages have the same commands.
    fn meets_no_other_command(&mut self) {
        let [_, look, install, enforce] = &blocks(README);
        self.run(&look.replace("NAMESPACE", "db").replace("NAME", "data"));
        let [chart] = &blocks(CHART);
        let [_, _, _, _, again, ..] = &blocks::<10>(INSTALL);
        for block in [install, enforce, chart, again] {
            for command in commands_without(ELSEWHERE, block) {
                assert!(self.ran.contains(&command), "{command} is on no page that is run");
            }
        }
    }

    fn uninstalls(&mut self) {
        let [.., uninstall, _] = &blocks::<4>(OPERATE);
        let back = "helm upgrade bindery charts/bindery -n bindery --reuse-values --set controller.mode=observe";
        self.shell.run(&format!("{back} --wait"));
        self.run(uninstall);
        let registrations = "validatingwebhookconfiguration,mutatingwebhookconfiguration";
        self.shell.run(&format!("test -z \"$(kubectl get {registrations} -o name)\""));
    }

    /// The webhook denies on an address of this machine, until it is switched off.
    fn runs_without_the_chart(&mut self) {
        let [.., by_hand, off] = &blocks::<10>(INSTALL);
        let added = Command::new("ip").args(["addr", "replace", ADDRESS, "dev", "lo"]).status();
        assert!(added.is_ok_and(|status| status.success()), "the address cannot be added");
        let home = self.site.plane.home();
        fs::create_dir_all(home.join(".kube")).unwrap();
        fs::copy(self.site.plane.kubeconfig(ADMIN), home.join(".kube/config")).unwrap();
        let create =
            "kubectl create --dry-run=server -f unclaimed.json 2>&1 | grep -q prebind-incomplete";
        self.shell.run(&format!(
            "trap 'kill -9 $!' EXIT\n{by_hand}\n\
             timeout 60 sh -c 'until {create}; do sleep 0.1; done'\n{off}\n\
             timeout 60 sh -c 'while {create}; do sleep 0.1; done'"
        ));
    }
}

/// The shell blocks of a page. Fails where there are not `COUNT`, so that a new one is not left out.
#[track_caller]
fn blocks<const COUNT: usize>(page: &str) -> [String; COUNT] {
    let blocks = fenced(page, "sh");
    blocks.try_into().unwrap_or_else(|blocks| panic!("the page has other blocks: {blocks:#?}"))
}

/// A block with the settings that its page names for a cluster without the Prometheus operator.
#[track_caller]
fn without_operator(page: &str, block: &str) -> String {
    for setting in WITHOUT_OPERATOR {
        assert!(page.contains(&format!("`{setting}`")), "the page does not name {setting}");
    }
    block.replacen("--wait", &format!("{} --wait", WITHOUT_OPERATOR.join(" ")), 1)
}
