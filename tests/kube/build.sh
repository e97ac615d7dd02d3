#!/usr/bin/env bash
# Builds the control plane of the end-to-end tests (etcd, kube-apiserver, kube-controller-manager,
# kube-scheduler, kubectl) and helm, 4 and 3, from the Go modules beside this file, once, into a cache folder
# that every clone shares. Each helm has a module of its own: what it requires would change what the API
# server is made of.
#
#   build.sh           builds what is missing; the last line on stdout is the folder
#   build.sh --where   builds nothing; prints the folder if it is complete, else fails
#
# KUBEBUILDER_ASSETS  a folder that already holds the binaries; it is used as it is
# BINDERY_KUBE_DIR    the cache folder; by default it is named after the hash of all go.mod and go.sum,
#                     so a new version never meets an old build
#
# Not here: starting them (tests/e2e/plane).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
binaries=(etcd kube-apiserver kube-controller-manager kube-scheduler kubectl helm helm3)

fail() {
	echo "$1" >&2
	exit 1
}

# Prints the binaries that folder $1 does not hold.
missing_in() {
	local binary missing=()
	for binary in "${binaries[@]}"; do
		[[ -x $1/$binary ]] || missing+=("$binary")
	done
	echo "${missing[*]}"
}

package_of() {
	case $1 in
	etcd) echo go.etcd.io/etcd/server/v3 ;;
	helm) echo helm.sh/helm/v4/cmd/helm ;;
	helm3) echo helm.sh/helm/v3/cmd/helm ;;
	*) echo "k8s.io/kubernetes/cmd/$1" ;;
	esac
}

# The folder of the module that binary $1 is built from.
module_of() {
	case $1 in
	helm | helm3) echo "$here/$1" ;;
	*) echo "$here" ;;
	esac
}

where=build
case ${1-} in
'') ;;
--where) where=only ;;
*) fail "build.sh does not know \"$1\"; its only argument is --where." ;;
esac

if [[ -n ${KUBEBUILDER_ASSETS-} ]]; then
	missing=$(missing_in "$KUBEBUILDER_ASSETS")
	[[ -z $missing ]] || fail "KUBEBUILDER_ASSETS=$KUBEBUILDER_ASSETS does not hold: $missing; add them, or unset KUBEBUILDER_ASSETS and run make kube."
	(cd "$KUBEBUILDER_ASSETS" && pwd)
	exit 0
fi

folder=${BINDERY_KUBE_DIR-}
if [[ -z $folder ]]; then
	hash=$(cat "$here"/{,helm/,helm3/}go.{mod,sum} | sha256sum | cut -c1-16)
	folder=${HOME:?HOME is not set; set it or BINDERY_KUBE_DIR}/.cache/bindery/kube/$hash
fi
missing=$(missing_in "$folder")
if [[ -z $missing ]]; then
	(cd "$folder" && pwd)
	exit 0
fi
[[ $where == build ]] || fail "The control plane is not built ($folder does not hold: $missing), so no end-to-end case can run; run make kube, which takes about six minutes, once."

command -v go >/dev/null || fail "Go is missing, and the control plane of the end-to-end tests is built with it; install Go 1.26 or later, or point KUBEBUILDER_ASSETS at a folder with ${binaries[*]}."

# The API server reports this version, and kubectl compares it; without it both are empty.
version=$(sed -n 's|^[[:space:]]*k8s.io/kubernetes \(v[0-9.]*\).*|\1|p' "$here/go.mod" | head -n 1)
IFS=. read -r major minor _ <<<"${version#v}"
stamp=k8s.io/component-base/version
flags="-s -w -X $stamp.gitVersion=$version -X $stamp.gitMajor=$major -X $stamp.gitMinor=$minor"

# Built aside and renamed when whole: an interrupted build leaves no folder that looks complete, and
# two builds at once do not write into each other.
mkdir -p "$(dirname "$folder")"
aside=$(mktemp -d "$folder.building.XXXXXX")
trap 'rm -rf "$aside"' EXIT
trap 'exit 130' INT TERM HUP
chmod 755 "$aside"

read -ra absent <<<"$missing"
step=0
for binary in "${absent[@]}"; do
	step=$((step + 1))
	echo "[$step/${#absent[@]}] building $binary ($(package_of "$binary"))"
	CGO_ENABLED=0 go build -C "$(module_of "$binary")" -mod=readonly -trimpath -ldflags "$flags" \
		-o "$aside/$binary" "$(package_of "$binary")" ||
		fail "Building $binary failed; the lines above say why; fix it, then run make kube again."
done

if ! mv -T "$aside" "$folder" 2>/dev/null; then
	# The folder exists and is not empty: another build came first, or some were there.
	for binary in "${absent[@]}"; do
		mv -f "$aside/$binary" "$folder/$binary"
	done
fi
(cd "$folder" && pwd)
