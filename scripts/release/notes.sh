#!/usr/bin/env bash
# Prints what CHANGELOG.md, or another file, says of a version; an error if it has no section for it:
#
#   notes.sh VERSION [FILE]
set -euo pipefail

version=${1:?is missing; run notes.sh VERSION}
file=${2:-CHANGELOG.md}

# The second word of its heading is the version, whole: 0.1.0-rc.1 is not 0.1.0.
notes=$(awk -v version="$version" '
	$1 == "##" { shown = ($2 == version); next }
	shown' "$file")
[[ -n ${notes//[[:space:]]/} ]] || {
	echo "$file has no section ## $version, and its text is what people read of a release; add one, commit, then tag again." >&2
	exit 1
}
echo "$notes"
