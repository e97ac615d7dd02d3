#!/usr/bin/env bash
# Packs a folder into an archive whose bytes follow from the names, the contents and SOURCE_DATE_EPOCH alone:
#
#   pack.sh FOLDER ARCHIVE.tar.gz
#
# Not here: what is in it (build.sh, assemble.sh).
set -euo pipefail

folder=$1
archive=$2
: "${SOURCE_DATE_EPOCH:?is not set, and the times in the archive come from it; release.sh sets it}"

# Modes are given: the umask of the builder would otherwise decide. The order is that of bytes, in every locale.
LC_ALL=C tar --create --sort=name --format=ustar --owner=0 --group=0 --numeric-owner --mode='u=rwX,go=rX' \
	--mtime="@$SOURCE_DATE_EPOCH" --directory="$(dirname "$folder")" "$(basename "$folder")" |
	gzip --no-name --best >"$archive"
