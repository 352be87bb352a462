#!/bin/sh
# up.sh KIND CLUSTER IMAGE…: a cluster of this name with the images on its nodes; an existing one is used as it is.
set -eu
kind=$1 cluster=$2 image=$3
shift 2
command -v docker >/dev/null 2>&1 || { echo 'error: Docker is not installed: see https://docs.docker.com/engine/install' >&2; exit 1; }
# The npm package of this name is an unrelated type checker.
command -v "$kind" >/dev/null 2>&1 || { echo 'error: kind is not installed: go install sigs.k8s.io/kind@latest' >&2; exit 1; }
"$kind" get clusters 2>/dev/null | grep -qx "$cluster" ||
  "$kind" create cluster --name "$cluster" --config "$(dirname "$0")/cluster.yaml" --wait 120s
"$kind" load docker-image "$@" --name "$cluster"
gateway=$(docker network inspect kind --format '{{range .IPAM.Config}}{{println .Gateway}}{{end}}' | grep -m1 '\.')
echo "next: kubectl config use-context kind-$cluster && make e2e IMAGE=$image CHAIN_HOST=$gateway"
