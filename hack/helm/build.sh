#!/bin/sh
# Builds helm of the version pinned in go.mod into a cache folder and prints the binary's path. HELM, when set, is used
# instead. About two minutes cold on two cores.
set -eu
cd "$(dirname "$0")"
if [ -n "${HELM:-}" ]; then echo "$HELM"; exit 0; fi
command -v go >/dev/null 2>&1 || { echo 'error: Go is not installed: install Go 1.26 or newer, or set HELM to a helm 4 binary' >&2; exit 1; }
V=$(sed -n 's#^.*helm.sh/helm/v4 \(v[0-9.]*\).*#\1#p' go.mod | head -1)
key=$( (cat go.sum go.mod; go version) | cksum | cut -d' ' -f1)
bin="${XDG_CACHE_HOME:-$HOME/.cache}/paymaster-helm/$V-$key"
export CGO_ENABLED=0 GOTOOLCHAIN=local
build_into() {
  go build -trimpath -buildvcs=false -ldflags "-s -w -X helm.sh/helm/v4/internal/version.version=$V" -o "$1/helm" helm.sh/helm/v4/cmd/helm
}
. ../once.sh
once helm "$bin" "$V, two minutes when nothing is cached"
echo "$bin/helm"
