#!/usr/bin/env bash
# Builds the image from dist/ with docker, podman or buildah, whichever is there, writes it to dist/bindery.tar, and
# checks what is in that archive:
#
#   build.sh [NAME]     by default bindery:dev
#
# ENGINE  docker, podman or buildah, where another than the first that works is wanted
#
# Not here: the binary (dist.sh); the checks (check.sh).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

name=${1:-bindery:dev}
archive=dist/bindery.tar

fail() {
	echo "$1" >&2
	exit 1
}

# Whatever fails below, no older image is taken for this one.
rm -f "$archive"
for file in bindery LICENSE NOTICES; do
	[[ -f dist/$file ]] || fail "dist/$file is missing; run make dist, then make image."
done
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
# Says so where the tree is not that of the commit. An unpacked archive has no history.
revision=$(git describe --always --dirty --abbrev=40 --exclude='*' 2>/dev/null || echo unknown)
# The time that dist.sh gave: the same binary makes the same image.
epoch=$(stat -c %Y dist/bindery)
arguments=(--target outside --build-arg "VERSION=$version" --build-arg "REVISION=$revision" -t "$name" .)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

engine=
for candidate in ${ENGINE:-docker podman buildah}; do
	if command -v "$candidate" >/dev/null && "$candidate" info >/dev/null 2>&1; then
		engine=$candidate
		break
	fi
done
case $engine in
docker)
	docker build --build-arg "SOURCE_DATE_EPOCH=$epoch" "${arguments[@]}"
	docker save -o "$archive" "$name"
	;;
podman)
	podman build --timestamp "$epoch" "${arguments[@]}"
	podman push -q "$name" "docker-archive:$archive:$name"
	;;
buildah)
	# A store of its own, which needs nothing of the system; no container runs from it.
	store=(--storage-driver vfs --root "$work/storage" --runroot "$work/run")
	buildah "${store[@]}" build --isolation chroot --timestamp "$epoch" "${arguments[@]}"
	buildah "${store[@]}" push -q "$name" "docker-archive:$archive:$name"
	;;
*)
	fail "no image can be built: none of ${ENGINE:-docker, podman and buildah} works here; install one (apt-get install buildah needs no daemon), then retry."
	;;
esac
report=$(scripts/image/check.sh "$archive" "$version") || {
	rm -f "$archive"
	exit 1
}
echo "$name: $report, built with $engine from $revision"
