#!/bin/sh
# components.sh [--system | --built]: brings the real components that tests run against. --system: PostgreSQL and Chromium, which the distribution has.
# --built: what is built from pinned modules, minutes when nothing is cached: actionlint, Lua, helm, kube-apiserver with etcd, promtool. Neither:
# both. What is there already costs nothing; what cannot be had is said here, and the tests that need it fail with the same words.
set -u
cd "$(dirname "$0")/.."
case "${1:-}" in
  '') system=1 built=1 ;;
  --system) system=1 built= ;;
  --built) system= built=1 ;;
  *) echo "error: components.sh takes --system or --built, not $1" >&2; exit 2 ;;
esac

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
if [ -n "$system" ]; then
  need chromium "$(command -v chromium || command -v google-chrome || true)" chromium
  # Debian and Ubuntu keep the programs of PostgreSQL outside of PATH.
  need postgresql "$(command -v initdb || ls /usr/lib/postgresql/*/bin/initdb 2>/dev/null || true)" postgresql@16
fi

[ -n "$built" ] || exit 0
# Quick builds first: a test that needs one waits for all that are built before it.
for part in actionlint lua helm envtest promtool; do
  sh "hack/$part/build.sh" >/dev/null || echo "warning: the tests that need hack/$part will fail (see above)" >&2
done
