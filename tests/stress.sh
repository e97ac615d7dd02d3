#!/usr/bin/env bash
# Runs suites again and again beside a load of twice the machine's cores, and fails if one of them ever does: a test
# that reads before it is true shows itself when nothing gets its time.
#
#   stress.sh ROUNDS SUITE...      a suite is a folder of tests, or lib: the tests beside the code
#
# Not here: which suites and how many rounds (Makefile).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

(($# > 1)) || { echo "stress.sh needs a number of rounds and the names of suites; make stress gives them." >&2; exit 2; }
rounds=$1
shift
# The usual counts, also within soak: it is the number of runs that finds what is read too early.
unset PROPTEST_CASES PROPTEST_MAX_GLOBAL_REJECTS FUZZ_EXECUTIONS SIMULATION_SEEDS CRASH_EVERY CRASH_PAIRS
targets=()
for suite in "$@"; do
	if [[ $suite == lib ]]; then targets+=(--lib); else targets+=(--test "$suite"); fi
done
test=(cargo test --locked --features e2e)
"${test[@]}" "${targets[@]}" --no-run

load=()
log=$(mktemp)
end() {
	((${#load[@]} == 0)) || kill "${load[@]}" 2>/dev/null || true
	rm -f "$log"
}
trap end EXIT
for ((core = 0; core < 2 * $(nproc); core++)); do
	(while :; do :; done) &
	load+=($!)
done

failed=0 runs=0
for ((round = 1; round <= rounds; round++)); do
	for suite in "$@"; do
		if [[ $suite == lib ]]; then target=(--lib); else target=(--test "$suite"); fi
		runs=$((runs + 1))
		if ! "${test[@]}" --quiet "${target[@]}" >"$log" 2>&1; then
			failed=$((failed + 1))
			echo "== round $round, $suite"
			cat "$log"
		fi
	done
	echo "round $round of $rounds: $failed of $runs runs failed"
done
((failed == 0))
