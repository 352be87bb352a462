#!/bin/sh
# Builds actionlint of the version pinned in go.mod into a cache folder and prints the binary's path. ACTIONLINT, when set, is used
# instead.
set -eu
cd "$(dirname "$0")"
if [ -n "${ACTIONLINT:-}" ]; then echo "$ACTIONLINT"; exit 0; fi
command -v go >/dev/null 2>&1 || { echo 'error: Go is not installed: install Go 1.26 or newer, or set ACTIONLINT to an actionlint binary' >&2; exit 1; }
key=$( (cat go.sum go.mod; go version) | cksum | cut -d' ' -f1)
bin="${XDG_CACHE_HOME:-$HOME/.cache}/paymaster-actionlint/$key"
if [ -f "$bin/.complete" ]; then echo "$bin/actionlint"; exit 0; fi
mkdir -p "$bin"
export CGO_ENABLED=0 GOTOOLCHAIN=local
go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$bin/actionlint" github.com/rhysd/actionlint/cmd/actionlint
touch "$bin/.complete"
echo "$bin/actionlint"
