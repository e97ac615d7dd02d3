#!/usr/bin/env bash
# Obtains the browser that the tests of HTML reports open pages in: Debian's headless Chromium, and the libraries of it
# that this machine lacks, unpacked into a cache folder that every clone shares. Nothing is installed; no rights are
# needed. 100 MB are fetched once.
#
#   browser.sh           obtains it if it is missing; the last line on stdout is the program
#   browser.sh --where   obtains nothing; prints the program if there is one, else fails
#
# BINDERY_BROWSER  a Chromium that is used instead, as /usr/bin/chromium
#
# Not here: driving it (tests/browser/devtools.rs).
set -euo pipefail

fail() {
	echo "$1" >&2
	exit 1
}

if [[ -n ${BINDERY_BROWSER-} ]]; then
	[[ -x $BINDERY_BROWSER ]] || fail "BINDERY_BROWSER=$BINDERY_BROWSER is no program; name a Chromium, or unset it."
	echo "$BINDERY_BROWSER"
	exit
fi
cache=${XDG_CACHE_HOME:-$HOME/.cache}/bindery
folder=$cache/browser
program=$folder/chromium
package=chromium-headless-shell
if [[ ! -x $program ]]; then
	installed=$(command -v $package || command -v chromium || command -v chromium-browser || true)
	program=${installed:-$program}
fi
if [[ -x $program ]]; then
	echo "$program"
	exit
fi
[[ ${1-} != --where ]] || fail "there is no browser for the tests of HTML reports; make browser obtains one."
for tool in apt-get dpkg-deb; do
	command -v $tool >/dev/null ||
		fail "$tool is missing, so the browser of the tests cannot be fetched; install Chromium and name it in BINDERY_BROWSER, then retry."
done

mkdir -p "$cache"
made=$(mktemp -d "$cache/browser.XXXXXX")
trap 'rm -rf "$made"' EXIT
mkdir -p "$made"/{debs,lists/partial,archives/partial}
# The lists of packages of this machine, else lists of our own: they need no rights.
options=()
missing() {
	apt-get ${options[@]+"${options[@]}"} install --simulate -qq --no-install-recommends $package 2>/dev/null |
		awk '/^Inst/ { print $2 }'
}
packages=$(missing || true)
if [[ -z $packages ]]; then
	echo "fetching the lists of packages" >&2
	options=(-o "Dir::State::lists=$made/lists" -o "Dir::Cache=$made")
	apt-get "${options[@]}" update -qq >&2
	packages=$(missing || true)
fi
[[ -n $packages ]] ||
	fail "apt-get knows no package $package; install Chromium and name it in BINDERY_BROWSER, then retry."
echo "fetching $(wc -w <<<"$packages") packages of Debian for the browser of the tests, half a minute" >&2
# As root, apt-get would fetch as another user, who may not write here.
# shellcheck disable=SC2086
(cd "$made/debs" && apt-get ${options[@]+"${options[@]}"} -o APT::Sandbox::User=root download -qq $packages) >&2
for deb in "$made"/debs/*.deb; do
	dpkg-deb --extract "$deb" "$made"
done
rm -rf "$made"/{debs,lists,archives} "$made"/*.bin

# The folders with libraries, from this folder on: it moves to another name.
libraries=$(cd "$made" && find usr/lib lib -name '*.so*' -printf '%h\n' 2>/dev/null | sort -u || true)
cat >"$made/chromium" <<'LAUNCHER'
#!/usr/bin/env bash
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
while read -r folder; do
	LD_LIBRARY_PATH=$here/$folder:${LD_LIBRARY_PATH-}
done <"$here/libraries"
export LD_LIBRARY_PATH
exec "$here/usr/lib/chromium/chromium-headless-shell" "$@"
LAUNCHER
echo "$libraries" >"$made/libraries"
chmod +x "$made/chromium"
"$made/chromium" --version >&2 ||
	fail "the browser of the tests does not start here; install Chromium and name it in BINDERY_BROWSER, then retry."
# Another clone may have been faster.
mv -T "$made" "$folder" 2>/dev/null || [[ -x $folder/chromium ]]
trap - EXIT
rm -rf "$made"
echo "$folder/chromium"
