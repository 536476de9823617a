# shellcheck shell=bash
# Installs the hosts of Node.js: better-sqlite3 (built from source if its prebuilt program cannot be had) and, if this
# Node.js has no node:sqlite, Node.js 24. For bash: `source npm/test/hosts.sh` in the root of the project.
# Sets LTR_NPM_HOSTS, a folder with node_modules/, and LTR_NODE_SQLITE, a Node.js with node:sqlite.

source npm/node.sh
need_node

# A built better-sqlite3 works with one ABI of Node.js.
LTR_NPM_HOSTS="$PWD/target/packages/node-hosts-$(node -p process.versions.modules)"
export LTR_NPM_HOSTS LTR_NODE_SQLITE

# The headers of Node.js: beside its program, or else node-gyp downloads them.
headers=$(node -p 'require("node:path").resolve(process.execPath, "../..")')
[ ! -e "$headers/include/node/node.h" ] || export npm_config_nodedir=$headers

# TypeScript is for the test of the types. Everything stays for the next run.
mkdir -p "$LTR_NPM_HOSTS"
[ -e "$LTR_NPM_HOSTS/package.json" ] || echo '{ "private": true }' > "$LTR_NPM_HOSTS/package.json"
npm install --prefix "$LTR_NPM_HOSTS" --no-audit --no-fund --loglevel error \
    better-sqlite3@12.11.1 typescript@5.9.3 @types/better-sqlite3@7.6.13 @types/node@24.19.2

LTR_NODE_SQLITE=$(command -v node)
if ! node --no-warnings -e 'require("node:sqlite")' 2> /dev/null; then
    install_node24
    LTR_NODE_SQLITE="$node24/bin/node"
fi
echo "better-sqlite3 in Node.js $(node --version), node:sqlite in Node.js $("$LTR_NODE_SQLITE" --version)"
