#!/bin/sh
# Builds the Lua of the version pinned in go.mod, the one that Argo CD has inside, into a cache folder and prints the binary's path. GLUA,
# when set, is used instead.
set -eu
cd "$(dirname "$0")"
if [ -n "${GLUA:-}" ]; then echo "$GLUA"; exit 0; fi
command -v go >/dev/null 2>&1 || { echo 'error: Go is not installed: install Go 1.26 or newer, or set GLUA to a glua binary of gopher-lua' >&2; exit 1; }
key=$( (cat go.sum go.mod; go version) | cksum | cut -d' ' -f1)
bin="${XDG_CACHE_HOME:-$HOME/.cache}/paymaster-lua/$key"
export CGO_ENABLED=0 GOTOOLCHAIN=local
build_into() { go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$1/glua" github.com/yuin/gopher-lua/cmd/glua; }
. ../once.sh
once lua "$bin" 'the Lua of Argo CD'
echo "$bin/glua"
