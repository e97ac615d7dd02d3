#!/usr/bin/env bash
# Builds what the end-to-end tests run beside Bindery from the Go modules in tests/kube, once, into cache
# folders that every clone shares. There are two sets:
#
#   plane  etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl; and helm, 4 and 3. Each helm
#          has a module of its own: what it requires would change what the API server is made of. The programs of
#          another Kubernetes version have one as well (versions/MINOR); etcd and helm are those of the plane.
#   peers  the CSI sidecars of Kubernetes, with the rights and the kinds that their projects ship, the driver behind
#          them, which is ours (peers/driver), the suite that tests drivers, and Rancher's provisioner of local folders
#          with the manifest that its project ships: one module, so that they share what they are made of.
#
#   kube.sh [SET]          builds what is missing of a set, plane if none is named; the last line on stdout is
#                           the folder
#   kube.sh --where [SET]  builds nothing; prints the folder if it is complete, else fails
#
# KUBEBUILDER_ASSETS    a folder that already holds the plane; it is used as it is
# BINDERY_KUBE_VERSION  the Kubernetes version of the plane, as 1.34: that of go.mod or a folder of versions/. By
#                       default, that of go.mod
# BINDERY_KUBE_DIR      the cache folder of the plane of go.mod; by default a folder is named after the hash of what
#                       its set is built from, so a new version never meets an old build
# BINDERY_PEERS_DIR     the same of the peers
#
# Not here: starting them (tests/e2e/harness/plane, tests/e2e/harness/sidecars).
set -euo pipefail

scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
self=$scripts/kube.sh
here=$(cd "$scripts/../tests/kube" && pwd)

fail() {
	echo "$1" >&2
	exit 1
}

where=build
if [[ ${1-} == --where ]]; then
	where=only
	shift
