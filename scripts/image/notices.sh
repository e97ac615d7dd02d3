#!/usr/bin/env bash
# Prints the notices of all that is compiled into the static binary:
#
#   notices.sh HOST     the target that it was built for
#
# Libraries of Cargo's are listed by notices.rs. Here is what the compiler adds: the standard library of Rust and, as the
# binary is static, the C library with its terms, which ask for their text beside every copy.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

host=$1
line=$(printf '%.0s-' {1..80})

# The first of the files that is there.
first() {
	local file
	for file in "$@"; do
		[[ -f $file ]] || continue
		echo "$file"
		return
	done
	echo "none of these is here, and the image needs its text: $*" >&2
	return 1
}

rust=$(first "$(rustc --print sysroot)/share/doc/rust/COPYRIGHT-library.html" /usr/share/doc/rust*/COPYRIGHT-library.html)
# Debian and Ubuntu; Fedora; Arch.
terms=$(first /usr/share/common-licenses/LGPL-2.1 /usr/share/licenses/glibc/COPYING.LIB \
	/usr/share/licenses/spdx/LGPL-2.1-or-later.txt)
holders=$(first /usr/share/doc/libc6/copyright /usr/share/licenses/glibc/LICENSES)

# Lines like `serde v1.0.0` and `serde_derive v1.0.0 (proc-macro)`; those with a folder are this program.
mapfile -t libraries < <(cargo tree --locked --target "$host" --edges normal --prefix none --format '{p}' |
	grep -v ' (/' | sed -E 's/^([^ ]+) v([^ ]+).*/\1 \2/' | sort -u)
cargo metadata --locked --format-version 1 --filter-platform "$host" |
	cargo run --quiet --locked --example notices -- "${libraries[@]}"

cat <<END

$line
The Rust standard library $(rustc -V | cut -d ' ' -f 2) (MIT OR Apache-2.0), by The Rust Project Developers

END
# A page for browsers: without its marks it is a text.
sed 's/<[^>]*>//g; s/&#34;/"/g; s/&#39;/'\''/g; s/&#60;/</g; s/&#62;/>/g; s/&amp;/\&/g; s/[ \t]*$//' "$rust" | cat -s

cat <<END

$line
The GNU C library $(getconf GNU_LIBC_VERSION | cut -d ' ' -f 2) (LGPL-2.1-or-later), by the Free Software Foundation and others

It is used in this program and covered by the licence below. \`make dist\` links this program with another version of
it, from the sources of this program. libgcc comes with it, under GPL-3.0-or-later with the GCC Runtime Library
Exception, by the Free Software Foundation.

END
cat "$holders"
printf '\n%s\n\n' "$line"
cat "$terms"
