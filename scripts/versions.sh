#!/usr/bin/env bash
# Runs what depends on Kubernetes itself against each version of it: the rules by every request type, the conditions of
# the registrations, the policies, the real controllers and GitOps tools, the chart, and what check predicts. What a
# version answers is compared with what is on record of it (tests/e2e/api_server/versions), from which
# docs/reference/versions.md is made.
#
#   versions.sh [MINOR...]                     all versions, or these, as 1.34
#   BINDERY_GENERATE=1 versions.sh [MINOR...]  records what they answer, and writes the page
#
# CASES  cases to run instead, by parts of their names
#
# A version whose programs are missing is built first, which takes about six minutes. Not here: building (tests/kube),
# the cases (tests/e2e).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

own=$(sed -n 's|^[[:space:]]*k8s.io/kubernetes v\([0-9]*\.[0-9]*\)\..*|\1|p' tests/kube/go.mod | head -n 1)
versions=("$@")
((${#versions[@]})) || mapfile -t versions < <({ echo "$own" && ls tests/kube/versions; } | sort -V)

read -ra cases <<<"${CASES:-versions:: rules:: policies:: conversation:: storage_lifecycle:: no_false_denials:: install:: tenancy:: check::}"

# Runs end-to-end cases on version $1.
run() {
	local version=$1
	shift
	BINDERY_KUBE_VERSION=$version cargo test --locked --workspace --features e2e --test e2e -- --strict "$@"
}

took=()
failed=()
for version in "${versions[@]}"; do
	echo "== Kubernetes $version"
	started=$SECONDS
	outcome=ok
	BINDERY_KUBE_VERSION=$version scripts/kube.sh plane || outcome=FAILED
	built=$SECONDS
	[[ $outcome == FAILED ]] || run "$version" "${cases[@]}" || outcome=FAILED
	# What the API server rejects at the full count, for which the answers are on record, and what a hazard does there.
	[[ $outcome == FAILED || -n ${CASES-} ]] || run "$version" --full validation:: does_harm || outcome=FAILED
	[[ $outcome == ok ]] || failed+=("$version")
	took+=("$(printf '%-6s %-6s %5d s to build, %5d s to run' "$version" "$outcome" $((built - started)) $((SECONDS - built)))")
done

echo "== versions"
printf '%s\n' "${took[@]}"
((${#failed[@]} == 0)) || {
	echo "Cases fail on Kubernetes ${failed[*]}; the lines above say which and why. make versions VERSIONS=\"${failed[*]}\" runs them alone." >&2
	exit 1
}
