# Platforms of releases, by their names in npm/platforms.json. Sets for one of them:
#   target     the target of rustc
#   glibc      the oldest glibc that the library needs, else empty
#   wheel      the platform tag of the wheel
#   library    the name of the library's file
platform() {
    local glibc_version=2.28
    glibc='' library=libsqlite_ltr.so
    case "$1" in
        linux-x64) target=x86_64-unknown-linux-gnu glibc=$glibc_version wheel=manylinux_${glibc_version/./_}_x86_64 ;;
        linux-arm64) target=aarch64-unknown-linux-gnu glibc=$glibc_version wheel=manylinux_${glibc_version/./_}_aarch64 ;;
        linux-x64-musl) target=x86_64-unknown-linux-musl wheel=musllinux_1_2_x86_64 ;;
        linux-arm64-musl) target=aarch64-unknown-linux-musl wheel=musllinux_1_2_aarch64 ;;
        darwin-x64) target=x86_64-apple-darwin wheel=macosx_10_12_x86_64 library=libsqlite_ltr.dylib ;;
        darwin-arm64) target=aarch64-apple-darwin wheel=macosx_11_0_arm64 library=libsqlite_ltr.dylib ;;
        win32-x64) target=x86_64-pc-windows-msvc wheel=win_amd64 library=sqlite_ltr.dll ;;
        *) echo "unknown platform '$1'; npm/platforms.json lists them" >&2 && return 2 ;;
    esac
}

# Prints the name of this machine.
this_platform() {
    local libc=''
    ! ldd --version 2>&1 | grep -q musl || libc=-musl
    case "$(uname -s)-$(uname -m)" in
        Linux-x86_64) echo "linux-x64$libc" ;;
        Linux-aarch64) echo "linux-arm64$libc" ;;
        Darwin-x86_64) echo darwin-x64 ;;
        Darwin-arm64) echo darwin-arm64 ;;
        MINGW*-x86_64 | MSYS*-x86_64) echo win32-x64 ;;
        *) uname -sm ;;
    esac
}
