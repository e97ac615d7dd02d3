#!/usr/bin/env bash
# Adds to the archives of all architectures what they share: the package of the chart, the manifest for krew, the formula
# for Homebrew, and the checksums of everything.
#
#   assemble.sh VERSION URL HOMEPAGE FOLDER
#
# SOURCE_DATE_EPOCH  the time that files are given; release.sh sets it
#
# Not here: the archives (build.sh); signatures, which only a release on GitHub has (.github/workflows/release.yml).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

version=$1
out=$4

helm=$(command -v helm || echo "$(scripts/kube.sh --where 2>/dev/null | tail -n 1)/helm")
[[ -x $helm ]] || {
	echo "helm is missing, and the chart is packed with it; install helm 3 or 4, or run make kube, then retry." >&2
	exit 2
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$helm" package charts/bindery --destination "$work" >/dev/null
# helm writes the times of the files of this machine; the same files are packed again.
mkdir "$work/chart"
tar -xzf "$work/bindery-$version.tgz" -C "$work/chart"
scripts/release/pack.sh "$work/chart/bindery" "$out/bindery-chart-$version.tgz"
"$helm" show chart "$out/bindery-chart-$version.tgz" | grep -qx "version: $version" || {
	echo "$out/bindery-chart-$version.tgz: helm cannot read the chart of version $version in it" >&2
	exit 1
}

# Pipelines on other machines than GitHub's install with it.
install -m 0755 .github/actions/check/install.sh .github/actions/check/check.sh "$out/"
scripts/release/manifests.sh "$@"
(
	cd "$out"
	rm -f SHA256SUMS
	LC_ALL=C sha256sum -- bindery* check.sh install.sh >"$work/sums"
	mv "$work/sums" SHA256SUMS
)
