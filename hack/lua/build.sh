#!/bin/sh
# Builds the Lua of the version pinned in go.mod, the one that Argo CD has inside, into a cache folder and prints the binary's path. GLUA,
# when set, is used instead.
set -eu
cd "$(dirname "$0")"
. ../once.sh
pinned lua "${GLUA:-}" 'GLUA to a glua binary of gopher-lua'
build_into() { go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$1/glua" github.com/yuin/gopher-lua/cmd/glua; }
once lua "$bin" 'the Lua of Argo CD'
echo "$bin/glua"
