#!/usr/bin/env bash
# Runs targets of the Makefile in order, stops at the first that fails, and ends with how long each
# took and with the result lines of every test binary, as cargo printed them.
#
#   steps.sh TARGET...
#
# Not here: what a target does (Makefile).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
	echo "$1" >&2
	exit "${2:-2}"
}

(($# > 0)) || fail "steps.sh needs the names of targets; make test and make soak give them."
command -v cargo >/dev/null || fail "cargo is missing; install Rust 1.95 or later, then retry."
# What the last step needs is asked first: a quarter of an hour of building is a long way to that news.
if [[ " $* " == *" e2e "* ]]; then
	for tool in setpriv:util-linux unshare:util-linux nsenter:util-linux losetup:util-linux mkfs.ext4:e2fsprogs ip:iproute2; do
		command -v "${tool%:*}" >/dev/null || fail "${tool%:*} is missing, and the end-to-end tests start their servers and pods with it; install ${tool#*:}, then retry."
	done
	command -v go >/dev/null || scripts/kube.sh >/dev/null
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
[[ -t 1 ]] && export CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-always}

took=()
for step in "$@"; do
	echo "== make $step"
	started=$SECONDS
	if ! make --no-print-directory "$step" 2>&1 | tee -a "$log"; then
		fail "FAILED after $((SECONDS - started)) s: make $step runs this step alone." 1
	fi
	took+=("$(printf '%5d s  %s' $((SECONDS - started)) "$step")")
	echo
done

echo "== steps"
printf '%s\n' "${took[@]}" "$(printf '%5d s  in all' "$SECONDS")"
echo
echo "== results"
grep -aE '^ +(.\[[0-9;]*m)*(Running|Doc-tests)|^test result:' "$log" || echo "no test ran"
