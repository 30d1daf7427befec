# Sourced by scripts with `set -u`: installs packages of Debian and Ubuntu.

# Installs packages, or prints why they cannot be installed and returns 1.
apt_install() {
    command -v apt-get >/dev/null || { echo "there is no apt-get to install it"; return 1; }
    local sudo=()
    if [ "$(id -u)" -ne 0 ]; then
        # Without a terminal nobody can type a password.
        [ -t 0 ] && sudo=(sudo) || sudo=(sudo -n)
        command -v sudo >/dev/null && "${sudo[@]}" true 2>/dev/null ||
            { echo "installing it needs root: apt-get install $*"; return 1; }
    fi
    echo "installing $*" >&2
    local recent
    recent=$(find /var/lib/apt/lists -maxdepth 1 -name '*Packages*' -mmin -60 2>/dev/null | head -1)
    [ -n "$recent" ] || "${sudo[@]}" apt-get update -qq >&2 || { echo "apt-get update failed"; return 1; }
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "$@" >/dev/null || { echo "apt-get install failed"; return 1; }
}
