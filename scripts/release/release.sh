#!/usr/bin/env bash
# Builds a release into dist/release: for the architecture of this machine the archive, the image and the list of what is
# compiled in; the chart, the manifest for krew, the formula for Homebrew, and the checksums.
#
#   release.sh VERSION
#
# URL                the folder from which the files will be fetched; by default that of the release on the GitHub
#                    repository of the remote origin, else a name that is reserved for examples
# SOURCE_DATE_EPOCH  the time that files are given; that of the last commit by default
# WITHOUT_IMAGE=1    leaves the image out, where no container engine is
#
# The same commit and the same compilers give the same bytes in every folder: reproduce.sh. Not here: signatures and
# provenance, which need GitHub (.github/workflows/release.yml).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

version=${1-}
out=dist/release

fail() {
	echo "$1" >&2
	exit 2
}

is=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
[[ -n $version ]] || fail "VERSION is missing; run make release VERSION=$is."
for file in charts/bindery/Chart.yaml:version charts/bindery/Chart.yaml:appVersion; do
	chart=$(sed -n "s/^${file#*:}: //p" "${file%:*}")
	[[ $chart == "$is" ]] || fail "${file%:*} says ${file#*:} $chart, and Cargo.toml $is; make them the same, then retry."
done
[[ $version == "$is" ]] || fail "Cargo.toml and the chart say version $is, not $version; change them, commit, then retry."

origin=$(git remote get-url origin 2>/dev/null || true)
repository=$(sed -nE 's#^(https://|git@)github.com[:/]([^/]+/[^/]+)$#\2#p' <<<"${origin%.git}")
if [[ -n $repository ]]; then
	homepage=https://github.com/$repository
	url=${URL:-$homepage/releases/download/v$version}
else
	homepage=https://bindery.example.com
	url=${URL:-$homepage/releases/download/v$version}
	[[ -n ${URL-} ]] || echo "The remote origin is not on GitHub: the manifests name $url; URL=… names another folder." >&2
fi
# An unpacked archive has no history.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH

started=$SECONDS
scripts/release/build.sh "$version" "$out"
scripts/release/assemble.sh "$version" "$url" "$homepage" "$out"
(cd "$out" && sha256sum --check --quiet SHA256SUMS)
ls -l "$out"
echo "$out holds version $version, built in $((SECONDS - started)) s"
