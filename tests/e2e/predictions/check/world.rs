//! A random cluster, in the notation of the examples.

use bindery_sim::SeededRng;

/// One of them.
pub(crate) fn pick<T: Clone>(rng: &mut SeededRng, from: &[T]) -> T {
    from[place(rng, from.len())].clone()
}

/// A place among so many.
pub(crate) fn place(rng: &mut SeededRng, count: usize) -> usize {
    usize::try_from(rng.below(count as u64)).unwrap()
}

/// A cluster with bound, free, kept, released and pending objects of random sizes and policies.
pub(crate) fn world(rng: &mut SeededRng) -> String {
    let size = |rng: &mut SeededRng| pick(rng, &["5Gi", "10Gi", "20Gi"]);
    let policy = |rng: &mut SeededRng| pick(rng, &["Retain", "Delete"]);
    let class = |rng: &mut SeededRng| pick(rng, &["", " class=fast", " class=expand"]);
    let disk = "csi=disk.example.com";
    let mut lines = vec![
        "class fast".to_owned(),
        "class expand expand".to_owned(),
        "class wait wait".to_owned(),
    ];
    for (volume, claim) in [("pv-a", "db/a"), ("pv-b", "db/b"), ("pv-c", "qa/c")] {
        let (size, policy, class) = (size(rng), policy(rng), class(rng));
        let source = if rng.below(2) == 0 { format!(" {disk}") } else { String::new() };
        lines.push(format!("pair {volume} {claim} {size} RWO policy={policy}{class}{source}"));
    }
    lines.push(format!("volume pv-free {} RWO{} phase=Available", size(rng), class(rng)));
    lines.push(format!("volume pv-disk {} RWO {disk} handle=vol-1 phase=Available", size(rng)));
    lines.push(format!("volume pv-kept {} RWO for=db/kept phase=Available", size(rng)));
    let policy = policy(rng);
    lines.push(format!(
        "volume pv-old {} RWO dead=db/gone phase=Released policy={policy}",
        size(rng)
    ));
    lines.push(format!("claim db/kept {} RWO", size(rng)));
    lines.push(format!("claim qa/lone {} RWO{}", size(rng), class(rng)));
    if rng.below(2) == 0 {
        lines.push("pod db/main claim=a node=n1".to_owned());
    }
    lines.join("\n")
}
