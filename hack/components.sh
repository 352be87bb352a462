#!/bin/sh
# Brings the real components that tests run against: PostgreSQL, Chromium, kube-apiserver and etcd, helm, promtool, Lua, actionlint. What is there already
# costs nothing; what cannot be had is said here, and the tests that need it fail with the same words.
set -u
cd "$(dirname "$0")/.."

# need PACKAGE PROGRAM FORMULA: installs the distribution's package unless its program is there.
need() {
  [ -n "$2" ] && return
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing $1…"
    log=$(mktemp)
    { apt-get update -qq && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1"; } >"$log" 2>&1 ||
      { tail -n 5 "$log" >&2; echo "warning: $1 could not be installed" >&2; }
    rm -f "$log"
  else
    echo "warning: $1 is not there: install it (Debian, Ubuntu: apt-get install $1; macOS: brew install $3)" >&2
  fi
}
need chromium "$(command -v chromium || command -v google-chrome || true)" chromium
# Debian and Ubuntu keep the programs of PostgreSQL outside of PATH.
need postgresql "$(command -v initdb || ls /usr/lib/postgresql/*/bin/initdb 2>/dev/null || true)" postgresql@16

for part in envtest helm promtool lua actionlint; do
  sh "hack/$part/build.sh" >/dev/null || echo "warning: the tests that need hack/$part will fail (see above)" >&2
done
