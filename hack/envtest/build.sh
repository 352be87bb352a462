#!/bin/sh
# Builds kube-apiserver, kube-controller-manager, kubectl and etcd of the versions pinned in go.mod into a cache folder
# and prints that folder. KUBEBUILDER_ASSETS, when set, is used instead. About nine minutes cold on two cores.
set -eu
cd "$(dirname "$0")"
. ../once.sh
pinned envtest "${KUBEBUILDER_ASSETS:-}" 'KUBEBUILDER_ASSETS to a folder with kube-apiserver, etcd and kubectl' k8s.io/kubernetes
minor=$(echo "$V" | cut -d. -f2)
stamp() {
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    printf ' -X %s.gitVersion=%s -X %s.gitMajor=1 -X %s.gitMinor=%s -X %s.gitTreeState=clean -X %s.gitCommit=modproxy' \
      "$package" "$V" "$package" "$package" "$minor" "$package" "$package"
  done
}
build_into() {
  go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$1/etcd" go.etcd.io/etcd/server/v3
  n=2
  for program in kube-apiserver kubectl kube-controller-manager; do
    echo "envtest: building $program ($n of 4)…" >&2
    go build -trimpath -buildvcs=false -ldflags "-s -w$(stamp)" -o "$1/$program" "k8s.io/kubernetes/cmd/$program"
    n=$((n + 1))
  done
}
once envtest "$bin" "etcd (1 of 4) and Kubernetes $V, nine minutes when nothing is cached"
echo "$bin"
