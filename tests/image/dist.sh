#!/usr/bin/env bash
# Builds what the image is made of into dist/: the static binary, the licence, and the notices of all that is
# compiled into it.
#
# SOURCE_DATE_EPOCH  the time that files are given; that of the last commit by default
#
# Not here: the image itself (build.sh).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

host=$(rustc -vV | sed -n 's/^host: //p')
[[ $host == *-linux-gnu ]] || {
	echo "The image holds a program for Linux, and this is $host; build it on Linux." >&2
	exit 2
}
# Paths of this machine are no business of whoever reads a message of a panic.
flags="['-C','target-feature=+crt-static','--remap-path-prefix=$PWD=.','--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo']"
cargo build --release --locked --target "$host" --config "target.$host.rustflags=$flags"

mkdir -p dist
cp "target/$host/release/bindery" dist/bindery
cp LICENSE dist/LICENSE
cargo metadata --locked --format-version 1 --filter-platform "$host" |
	cargo run --quiet --locked --example notices >dist/NOTICES
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
touch -d "@$epoch" dist/bindery dist/LICENSE dist/NOTICES
ls -l dist
