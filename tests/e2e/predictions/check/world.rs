//! A random cluster, in the notation of the examples.

use bindery_sim::Chance;

/// One of them.
pub(super) fn pick<T: Clone>(chance: &mut Chance, from: &[T]) -> T {
    from[place(chance, from.len())].clone()
}

/// A place among so many.
pub(super) fn place(chance: &mut Chance, count: usize) -> usize {
    usize::try_from(chance.below(count as u64)).unwrap()
}

/// A cluster with bound, free, kept, released and pending objects of random sizes and policies.
pub(super) fn world(chance: &mut Chance) -> String {
    let size = |chance: &mut Chance| pick(chance, &["5Gi", "10Gi", "20Gi"]);
    let policy = |chance: &mut Chance| pick(chance, &["Retain", "Delete"]);
    let class = |chance: &mut Chance| pick(chance, &["", " class=fast", " class=expand"]);
    let disk = "csi=disk.example.com";
    let mut lines = vec![
        "class fast".to_owned(),
        "class expand expand".to_owned(),
        "class wait wait".to_owned(),
    ];
    for (volume, claim) in [("pv-a", "db/a"), ("pv-b", "db/b"), ("pv-c", "qa/c")] {
        let (size, policy, class) = (size(chance), policy(chance), class(chance));
        let source = if chance.below(2) == 0 { format!(" {disk}") } else { String::new() };
        lines.push(format!("pair {volume} {claim} {size} RWO policy={policy}{class}{source}"));
    }
    lines.push(format!("volume pv-free {} RWO{} phase=Available", size(chance), class(chance)));
    lines.push(format!("volume pv-disk {} RWO {disk} handle=vol-1 phase=Available", size(chance)));
    lines.push(format!("volume pv-kept {} RWO for=db/kept phase=Available", size(chance)));
    let policy = policy(chance);
    lines.push(format!(
        "volume pv-old {} RWO dead=db/gone phase=Released policy={policy}",
        size(chance)
    ));
    lines.push(format!("claim db/kept {} RWO", size(chance)));
    lines.push(format!("claim qa/lone {} RWO{}", size(chance), class(chance)));
    if chance.below(2) == 0 {
        lines.push("pod db/main claim=a node=n1".to_owned());
    }
    lines.join("\n")
}
