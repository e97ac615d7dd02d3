#!/usr/bin/env bash
# Builds the image from dist/ with docker, podman or buildah, whichever is there, and checks what came out:
#
#   build.sh [NAME]     by default bindery:dev
#
# Not here: the binary (dist.sh).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

name=${1:-bindery:dev}
# What the design allows: 20 MiB.
binary_bytes_most=$((20 * 1024 * 1024))

fail() {
	echo "$1" >&2
	exit 1
}

[[ -x dist/bindery ]] || fail "dist/bindery is missing; run make dist, then make image."
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
revision=$(git rev-parse HEAD 2>/dev/null || echo unknown)
arguments=(--build-arg BINARY=outside --build-arg "VERSION=$version" --build-arg "REVISION=$revision" -t "$name" .)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Builds the image and writes its files to $work/files and its configuration to $work/config.json.
with_engine() {
	"$1" build "${arguments[@]}"
	"$1" inspect --type image --format '{{json .Config}}' "$name" >"$work/config.json"
	local container
	container=$("$1" create "$name" version)
	mkdir "$work/files"
	"$1" export "$container" | tar -x -C "$work/files"
	"$1" rm "$container" >/dev/null
}

# The same without a daemon. Where no namespaces of users are to be had, buildah needs chroot alone.
with_buildah() {
	local options=(--storage-driver vfs --root "$work/storage" --runroot "$work/run")
	buildah "${options[@]}" build --isolation chroot "${arguments[@]}"
	buildah "${options[@]}" inspect --type image --format '{{json .OCIv1.Config}}' "$name" >"$work/config.json"
	buildah "${options[@]}" push "$name" "oci-archive:dist/bindery.tar:$name"
	local container
	container=$(buildah "${options[@]}" from "$name")
	mkdir "$work/files"
	cp -a "$(buildah "${options[@]}" mount "$container")/." "$work/files"
}

engine=
for candidate in docker podman buildah; do
	if command -v "$candidate" >/dev/null && "$candidate" info >/dev/null 2>&1; then
		engine=$candidate
		break
	fi
done
case $engine in
docker | podman) with_engine "$engine" ;;
buildah) with_buildah ;;
*) fail "no image can be built: neither docker nor podman nor buildah works here; install one (apt-get install buildah needs no daemon), then retry." ;;
esac

# Checks: every line is one thing that somebody relies on.
files=$(cd "$work/files" && find . -type f | sort | tr '\n' ' ')
# An engine may put its own mount points into a container that it exports.
files=$(tr ' ' '\n' <<<"$files" | grep -vE '^\./(\.dockerenv|dev/|etc/|proc/|sys/|run/)' | tr '\n' ' ')
[[ $files == "./bindery ./licenses/LICENSE ./licenses/NOTICES "* && $(wc -w <<<"$files") == 3 ]] ||
	fail "the image holds other files than it should: $files"
binary=$work/files/bindery
readelf -l "$binary" | grep -q 'Requesting program interpreter' && fail "the binary is not static: it asks for an interpreter"
readelf -d "$binary" | grep -q NEEDED && fail "the binary is not static: it needs a library"
bytes=$(stat -c %s "$binary")
((bytes <= binary_bytes_most)) || fail "the binary has $bytes bytes, more than $binary_bytes_most"
grep -q '"User":"65532:65532"' "$work/config.json" || fail "the image does not run as 65532"
grep -q '"Entrypoint":\["/bindery"\]' "$work/config.json" || fail "the image does not start /bindery"
for label in title description licenses version revision; do
	grep -q "\"org.opencontainers.image.$label\":\"[^\"]" "$work/config.json" || fail "the image has no label $label"
done
grep -q "\"org.opencontainers.image.version\":\"$version\"" "$work/config.json" || fail "the label of the version is not $version"
for crate in serde rustls kube tokio; do
	grep -q "^$crate " "$work/files/licenses/NOTICES" || fail "the notices do not name $crate"
done
# It runs in a root that holds nothing else.
if [[ $(id -u) == 0 ]]; then
	told=$(chroot --userspec=65532:65532 "$work/files" /bindery --version)
	[[ $told == "bindery $version" ]] || fail "the image says that it is: $told"
fi
echo "$name: $bytes bytes of binary, built with $engine"
