#!/bin/sh
# Builds osv-scanner of the version pinned in go.mod into a cache folder and prints the binary's path. OSV_SCANNER, when set, is used
# instead.
set -eu
cd "$(dirname "$0")"
. ../once.sh
pinned osv-scanner "${OSV_SCANNER:-}" 'OSV_SCANNER to an osv-scanner binary'
build_into() { go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$1/osv-scanner" github.com/google/osv-scanner/v2/cmd/osv-scanner; }
once osv-scanner "$bin" "the scanner of known vulnerabilities, minutes when nothing is cached"
echo "$bin/osv-scanner"
