#!/usr/bin/env bash
# Builds the release of the last commit twice, in two folders with names of different lengths and with another umask, and
# fails unless every file has the same bytes:
#
#   reproduce.sh VERSION
#
# Not here: another machine, another compiler.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

version=${1-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset CARGO_TARGET_DIR
folders=("$work/one" "$work/another-folder/below")
masks=(0022 0077)
# What is committed meanwhile is not built.
commit=$(git rev-parse HEAD)
for index in 0 1; do
	git clone --quiet --no-checkout . "${folders[$index]}"
	(
		cd "${folders[$index]}"
		git checkout --quiet --detach "$commit"
		umask "${masks[$index]}"
		scripts/release/release.sh "$version"
	)
	mv "${folders[$index]}/dist/release" "$work/release-$index"
	# The folder of a build takes gigabytes.
	rm -rf "${folders[$index]}"
done
diff --recursive "$work/release-0" "$work/release-1" || {
	echo "The two builds differ; the files above are not reproducible." >&2
	exit 1
}
echo "$(find "$work/release-0" -type f | wc -l) files, the same bytes in both folders"
