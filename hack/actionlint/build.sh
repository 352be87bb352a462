#!/bin/sh
# Builds actionlint of the version pinned in go.mod into a cache folder and prints the binary's path. ACTIONLINT, when set, is used
# instead.
set -eu
cd "$(dirname "$0")"
. ../once.sh
pinned actionlint "${ACTIONLINT:-}" 'ACTIONLINT to an actionlint binary'
build_into() { go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$1/actionlint" github.com/rhysd/actionlint/cmd/actionlint; }
once actionlint "$bin" 'the linter of workflows'
echo "$bin/actionlint"
