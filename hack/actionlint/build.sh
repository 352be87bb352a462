#!/bin/sh
# Builds actionlint of the version pinned in go.mod into a cache folder and prints the binary's path. ACTIONLINT, when set, is used
# instead.
set -eu
cd "$(dirname "$0")"
if [ -n "${ACTIONLINT:-}" ]; then echo "$ACTIONLINT"; exit 0; fi
command -v go >/dev/null 2>&1 || { echo 'error: Go is not installed: install Go 1.26 or newer, or set ACTIONLINT to an actionlint binary' >&2; exit 1; }
key=$( (cat go.sum go.mod; go version) | cksum | cut -d' ' -f1)
bin="${XDG_CACHE_HOME:-$HOME/.cache}/paymaster-actionlint/$key"
export CGO_ENABLED=0 GOTOOLCHAIN=local
build_into() { go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$1/actionlint" github.com/rhysd/actionlint/cmd/actionlint; }
. ../once.sh
once actionlint "$bin" 'the linter of workflows'
echo "$bin/actionlint"
