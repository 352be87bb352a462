#!/bin/sh
# e2e.sh [disturb]: drives the charts on the cluster of the current context. It removes what an earlier run left, and all that it made at
# the end; it needs nothing of the cluster but room for eight pods.
#
#   KUBECONFIG  the cluster (default: kubectl's own)
#   IMAGE       image under test, name:tag, on the nodes or brought there by LOAD_IMAGE
#   LOAD_IMAGE  shell command run first, e.g. "kind load docker-image paymaster-operator:dev --name paymaster"
#   POSTGRES_IMAGE image of PostgreSQL 15 or later (default docker.io/library/postgres:17-bookworm)
#   CHAIN_HOST  this machine's address as pods see it; the dev chain listens there
#   LOAD_SECONDS seconds of RPC load around each fault (default 5), KEEP=1 leaves everything installed
#   KUBECTL, HELM paths of the tools (default: from PATH, else built once from pinned modules)
set -eu
cd "$(dirname "$0")/.."
if [ -z "${KUBECTL:-}" ]; then KUBECTL=$(command -v kubectl || echo "$(sh hack/envtest/build.sh)/kubectl"); fi
if [ -z "${HELM:-}" ]; then HELM=$(sh hack/helm/build.sh); fi
"$KUBECTL" get --raw=/readyz >/dev/null 2>&1 || {
  echo 'error: no cluster answers: set KUBECONFIG, or make one with "make kind-up"' >&2
  exit 1
}
if [ -z "${CHAIN_HOST:-}" ] && command -v docker >/dev/null 2>&1; then
  CHAIN_HOST=$(docker network inspect kind --format '{{range .IPAM.Config}}{{println .Gateway}}{{end}}' 2>/dev/null | grep -m1 '\.' || true)
fi
export KUBECTL HELM CHAIN_HOST
exec node_modules/.bin/node --no-warnings dist/test/e2e/main.js "$@"
