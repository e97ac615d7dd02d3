#!/usr/bin/env bash
# Builds what the image is made of into dist/: the static binary, the licence, and the notices of all that is
# compiled into it.
#
# SOURCE_DATE_EPOCH  the time that files are given; that of the last commit by default
# BINDERY_AUDITABLE  puts the list of its libraries into the binary, with cargo-auditable
#
# Not here: what makes the binary static (.cargo/config.toml); the image itself (build.sh).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

host=$(rustc -vV | sed -n 's/^host: //p')
[[ $host == *-linux-gnu ]] || {
	echo "The image holds a program for Linux, and this is $host; build it on Linux." >&2
	exit 2
}
# Flags of the environment would take the place of those that make the binary static.
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS

# Paths of this machine do not belong into the message of a panic, and would make a different binary of
# every folder. Where the sources of the standard library are installed, they are named as where they are not.
home=${CARGO_HOME:-$HOME/.cargo}
target=$(cargo metadata --locked --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
library=$(rustc --print sysroot)/lib/rustlib/src/rust
commit=$(rustc -vV | sed -n 's/^commit-hash: //p')
renamed=
for pair in "$PWD=." "$target=./target" "$home=cargo" "$library=/rustc/$commit"; do
	renamed+="'--remap-path-prefix=$pair',"
done
cargo ${BINDERY_AUDITABLE:+auditable} static --config "target.$host.rustflags=[$renamed]"

rm -rf dist
mkdir dist
# Modes are given: the umask of the builder would otherwise decide whether user 65532 may run it.
install -m 0755 "$target/$host/release/bindery" dist/bindery
install -m 0644 LICENSE dist/LICENSE
scripts/image/notices.sh "$host" >dist/NOTICES
chmod 0644 dist/NOTICES
dist/bindery --version >/dev/null || {
	echo "dist/bindery does not start; build it where glibc is 2.36 or newer, as on Debian 12 or Ubuntu 24.04." >&2
	exit 1
}
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
touch -d "@$epoch" dist/bindery dist/LICENSE dist/NOTICES
ls -l dist
