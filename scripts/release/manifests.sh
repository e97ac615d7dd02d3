#!/usr/bin/env bash
# Writes the manifest for krew and the formula for Homebrew, from the archives in a folder:
#
#   manifests.sh VERSION URL HOMEPAGE FOLDER     URL is the folder from which the archives are fetched
#
# Both say the same of the same files: each architecture whose archive is there, with its checksum.
set -euo pipefail

version=$1
url=$2
homepage=$3
out=$4
description='Explain why a PVC is Pending, and stop changes that lose storage'

sum_of() {
	sha256sum "$1" | cut -d ' ' -f 1
}

shopt -s nullglob
archives=("$out/bindery-$version-linux-"*.tar.gz)
((${#archives[@]} > 0)) || {
	echo "$out holds no archive of version $version; build one with make release VERSION=$version, then retry." >&2
	exit 2
}

platforms=
downloads=
for archive in "${archives[@]}"; do
	file=$(basename "$archive")
	sum=$(sum_of "$archive")
	architecture=${file#"bindery-$version-linux-"}
	architecture=${architecture%.tar.gz}
	platforms+="
  - selector:
      matchLabels:
        os: linux
        arch: $architecture
    uri: $url/$file
    sha256: $sum
    files:
    - from: ${file%.tar.gz}/bindery
      to: .
    - from: ${file%.tar.gz}/LICENSE
      to: .
    - from: ${file%.tar.gz}/NOTICES
      to: .
    bin: bindery"
	case $architecture in
	amd64) block=on_intel ;;
	arm64) block=on_arm ;;
	*)
		echo "$file: Homebrew has no name for the architecture $architecture" >&2
		exit 2
		;;
	esac
	downloads+="
  $block do
    url \"$url/$file\"
    sha256 \"$sum\"
  end
"
done

cat >"$out/bindery.krew.yaml" <<END
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: bindery
spec:
  version: v$version
  homepage: $homepage
  shortDescription: $description
  description: |
    Names every PersistentVolume that a PersistentVolumeClaim does not get, the reason for each, and one command
    that fixes it. Checks manifests before they are applied, brings deleted PVCs back with their data, and moves
    them to another namespace or name. Nothing has to be installed in the cluster.
  platforms:$platforms
END

cat >"$out/bindery.rb" <<END
class Bindery < Formula
  desc "$description"
  homepage "$homepage"
  version "$version"
  license "Apache-2.0"

  depends_on :linux
$downloads
  def install
    bin.install "bindery"
    bin.install_symlink bin/"bindery" => "kubectl-bindery"
    bin.install_symlink bin/"bindery" => "kubectl_complete-bindery"
    bash_completion.install "completions/bindery.bash" => "bindery"
    zsh_completion.install "completions/_bindery"
    fish_completion.install "completions/bindery.fish"
    man1.install Dir["man1/*.1"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/bindery --version")
  end
end
END
