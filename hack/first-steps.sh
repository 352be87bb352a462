#!/bin/sh
# Runs the commands of docs/first-steps-kubernetes.md as they are pasted, on the cluster of the current context, and says
# how long each section took. Sections that need kind are left out: the images must be on the nodes. Everything that it
# made is removed at the end, and nothing of it may be there before.
set -eu
cd "$(dirname "$0")/.."
HELM=$(sh hack/helm/build.sh)
PATH="$(dirname "$HELM"):$PWD/node_modules/.bin:$PATH"
export PATH
if kubectl get namespace paymaster-system >/dev/null 2>&1; then
  echo 'error: there is a namespace paymaster-system: use an empty cluster' >&2
  exit 1
fi
script=$(mktemp)
# shellcheck disable=SC2016
awk '
  /^## / { title = substr($0, 4); next }
  /^```sh$/ { block = ""; inside = 1; next }
  /^```$/ && inside {
    inside = 0
    if (block !~ /kind/) printf "section %c%s%c\n%s", 39, title, 39, block
    next
  }
  inside { block = block $0 "\n" }
' docs/first-steps-kubernetes.md >"$script"
remove() {
  rm -f "$script"
  helm uninstall paymaster paymaster-crds -n paymaster-system --ignore-not-found >/dev/null || true
  kubectl get crd -o name | grep 'paymasters\.dev$' | xargs -r kubectl delete --timeout=60s >/dev/null || true
  kubectl delete namespace quickstart paymaster-system dev-chain --ignore-not-found --timeout=120s >/dev/null || true
}
trap remove EXIT
# The output is read too: a refusal is an answer like another to curl.
output=$(bash -c '
  set -euo pipefail
  section() { echo; echo "== $1 (at $SECONDS s)"; }
  trap "kill \$(jobs -p) 2>/dev/null || true" EXIT
  . "$1"
  echo; echo "all sections: $SECONDS s"
' first-steps "$script" | tee /dev/stderr)
for expected in '"paymasterAndData":"0x[0-9a-f]' 'sponsored success true' 'paid      success true'; do
  echo "$output" | grep -q "$expected" || { echo "error: no $expected in the output" >&2; exit 1; }
done
echo 'first steps: all done'
