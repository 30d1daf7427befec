#!/usr/bin/env bash
# Builds FerretDB if there is a `go` of 1.22 or newer. It is a server of MongoDB's protocol for the
# tests of engine `mongodb`, as there is no package of MongoDB's own server. The program stays in
# the cache, beside the build's output.
set -uo pipefail
. "$(dirname "$0")/skip.sh"
version=v1.24.2
program="${XDG_CACHE_HOME:-$HOME/.cache}/kvdyno/tests/ferretdb-$version"
[ -x "$program" ] && exit 0
command -v go >/dev/null || { skip ferretdb "there is no \`go\`"; exit; }

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
# FerretDB has its version in a file that its own build makes.
build() {
    cd "$work" || return
    go mod download -json "github.com/FerretDB/FerretDB@$version" >module.json || return
    cp -r "$(sed -n 's/^\t"Dir": "\(.*\)",$/\1/p' module.json)" source && chmod -R u+w source || return
    cd source && echo "$version" >build/version/version.txt && go build -o "$work/ferretdb" ./cmd/ferretdb
}
if (build) >"$work/log" 2>&1; then
    mkdir -p "$(dirname "$program")" && mv "$work/ferretdb" "$program"
else
    skip ferretdb "its build failed: $(tail -n 1 "$work/log")"
fi
