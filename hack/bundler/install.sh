#!/bin/sh
# Installs the bundler alto (GPL-3.0) into this folder, once per change of its lock file. Only for a dev chain: nothing here is
# part of the service, of its dependencies or of its image.
set -eu
cd "$(dirname "$0")"
stamp=node_modules/.installed
if [ -f "$stamp" ] && cmp -s package-lock.json "$stamp"; then exit 0; fi
echo 'Installing the bundler alto in hack/bundler (379 MB, about half a minute)…'
# Fewer and shorter retries than npm's own: without a network it should say so within a minute.
npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error --fetch-retries=1 --fetch-retry-mintimeout=1000 ||
  { echo 'error: the bundler could not be installed (see above): check that a package registry can be reached, or run without BUNDLER=1' >&2; exit 1; }
cp package-lock.json "$stamp"
