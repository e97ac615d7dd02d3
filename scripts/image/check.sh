#!/usr/bin/env bash
# Checks an image in an archive, as docker save and buildah push write it:
#
#   check.sh ARCHIVE VERSION
#
# The archive is what is loaded into nodes, and engines put nothing of their own into it. Every line is one thing that
# a user relies on. As root the binary is run as well, in a root that holds nothing else and cannot be written.
#
# Not here: how the archive came to be (build.sh).
set -euo pipefail

archive=$1
version=$2
# What the design allows: 20 MiB.
binary_bytes_most=$((20 * 1024 * 1024))

fail() {
	echo "$1" >&2
	exit 1
}

for tool in readelf tar; do
	command -v $tool >/dev/null || fail "$tool is missing; without it nothing can be checked."
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/archive" "$work/image"
tar -xf "$archive" -C "$work/archive"
manifest=$(tr -d '\n' <"$work/archive/manifest.json")
config=$(<"$work/archive/$(sed 's/.*"Config":"\([^"]*\)".*/\1/' <<<"$manifest")")
layers=$(sed 's/.*"Layers":\[\([^]]*\)\].*/\1/; s/[",]/ /g' <<<"$manifest")
for layer in $layers; do
	tar --numeric-owner -tvf "$work/archive/$layer" >>"$work/list"
	tar -xf "$work/archive/$layer" -C "$work/image"
done

# Kind, mode, owner and name of everything that there is: no shell, nothing that another user may write.
found=$(awk '{ sub(/^\.\//, "", $6); sub(/\/$/, "", $6); if ($6 != "") print $1, $2, $6 }' "$work/list" | sort -u)
wanted="-rw-r--r-- 0/0 licenses/LICENSE
-rw-r--r-- 0/0 licenses/NOTICES
-rwxr-xr-x 0/0 bindery
drwxr-xr-x 0/0 licenses"
[[ $found == "$(sort <<<"$wanted")" ]] || fail "the image holds other files than it should:
$found"

binary=$work/image/bindery
headers=$(readelf -lW "$binary") || fail "the binary is none that Linux can run"
[[ $headers == *"Requesting program interpreter"* ]] && fail "the binary is not static: it asks for an interpreter"
needed=$(readelf -dW "$binary") || fail "the binary is none that Linux can run"
[[ $needed == *"(NEEDED)"* ]] && fail "the binary is not static: it needs a library"
bytes=$(stat -c %s "$binary")
((bytes <= binary_bytes_most)) || fail "the binary has $bytes bytes, more than $binary_bytes_most"
# Where it was built is private, and would make it another binary in every folder.
for folder in "$PWD" "${CARGO_HOME:-$HOME/.cargo}"; do
	! grep -qaF "$folder/" "$binary" || fail "the binary holds a path of this machine: $folder"
done

[[ $config == *'"User":"65532:65532"'* ]] || fail "the image does not run as 65532"
[[ $config == *'"Entrypoint":["/bindery"]'* ]] || fail "the image does not start /bindery"
for label in title description licenses version revision; do
	[[ $config =~ \"org.opencontainers.image.$label\":\"[^\"] ]] || fail "the image has no label $label"
done
[[ $config == *"\"org.opencontainers.image.version\":\"$version\""* ]] || fail "the label of the version is not $version"

cmp -s LICENSE "$work/image/licenses/LICENSE" || fail "the licence in the image is not that of the program"
# That libraries of libraries are named as well is for notices.rs to see to, which knows them.
parts=$(sed -n '/^\[dependencies\]/,/^\[dev/s/^\([a-z0-9_-]*\)\(\.workspace\)\{0,1\} = .*/\1/p' Cargo.toml crates/{core,webhook}/Cargo.toml |
	grep -v '^bindery' | sort -u)
[[ $parts == *foldhash*serde_json*tokio-rustls* ]] || fail "the dependencies cannot be read from Cargo.toml"
for part in $parts "The Rust standard library" "The GNU C library"; do
	grep -q "^$part [0-9]" "$work/image/licenses/NOTICES" || fail "the notices do not name $part"
done

ran="not run, as that needs root"
if [[ $(id -u) == 0 ]]; then
	# Where engines put it too, if they are asked for one: certificates are written there.
	mkdir "$work/image/tmp"
	# shellcheck disable=SC2016
	in_image() {
		unshare --mount bash -euc 'mount --bind "$0" "$0"; mount -o remount,bind,ro "$0"
			mount -t tmpfs -o mode=1777,size=16m tmpfs "$0/tmp"
			exec chroot --userspec=65532:65532 "$0" /bindery "$@"' "$work/image" "$@"
	}
	report=$(in_image --version) || fail "the binary does not start in the image"
	[[ $report == "bindery $version" ]] || fail "the image says that it is: $report"
	in_image certs --out tmp/certs >"$work/output" 2>&1 </dev/null || fail "no certificate can be made in the image:
$(<"$work/output")"
	in_image rule >"$work/output" 2>&1 </dev/null || fail "the rules cannot be listed in the image:
$(<"$work/output")"
	ran="run as 65532"
fi
echo "$bytes bytes of binary, $(stat -c %s "$archive") of image, $ran"
