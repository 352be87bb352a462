#!/bin/sh
# Brings the real components that tests run against: redis-server, kube-apiserver and etcd, helm, promtool. What is there already
# costs nothing; what cannot be had is said here, and the tests that need it fail with the same words.
set -u
cd "$(dirname "$0")/.."

if ! command -v redis-server >/dev/null 2>&1; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo 'Installing redis-server…'
    log=$(mktemp)
    { apt-get update -qq && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends redis-server; } >"$log" 2>&1 ||
      { tail -n 5 "$log" >&2; echo 'warning: redis-server could not be installed' >&2; }
    rm -f "$log"
  else
    echo 'warning: redis-server is not on PATH: install it (Debian, Ubuntu: apt-get install redis-server; macOS: brew install redis)' >&2
  fi
fi

for part in envtest helm promtool; do
  sh "hack/$part/build.sh" >/dev/null || echo "warning: the tests that need hack/$part will fail (see above)" >&2
done
