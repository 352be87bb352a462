#!/bin/sh
# Installs the pinned runtime and dependencies of package-lock.json, once per change of the lock file.
set -eu
cd "$(dirname "$0")/.."
sh hack/preflight.sh
stamp=node_modules/.installed
if [ -f "$stamp" ] && cmp -s package-lock.json "$stamp"; then exit 0; fi
echo 'Installing the pinned Node.js and dependencies (about a minute the first time)…'
# Not `npm ci`: it refuses a lock file that lacks binaries of other platforms, which some registry mirrors do not carry.
# Versions come from the lock file all the same, and nothing is written to it.
# Written by npm in place, so that it may describe another clone that shares its file by a hard link. Without it npm looks for itself.
rm -f node_modules/.package-lock.json
npm install --no-save --no-audit --no-fund --loglevel=error || { echo 'error: npm install failed (see above): check that a package registry can be reached and that the disk has 1 GB free' >&2; exit 1; }
version=$(node_modules/.bin/node --version 2>/dev/null) || version=none
case "$version" in
  # Moved into place for the same reason.
  v24.*) cp package-lock.json "$stamp.new" && mv "$stamp.new" "$stamp" ;;
  *) echo "error: the pinned Node.js 24 was not installed (found: $version): allow the install script of the package \"node\" and run again" >&2; exit 1 ;;
esac