fi
(($# <= 1)) || fail "kube.sh takes one set, plane or peers, and --where before it."
set=${1-plane}

# Prints the Kubernetes release that module $1 builds, as v1.36.3.
release_of() {
	sed -n 's|^[[:space:]]*k8s.io/kubernetes \(v[0-9.]*\).*|\1|p' "$1/go.mod" | head -n 1
}

# The module of Kubernetes' programs, and what a plane of another version takes from that of go.mod.
kubernetes=$here
borrowed=()
lender=
target=kube
case $set in
plane)
	contents=(etcd kube-apiserver kube-controller-manager kube-scheduler kubectl helm helm3)
	folder=${BINDERY_KUBE_DIR-}
	cache=kube
	minutes=six
	sources=("$here"/{,helm/,helm3/}go.{mod,sum})
	version=${BINDERY_KUBE_VERSION-}
	if [[ -n $version && $(release_of "$here") != "v$version."* ]]; then
		kubernetes=$here/versions/$version
		[[ -f $kubernetes/go.mod ]] ||
			fail "BINDERY_KUBE_VERSION=$version is no version that the tests know; unset it for $(release_of "$here"), or name one of: $(cd "$here/versions" && echo *)."
		[[ -z ${KUBEBUILDER_ASSETS-} ]] ||
			fail "KUBEBUILDER_ASSETS names one plane and BINDERY_KUBE_VERSION=$version another; unset one of them."
		folder=
		cache=kube-$version
		target=versions
		sources=("$kubernetes"/go.{mod,sum})
		borrowed=(etcd helm helm3)
		if [[ $where == build ]]; then
			lender=$(BINDERY_KUBE_VERSION='' "$self" plane | tee >(cat >&2) | tail -n 1)
		else
			lender=$(BINDERY_KUBE_VERSION='' "$self" --where plane)
		fi
	fi
	;;
peers)
	contents=(csi-driver csi-sanity csi-provisioner csi-attacher csi-resizer csi-snapshotter snapshot-controller
		local-path-provisioner rights.yaml kinds.yaml local-path.yaml)
	folder=${BINDERY_PEERS_DIR-}
	cache=peers
	minutes=four
	sources=("$here"/peers/go.{mod,sum} "$here"/peers/driver/*.go)
	;;
*) fail "kube.sh does not know the set \"$set\"; it knows plane and peers." ;;
esac

is_borrowed() {
	[[ " ${borrowed[*]} " == *" $1 "* ]]
}

# Prints what folder $1 does not hold of the set.
missing_in() {
	local name missing=()
	for name in "${contents[@]}"; do
		# What is borrowed is missing also where it is that of a former plane.
		if ! [[ -s $1/$name ]] || { is_borrowed "$name" && ! [[ $1/$name -ef $lender/$name ]]; }; then
			missing+=("$name")
		fi
	done
	echo "${missing[*]}"
}

csi=github.com/kubernetes-csi
local_path=github.com/rancher/local-path-provisioner

# What $1 is made of: the package of a binary, or the files of a manifest, each after its module and a colon.
origin_of() {
	case $1 in
	etcd) echo go.etcd.io/etcd/server/v3 ;;
	helm) echo helm.sh/helm/v4/cmd/helm ;;
	helm3) echo helm.sh/helm/v3/cmd/helm ;;
	kube*) echo "k8s.io/kubernetes/cmd/$1" ;;
	csi-driver) echo bindery.dev/tests/kube/peers/driver ;;
	csi-sanity) echo $csi/csi-test/v5/cmd/csi-sanity ;;
	csi-provisioner) echo $csi/external-provisioner/v6/cmd/csi-provisioner ;;
	csi-attacher) echo $csi/external-attacher/v4/cmd/csi-attacher ;;
	csi-resizer) echo $csi/external-resizer/v2/cmd/csi-resizer ;;
	csi-snapshotter | snapshot-controller) echo "$csi/external-snapshotter/v8/cmd/$1" ;;
	local-path-provisioner) echo "$local_path" ;;
	rights.yaml)
		echo $csi/external-{provisioner/v6,attacher/v4,resizer/v2}:deploy/kubernetes/rbac.yaml \
			$csi/external-snapshotter/v8:deploy/kubernetes/{csi-snapshotter/rbac-csi-snapshotter,snapshot-controller/rbac-snapshot-controller}.yaml
		;;
	local-path.yaml) echo "$local_path:deploy/local-path-storage.yaml" ;;
	kinds.yaml)
		echo $csi/external-snapshotter/client/v8:config/crd/{snapshot.storage.k8s.io_volume,groupsnapshot.storage.k8s.io_volumegroup}snapshot{s,contents,classes}.yaml
		;;
	esac
}

# The folder of the Go module that $1 is built with.
module_of() {
	case $set,$1 in
	plane,helm*) echo "$here/$1" ;;
	plane,*) echo "$kubernetes" ;;
	peers,*) echo "$here/peers" ;;
	esac
}

# Makes $1 at path $2.
make_of() {
	local origin module file folder
	if is_borrowed "$1"; then
		ln -s "$lender/$1" "$2"
		return
	fi
	module=$(module_of "$1")
	if [[ $1 != *.yaml ]]; then
		CGO_ENABLED=0 go build -C "$module" -mod=readonly -trimpath -ldflags "$flags" -o "$2" "$(origin_of "$1")"
		return
	fi
	for origin in $(origin_of "$1"); do
		IFS=: read -r origin file <<<"$origin"
		folder=$(go list -C "$module" -mod=readonly -m -f '{{.Dir}}' "$origin") || return
		{ echo "---" && cat "$folder/$file"; } >>"$2" || return
	done
}

if [[ $set == plane && -n ${KUBEBUILDER_ASSETS-} ]]; then
	missing=$(missing_in "$KUBEBUILDER_ASSETS")
	[[ -z $missing ]] || fail "KUBEBUILDER_ASSETS=$KUBEBUILDER_ASSETS does not hold: $missing; add them, or unset KUBEBUILDER_ASSETS and run make kube."
	(cd "$KUBEBUILDER_ASSETS" && pwd)
	exit 0
fi

if [[ -z $folder ]]; then
	hash=$(cat "${sources[@]}" | sha256sum | cut -c1-16)
	folder=${HOME:?HOME is not set; set it or the folder of the set}/.cache/bindery/$cache/$hash
fi
missing=$(missing_in "$folder")
if [[ -z $missing ]]; then
	(cd "$folder" && pwd)
	exit 0
fi
[[ $where == build ]] || fail "What the end-to-end tests run is not built ($folder does not hold: $missing), so no end-to-end case can run; run make $target, which takes about $minutes minutes, once."

command -v go >/dev/null || fail "Go is missing, and what the end-to-end tests run is built with it; install Go 1.26 or later, or, for the plane alone, point KUBEBUILDER_ASSETS at a folder with ${contents[*]}."

flags="-s -w"
if [[ $set == plane ]]; then
	# The API server reports this version, and kubectl compares it; without it both are empty.
	release=$(release_of "$kubernetes")
	IFS=. read -r major minor _ <<<"${release#v}"
	stamp=k8s.io/component-base/version
	flags+=" -X $stamp.gitVersion=$release -X $stamp.gitMajor=$major -X $stamp.gitMinor=$minor"
fi

# Built aside and renamed when whole: an interrupted build leaves no folder that looks complete, and
# two builds at once do not write into each other.
mkdir -p "$(dirname "$folder")"
aside=$(mktemp -d "$folder.building.XXXXXX")
trap 'rm -rf "$aside"' EXIT
trap 'exit 130' INT TERM HUP
chmod 755 "$aside"

read -ra absent <<<"$missing"
step=0
for name in "${absent[@]}"; do
	step=$((step + 1))
	echo "[$step/${#absent[@]}] making $name ($(origin_of "$name"))"
	make_of "$name" "$aside/$name" ||
		fail "Making $name failed; the lines above say why; fix it, then run make $target again."
done

if ! mv -T "$aside" "$folder" 2>/dev/null; then
	# The folder exists and is not empty: another build came first, or some were there.
	for name in "${absent[@]}"; do
		mv -f "$aside/$name" "$folder/$name"
	done
fi
(cd "$folder" && pwd)
