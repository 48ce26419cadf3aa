# SPDX-License-Identifier: MIT
# Sourced by the scripts beside it: finds the checkout, installs packages.

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

step() { printf '\n== %s\n' "$*"; }

# What is needed to build and to run.
build_packages=(gcc libc6-dev meson ninja-build pkg-config python3 libevent-dev libinih-dev
    libjansson-dev libmd-dev libmicrohttpd-dev libminizip-dev libpython3-dev libseccomp-dev libsystemd-dev zlib1g-dev)
# What is needed beside that to test.
test_packages=(bash-completion clang clang-format clang-tidy g++ groff-base iproute2 libclang-rt-14-dev
    libcmocka-dev libnats-dev lld man-db mandoc mypy nats-server openssl python3-jsonschema python3-numpy python3-pip
    procps python3-prometheus-client python3-pytest python3-pytest-xdist python3-setuptools python3-venv
    python3-wheel python3-yaml systemd zsh)
# What is needed beside that to make packages.
package_packages=(debhelper dh-apparmor dh-python dpkg-dev fakeroot git libcmocka-dev libnats-dev lintian
    pybuild-plugin-pyproject python3-all python3-setuptools)

# Installs those of the packages that are not there; asks nothing of the network if all are.
install_packages() {
    local missing=() package
    for package in "$@"; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
            missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    step "Installing ${missing[*]}"
    local as_root=()
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || {
            echo "Run this as root, or install sudo: it has to install ${missing[*]}." >&2
            exit 1
        }
        as_root=(sudo)
    fi
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq -o DPkg::Lock::Timeout=300 --no-install-recommends "${missing[@]}" >/dev/null
}

# build DIRECTORY [MESON OPTION...]: configures where needed, and builds.
build() {
    local directory=$1
    shift
    if [ -e "$directory/build.ninja" ]; then
        meson configure "$directory" "$@" >/dev/null
    else
        meson setup "$directory" "$root" "$@" >/dev/null ||
            { cat "$directory/meson-logs/meson-log.txt" >&2; return 1; }
    fi
    ninja -C "$directory" --quiet
}

# The version, which meson.build alone decides.
version_of_project() {
    sed -n "/^project(/,/)/s/^ *version: '\([^']*\)',\$/\1/p" "$root/meson.build"
}
