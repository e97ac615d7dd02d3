#!/usr/bin/env bash
# Runs suites again and again beside a load of twice the machine's cores, and fails if one of them ever does: a test
# that reads before it is true shows itself when nothing gets its time. Half of the load are other suites, which costs
# less time than a load that is good for nothing else.
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
unset PROPTEST_CASES PROPTEST_MAX_GLOBAL_REJECTS FUZZ_EXECUTIONS SIMULATION_SEEDS LOCAL_DISK_SEEDS CRASH_EVERY CRASH_PAIRS

target() {
	if [[ $1 == lib ]]; then echo --lib; else echo "--test=$1"; fi
}

# One run of a suite; its output if it fails.
run() {
	local begun=$SECONDS log
	log=$(mktemp)
	if cargo test --locked --workspace --features e2e --quiet "$(target "$2")" >"$log" 2>&1; then
		echo "round $1, $2: passed in $((SECONDS - begun)) s"
		rm "$log"
		return
	fi
	echo "== round $1, $2: failed after $((SECONDS - begun)) s"
	cat "$log"
	rm "$log"
	return 1
}
export -f run target

targets=()
for suite in "$@"; do targets+=("$(target "$suite")"); done
cargo test --locked --workspace --features e2e --no-run "${targets[@]}"

load=()
end() { ((${#load[@]} == 0)) || kill "${load[@]}" 2>/dev/null || true; }
trap end EXIT
for ((core = 0; core < $(nproc); core++)); do
	(while :; do :; done) &
	load+=($!)
done

# Beside each suite run as many others as there are cores. xargs goes on after a failure, and fails at the end.
for ((round = 1; round <= rounds; round++)); do
	for suite in "$@"; do echo "$round $suite"; done
done | xargs --max-procs=$(($(nproc) + 1)) --max-lines=1 bash -c 'run "$@"' run
