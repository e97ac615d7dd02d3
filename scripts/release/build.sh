#!/usr/bin/env bash
# Builds what a release has for the architecture of this machine: the archive with the static binary, the completions and
# the man pages; the archive of the image; and the list of what is compiled in (CycloneDX).
#
#   build.sh VERSION FOLDER
#
# SOURCE_DATE_EPOCH  the time that files are given; release.sh sets it
# WITHOUT_IMAGE=1    leaves the image out, where no container engine is
#
# Not here: what all architectures share (assemble.sh).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

version=$1
out=$2

fail() {
	echo "$1" >&2
	exit 2
}

for tool in auditable cyclonedx; do
	command -v cargo-$tool >/dev/null || fail "cargo-$tool is missing; run cargo install --locked cargo-$tool, then retry."
done
host=$(rustc -vV | sed -n 's/^host: //p')
case $host in
x86_64-*) architecture=amd64 ;;
aarch64-*) architecture=arm64 ;;
*) fail "A release has no name for the architecture of $host; build it on x86_64 or aarch64." ;;
esac
name=bindery-$version-linux-$architecture

# The list of its libraries is in the binary: cargo audit bin, or a scanner of images, reads it.
BINDERY_AUDITABLE=1 scripts/image/dist.sh
sections=$(readelf --sections --wide dist/bindery)
[[ $sections == *.dep-v0* ]] || fail "The binary does not hold the list of its libraries; is cargo-auditable another version?"

work=$(mktemp -d)
beside=bindery-release
trap 'rm -rf "$work"; rm -f "$beside.json" crates/*/"$beside.json"' EXIT
mkdir -p "$out" "$work/$name/completions"
cp dist/bindery dist/LICENSE dist/NOTICES "$work/$name"
bindery=dist/bindery
$bindery generate completion bash >"$work/$name/completions/bindery.bash"
$bindery generate completion zsh >"$work/$name/completions/_bindery"
$bindery generate completion fish >"$work/$name/completions/bindery.fish"
$bindery generate man --dir "$work/$name/man1"
scripts/release/pack.sh "$work/$name" "$out/$name.tar.gz"

# It is written beside every manifest; ours is that of the root. A number of its own, the time and the folder would differ
# with each build.
cargo cyclonedx --quiet --format json --spec-version 1.5 --target "$host" --override-filename "$beside"
sed -e '/"serialNumber":/d' -e '/"timestamp":/d' -e "s|$PWD|/bindery|g" "$beside.json" >"$out/$name.cdx.json"

if [[ ${WITHOUT_IMAGE-} == 1 ]]; then
	echo "No image is built: WITHOUT_IMAGE=1." >&2
else
	scripts/image/build.sh "bindery:$version"
	cp dist/bindery.tar "$out/bindery-$version-image-linux-$architecture.tar"
fi
