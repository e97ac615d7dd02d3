#!/usr/bin/env bash
# Puts known bugs of other binders back into a copy of the sources, one at a time, and counts after how
# many seeds the simulation notices each. Fails if one survives, or if the sources without any fail.
#
#   mutants.sh                        all of them, a table at the end
#   MUTANTS="01 08" mutants.sh        some of them
#   SEEDS=300 SEEDS_MAX=2000          seeds for each, and for one that survived these
#   BINDERY_GENERATE=1 mutants.sh     writes the table into docs/reference/mutants.md besides
#
# Not here: what each mutant is (its patch), and that all still apply (tests/tidy).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seeds=${SEEDS:-300}
seeds_max=${SEEDS_MAX:-2000}
page=docs/reference/mutants.md
work=$PWD/target/mutants
tree=$work/tree
log=$work/log
# Of its own, as a mutant's binary must not be taken for ours; kept, as most of it is other people's code.
export CARGO_TARGET_DIR=$work/build
# Optimised, a mutant takes half a minute longer to build, and its scenarios a minute less.
export CARGO_PROFILE_DEV_OPT_LEVEL=${CARGO_PROFILE_DEV_OPT_LEVEL:-1}

fail() {
	echo "$1" >&2
	exit 1
}

for word in ${MUTANTS:-}; do
	compgen -G "tests/mutants/$word-*.patch" >/dev/null ||
		fail "MUTANTS=\"$MUTANTS\": there is no tests/mutants/$word-*.patch; give the numbers of mutants."
done
for tool in git patch tar flock; do
	command -v "$tool" >/dev/null || fail "$tool is missing; install it, then retry."
done
mkdir -p "$work"
exec 9>"$work/lock"
flock -n 9 || fail "another run is in progress in $work; wait for it."
trap 'rm -rf "$tree"' EXIT
rm -rf "$tree" && mkdir "$tree"
git ls-files -z --cached --others --exclude-standard |
	tar --null --files-from=- --ignore-failed-read --warning=no-failed-read -cf - | tar -xf - -C "$tree"

# Runs that many seeds of the sources in the copy. Status 0 if nothing broke.
live() {
	(cd "$tree" && SIMULATION_SEEDS=$1 cargo test --locked --test simulation seeds_without_a_breach \
		-- --nocapture) >"$log" 2>&1
}

# A line of a patch's head, with those that go on with it.
head_of() {
	awk -v key="$2: " '/^$/ {exit} index($0, key) == 1 {on = 1; printf "%s", substr($0, length(key) + 1); next}
		/^  / {if (on) printf " %s", substr($0, 3); next} {on = 0}' "$1"
}

build() {
	(cd "$tree" && cargo test --locked --test simulation --no-run) >"$log" 2>&1 ||
		{ tail -30 "$log" >&2; fail "$1 does not compile"; }
}

# Sets `broken`, `first` and `kinds`; status 1 if nothing broke.
judge() {
	if live "$1"; then return 1; fi
	if [[ $(grep -a '^broken: ' "$log") =~ ^broken:\ ([0-9]+)\ seeds,\ the\ first\ is\ ([0-9]+)\;\ (.*)$ ]]; then
		broken=${BASH_REMATCH[1]} first=${BASH_REMATCH[2]} kinds=${BASH_REMATCH[3]}
	elif grep -qa 'NeverEnds' "$log"; then
		broken="at least 1" kinds=NeverEnds
		first=$(grep -a -B1 'NeverEnds' "$log" | sed -nE 's/^seed ([0-9]+):$/\1/p' | head -1)
	else
		tail -30 "$log" >&2
		fail "$2 failed, but no seed of it"
	fi
}

echo "the sources as they are"
build "the source tree"
live "$seeds" || { tail -60 "$log" >&2; fail "the simulation fails without any mutant"; }

rows=() firsts=() survivors=()
for patch in tests/mutants/*.patch; do
	name=$(basename "$patch" .patch)
	[[ -z ${MUTANTS:-} || " $MUTANTS " == *" ${name%%-*} "* ]] || continue
	started=$SECONDS
	patch -d "$tree" -p1 -s --no-backup-if-mismatch <"$patch" || fail "$name does not apply"
	build "$name"
	built=$((SECONDS - started))
	among=$seeds
	if judge "$seeds" "$name" || { among=$seeds_max && judge "$seeds_max" "$name"; }; then
		meant=$(head_of "$patch" "Caught by")
		for kind in $kinds; do [[ ", $meant," == *", $kind,"* ]] && break; done
		[[ ", $meant," == *", $kind,"* ]] || fail "$name is caught by $kinds, not by $meant as it says"
		firsts+=($((first + 1)))
		rows+=("| $name | $(head_of "$patch" Bug) | $(head_of "$patch" Threads) | ${kinds// /, } | $((first + 1)) | $broken of $among |")
		echo "$name: caught after $((first + 1)) seeds, $broken of $among, by $kinds; built in $built s, lived in $((SECONDS - started - built)) s"
	else
		survivors+=("$name")
		echo "$name: SURVIVED $seeds_max seeds"
	fi
	patch -d "$tree" -R -p1 -s --no-backup-if-mismatch <"$patch"
done

((${#survivors[@]} == 0)) || fail "survived, a hole in the simulation: ${survivors[*]}"
median=$(printf '%s\n' "${firsts[@]}" | sort -n | awk '{a[NR] = $1} END {print a[int((NR + 1) / 2)]}')
table() {
	echo "| mutant | bug | threads | caught by | after seeds | seeds that fail |"
	echo "|---|---|---|---|---|---|"
	printf '%s\n' "${rows[@]}"
	echo
	echo "Caught: ${#rows[@]} of ${#rows[@]}; half of them after $median seeds or fewer."
}
echo
table
# The page is for the seeds that it speaks of.
if [[ -n ${BINDERY_GENERATE:-} && -z ${MUTANTS:-}${SEEDS:-}${SEEDS_MAX:-} ]]; then
	{ sed '/^<!-- table -->$/q' "$page" && echo && table; } >"$page.new" && mv "$page.new" "$page"
fi
