#!/bin/sh
# Builds osv-scanner of the version pinned in go.mod into a cache folder and prints the binary's path. OSV_SCANNER, when set, is used
# instead.
set -eu
cd "$(dirname "$0")"
if [ -n "${OSV_SCANNER:-}" ]; then echo "$OSV_SCANNER"; exit 0; fi
command -v go >/dev/null 2>&1 || { echo 'error: Go is not installed: install Go 1.26 or newer, or set OSV_SCANNER to an osv-scanner binary' >&2; exit 1; }
key=$( (cat go.sum go.mod; go version) | cksum | cut -d' ' -f1)
bin="${XDG_CACHE_HOME:-$HOME/.cache}/paymaster-osv-scanner/$key"
export CGO_ENABLED=0 GOTOOLCHAIN=local
build_into() { go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$1/osv-scanner" github.com/google/osv-scanner/v2/cmd/osv-scanner; }
. ../once.sh
once osv-scanner "$bin" "the scanner of known vulnerabilities, minutes when nothing is cached"
echo "$bin/osv-scanner"
