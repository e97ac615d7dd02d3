#!/usr/bin/env bash
# Installs a released binary: fetches its archive and the checksums of the release, and compares them.
#
#   install.sh URL VERSION FOLDER     URL is the folder of the release; file:// is a folder of this machine
set -euo pipefail

url=$1
version=$2
folder=$3

[[ $(uname -s) == Linux ]] || {
	echo "bindery has no release for $(uname -s); run this job on Linux, or build it with cargo install." >&2
	exit 2
}
case $(uname -m) in
x86_64) architecture=amd64 ;;
aarch64 | arm64) architecture=arm64 ;;
*)
	echo "bindery has no release for $(uname -m); build it with make dist." >&2
	exit 2
	;;
esac
archive=bindery-$version-linux-$architecture.tar.gz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for file in "$archive" SHA256SUMS; do
	case $url in
	file://*) cp "${url#file://}/$file" "$work/" ;;
	*) curl --fail --silent --show-error --location --retry 3 --output "$work/$file" "$url/$file" ;;
	esac
done
# An archive without a line in the list would pass a check of the list alone.
grep -F "  $archive" "$work/SHA256SUMS" >"$work/sum" || {
	echo "SHA256SUMS of $url has no line for $archive; nothing is installed." >&2
	exit 1
}
(cd "$work" && sha256sum --check --quiet sum) || {
	echo "$archive is not what SHA256SUMS of $url says; nothing is installed." >&2
	exit 1
}
mkdir -p "$folder"
tar -xzf "$work/$archive" -C "$work"
install -m 0755 "$work/${archive%.tar.gz}/bindery" "$folder/bindery"
"$folder/bindery" --version
