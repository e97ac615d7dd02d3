#!/usr/bin/env bash
# Checks the manifests of the working tree against those of the commit from which its branch began:
#
#   check.sh BINDERY BASE MANIFESTS [ARGUMENT...]     BASE is the branch into which it goes; arguments are those of bindery check
#
# A folder that is new is compared with an empty one, and so is the base with one that was removed.
set -euo pipefail

bindery=$1
base=$2
manifests=$3
shift 3

# What came into the base since then is not deleted by this change.
commit=$(git merge-base HEAD "$base") || {
	echo "HEAD and $base have no commit in common here; fetch the whole history (fetch-depth: 0, or GIT_DEPTH: 0), then retry." >&2
	exit 2
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/old/$manifests" "$work/none"
new=$manifests
if [[ -n $(git ls-tree "$commit" -- "$manifests") ]]; then
	git archive "$commit" "$manifests" | tar -x -C "$work/old"
	[[ -e $manifests ]] || new=$work/none
elif [[ ! -e $manifests ]]; then
	echo "$manifests exists neither here nor in $base; name the folder with the manifests." >&2
	exit 2
fi
# What is deleted is in a file of the base, which is printed with its path there.
"$bindery" check -R -f "$new" --old "$work/old/$manifests" "$@" | sed "s|$work/old/||g"
