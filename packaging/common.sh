# shellcheck shell=bash
# Functions of the scripts that run steps and install programs; read with `. packaging/common.sh`.

# Prints a command with the time, and runs it.
say() {
    printf '\n== %s (%d s)\n' "$*" "$SECONDS"
    "$@"
}

# Runs the functions step_NAME of the script, by name.
run_steps() {
    local step
    for step in "$@"; do
        declare -F "step_$step" > /dev/null || { printf 'unknown step: %s\n' "$step" >&2 && exit 2; }
    done
    for step in "$@"; do
        "step_$step"
    done
}

# Installs missing Debian packages, but only if LTR_REQUIRE_HOSTS=1, as in CI.
install_debian() {
    local package missing=() sudo=()
    [ "${LTR_REQUIRE_HOSTS:-0}" != 0 ] && command -v apt-get > /dev/null || return 0
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2> /dev/null | grep -q 'ok installed' || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    [ "$(id -u)" -eq 0 ] || sudo=(sudo)
    say ${sudo[@]+"${sudo[@]}"} apt-get update -qq
    say ${sudo[@]+"${sudo[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
}
