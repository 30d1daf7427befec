#!/usr/bin/env bash
# Makes a container image of the archive of `make dist`, with podman, docker or buildah: all that
# is in it, the shared libraries and certificates of this machine, and nothing else. It is built from
# scratch: nothing is fetched.
#
# usage: image.sh [ARCHIVE]
set -euo pipefail
. "$(dirname "$0")/archive.sh"
# A tool that is installed may still lack its service.
builder=
for tool in podman docker buildah; do
    if command -v "$tool" >/dev/null && "$tool" info >/dev/null 2>&1; then
        builder=$tool
        break
    fi
done
[ -n "$builder" ] || fail "neither podman nor docker nor buildah works here" "apt-get install buildah"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
root=$dir/root
mkdir -p "$root/usr/lib/kvdyno" "$root/etc/ssl/certs" "$root/tmp" "$root/work" "$root/data"
chmod 1777 "$root/tmp" "$root/work" "$root/data"
tar --extract --file "$archive" --directory "$root/usr/lib/kvdyno" --strip-components 1

# Shared libraries keep the paths at which this machine's loader finds them.
libraries=$(find "$root/usr/lib/kvdyno" -type f \( -name 'kvdyno*' -o -name '*.so' \) -exec ldd {} + || true)
! grep -q 'not found' <<<"$libraries" ||
    fail "a shared library is missing: $(grep -m1 'not found' <<<"$libraries")" "install it and repeat"
while read -r library; do
    install -D -m 755 "$library" "$root$library"
done < <(grep -o '/[^ ]*\.so[^ ]*' <<<"$libraries" | grep -v "^$root" | sort -u)
[ -e "$root/lib64/ld-linux-x86-64.so.2" ] || fail "ldd names no loader" "look at \`ldd\` of a worker in $archive"
echo 'root:x:0:0:root:/work:/' >"$root/etc/passwd"
[ ! -e /etc/ssl/certs/ca-certificates.crt ] || cp --dereference /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"

# Users other than root run the image, too, whatever the umask here is.
chmod -R u+rwX,go+rX "$root"

cat >"$dir/Containerfile" <<'IMAGE'
FROM scratch
COPY root /
ENV PATH=/usr/lib/kvdyno HOME=/work
WORKDIR /work
ENTRYPOINT ["/usr/lib/kvdyno/kvdyno"]
IMAGE
"$builder" build --tag "kvdyno:$version" --file "$dir/Containerfile" "$dir" >&2
echo "kvdyno:$version, made by $builder"
