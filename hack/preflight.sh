#!/bin/sh
# Says in one line what is missing before anything else can fail in a less clear way.
fail() { printf 'error: %s\n' "$1" >&2; exit 1; }
command -v node >/dev/null 2>&1 || fail 'Node.js is not installed: install any Node.js 20 or newer (it only starts the set-up; the pinned Node 24 is installed by npm)'
command -v npm >/dev/null 2>&1 || fail 'npm is not installed: it comes with Node.js 20 or newer'
major=$(node -p 'process.versions.node.split(".")[0]') || fail 'node does not run: check your Node.js installation'
[ "$major" -ge 20 ] || fail "Node.js $(node --version) is too old: install Node.js 20 or newer"
