# Sourced by hack/*/build.sh.

# `pinned NAME GIVEN INSTEAD [MODULE]` prints GIVEN and ends where somebody has given the tool; INSTEAD says how. Else `bin` is the folder
# of the cache for what go.mod pins, and `V` its version of MODULE.
pinned() {
  if [ -n "$2" ]; then echo "$2"; exit 0; fi
  command -v go >/dev/null 2>&1 || { echo "error: Go is not installed: install Go 1.26 or newer, or set $3" >&2; exit 1; }
  key=$( (cat go.sum go.mod; go version) | cksum | cut -d' ' -f1)
  V=$(sed -n "s#^.*${4:-no module} \(v[0-9.]*\).*#\1#p" go.mod | head -1)
  bin="${XDG_CACHE_HOME:-$HOME/.cache}/paymaster-$1/${V:+$V-}$key"
  export CGO_ENABLED=0 GOTOOLCHAIN=local
}

# `once NAME FOLDER WHAT` calls the function `build_into DIRECTORY` unless FOLDER is built; FOLDER then appears whole.
# Where another process builds the same, it waits for that one. All it says goes to stderr.
once() {
  name=$1 folder=$2 what=$3
  if [ -f "$folder/.complete" ]; then return; fi
  mkdir -p "$(dirname "$folder")"
  lock="$folder.lock"
  waited=0
  # A link is made with its text, the builder's process, at once. The lock only saves work: who builds twice does no harm.
  until ln -sn "$$" "$lock" 2>/dev/null; do
    builder=$(readlink "$lock" || true)
    if [ -z "$builder" ]; then continue; fi
    # After an hour the number is that of another process.
    if ! kill -0 "$builder" 2>/dev/null || [ "$waited" -ge 3600 ]; then rm -f "$lock"; continue; fi
    if [ "$waited" = 0 ]; then echo "$name: process $builder builds it: waiting for that" >&2; fi
    sleep 1
    waited=$((waited + 1))
    if [ -f "$folder/.complete" ]; then return; fi
  done
  work="$folder.$$"
  trap 'if [ "$(readlink "$lock" || true)" = "$$" ]; then rm -f "$lock"; fi; chmod -R u+w "$work" 2>/dev/null || true; rm -rf "$work"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  if [ -f "$folder/.complete" ]; then return; fi
  began=$(date +%s)
  echo "$name: building $what…" >&2
  rm -rf "$work"
  mkdir "$work"
  build_into "$work"
  touch "$work/.complete"
  rm -rf "$folder"
  mv "$work" "$folder"
  echo "$name: built in $(($(date +%s) - began)) s into $folder" >&2
}
