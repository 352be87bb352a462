#!/bin/sh
# Builds helm of the version pinned in go.mod into a cache folder and prints the binary's path. HELM, when set, is used
# instead. About two minutes cold on two cores.
set -eu
cd "$(dirname "$0")"
. ../once.sh
pinned helm "${HELM:-}" 'HELM to a helm 4 binary' helm.sh/helm/v4
build_into() {
  go build -trimpath -buildvcs=false -ldflags "-s -w -X helm.sh/helm/v4/internal/version.version=$V" -o "$1/helm" helm.sh/helm/v4/cmd/helm
}
once helm "$bin" "$V, two minutes when nothing is cached"
echo "$bin/helm"
