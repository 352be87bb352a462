#!/bin/sh
# Builds promtool of the version pinned in go.mod into a cache folder and prints the binary's path. PROMTOOL, when set, is used
# instead. About two minutes cold on two cores; the clients of clouds for service discovery, which no test needs, are left out.
set -eu
cd "$(dirname "$0")"
. ../once.sh
pinned promtool "${PROMTOOL:-}" 'PROMTOOL to a promtool binary' github.com/prometheus/prometheus
build_into() {
  source=$(go mod download -json "github.com/prometheus/prometheus@$V" | sed -n 's/^.*"Dir": "\(.*\)".*$/\1/p')
  mkdir -p "$1/module/source"
  cp -R "$source/." "$1/module/source/"
  chmod -R u+w "$1/module/source"
  rm "$1/module/source/plugins/plugins.go"
  cp go.mod go.sum "$1/module/"
  (cd "$1/module" && go mod edit -replace github.com/prometheus/prometheus=./source &&
    go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$1/promtool" github.com/prometheus/prometheus/cmd/promtool)
  rm -rf "$1/module"
}
once promtool "$bin" "$V, two minutes when nothing is cached"
echo "$bin/promtool"
