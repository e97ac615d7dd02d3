//! A cluster whose etcd is restored, and whose volumes went on meanwhile: moves end as before, and the trash keeps a volume
//! for its time. What the trash cannot know, and what a person has to do about it.

use crate::moves::interrupted::cut_off;
use crate::moves::scene::Scene;
use crate::moves::trash::{Binder, Trash, record, until_over};
use crate::page::{Shell, fenced};
use crate::plane::persona::ADMIN;
use crate::plane::{Peers, Plane, claim_path};
use crate::proxy::{Proxy, Trouble};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case!(moves_end_after_etcd_is_restored),
    case!(volumes_of_the_trash_are_safe_after_etcd_is_restored_as_the_page_says),
];

const PAGE: &str = include_str!("../../../../docs/how-to/backup-and-restore.md");

const CONFIGURATION: &str = "\
apiVersion: bindery.dev/v1
kind: Config
trash: {keep: 1h}
";

/// A time that is over after a restore of etcd, and not before its backup.
const SHORT: &str = "30s";

fn moves_end_after_etcd_is_restored() {
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let scene = Scene::new(&plane, "etcd-moves");
    let (from, to) = (scene.objects.namespace(), scene.to());
    // After the record, the deletion, the creation, and the reservation.
    let names: Vec<String> = (1..5).map(|writes| format!("data-{writes}")).collect();
    let claim = |namespace: &str, name: &str| format!("pvc/{namespace}/{name}");
    let proxy = Proxy::start(&plane);
    for (index, name) in names.iter().enumerate() {
        scene.pair(name);
        let trouble = Trouble::AwayAfterWrites(index + 1);
        cut_off(&scene, &proxy, trouble, &["transfer", &claim(from, name), "--to", to]);
    }
    plane.back_up_etcd();
    for (index, name) in names.iter().enumerate() {
        // Some end there, and some are undone.
        if index % 2 == 0 {
            scene.bindery(&["transfer", &claim(from, name), "--to", to]).expect_ok();
            scene.expect_moved(name, to, name, "Delete");
        } else {
            scene.bindery(&["undo", &format!("pv/{}", scene.objects.name(name))]).expect_ok();
            scene.expect_moved(name, from, name, "Delete");
        }
    }
    plane.restore_etcd();
    for name in &names {
        let volume = scene.volume(name);
        assert_eq!(volume["spec"]["persistentVolumeReclaimPolicy"], "Retain", "{volume}");
        scene.bindery(&["transfer", &claim(from, name), "--to", to]).expect_ok();
        scene.expect_moved(name, to, name, "Delete");
        assert_eq!(plane.get(ADMIN, &claim_path(from, name)).code, 404, "{name}");
        scene.bindery(&["undo", &claim(to, name)]).expect_ok();
        scene.expect_moved(name, from, name, "Delete");
    }
}

/// Volumes that are rescued after a backup in which they are in the trash.
struct Rescued<'a> {
    scene: Scene<'a>,
    trash: Trash<'a>,
}

impl Rescued<'_> {
    fn name(&self, pair: &str) -> String {
        self.scene.objects.name(pair)
    }

    /// Makes pairs whose volumes stay for this time, and deletes their claims. No controller runs afterwards.
    fn in_trash(&self, pairs: &[(&str, &str)]) {
        for (pair, _) in pairs {
            self.scene.pair(pair);
        }
        let _controller = self.trash.start();
        for (pair, keep) in pairs {
            self.trash.until_held(&self.name(pair));
            self.scene.keep(pair, keep);
            self.scene.delete(pair);
            self.trash.until_in_trash(&self.name(pair));
        }
    }

    /// Gives them back to their claims, which have them from then on.
    fn rescue(&self, pairs: &[(&str, &str)]) {
        let _controller = self.trash.start();
        let namespace = format!("ns/{}", self.scene.objects.namespace());
        self.scene.bindery(&["rescue", &namespace]).expect_ok();
        for (pair, _) in pairs {
            self.trash.until_held(&self.name(pair));
        }
    }

    /// Runs the commands of the page.
    fn take_out_of_trash(&self) {
        let folder = tempfile::tempdir().unwrap();
        let shell = Shell { plane: self.scene.plane, folder: folder.path(), user: ADMIN };
        let blocks = fenced(PAGE, "sh");
        let is_it = |block: &&String| block.contains("xargs -r -n 1 bindery retain");
        let block = blocks.iter().find(is_it).unwrap();
        shell.run(block);
    }
}

fn volumes_of_the_trash_are_safe_after_etcd_is_restored_as_the_page_says() {
    const PAIRS: [(&str, &str); 2] = [("long", "1h"), ("short", SHORT)];
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let rescued = Rescued {
        scene: Scene::new(&plane, "etcd-trash"),
        trash: Trash::on(&plane, Binder::InTree, CONFIGURATION),
    };
    let (scene, namespace) = (&rescued.scene, rescued.scene.objects.namespace());
    rescued.in_trash(&PAIRS);
    let before = record(&scene.volume("long"));
    plane.back_up_etcd();
    rescued.rescue(&PAIRS);
    plane.restore_etcd();
    until_over(&scene.volume("short"));
    rescued.take_out_of_trash();
    let controller = rescued.trash.start();
    scene.bindery(&["rescue", &format!("ns/{namespace}")]).expect_ok();
    for (pair, _) in PAIRS {
        scene.expect_moved(pair, namespace, pair, "Retain");
        assert_eq!(record(&scene.volume(pair)), None);
    }
    drop(controller);
    // Without it, nothing shows that the volume was in use: what the page warns of.
    plane.restore_etcd();
    let _controller = rescued.trash.start();
    rescued.trash.until(&rescued.name("short"), "it has its former policy", |volume| {
        volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete" && record(volume).is_none()
    });
    // Before its time, nothing happens to a volume.
    assert_eq!(record(&scene.volume("long")), before);
    scene.bindery(&["rescue", &format!("pvc/{namespace}/long")]).expect_ok();
    rescued.trash.until_held(&rescued.name("long"));
}
