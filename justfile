# Commands for daily work. `.ci/run` is what CI runs; its steps can be run one by one.

# Lists the commands.
default:
    @just --list

# Format, lints, unit tests, golden SQL, and each pair of options (under a minute when built).
quick:
    .ci/run format
    cargo test --locked --lib
    cargo test --locked --test sql -- slt combinations

# All tests, as the README has it.
test:
    cargo test --locked

# Everything that CI runs.
ci:
    .ci/run

# Many processes rank, train, delete and are killed on two databases; nothing may be lost, torn or leaked (needs `cargo ext`).
soak minutes="60":
    /usr/bin/python3 tests/soak.py {{ minutes }}

# Benchmarks of one file of benches/, or of all of them.
bench name="*":
    cargo bench --locked --bench '{{ name }}'

# The loadable extension: target/loadable/libsqlite_ltr.so (.dylib, .dll).
ext:
    cargo ext

# All packages in target/packages/, each installed in a fresh place and tried; or the steps named (packaging/run).
packages *steps:
    packaging/run {{ steps }}

# What the release workflow does, in a fresh clone, as far as this machine can: packaging/rehearse.
release-rehearsal version *platforms:
    packaging/rehearse {{ version }} {{ platforms }}

# API documentation without warnings, and its examples.
docs:
    .ci/run docs
    cargo test --locked --doc

# The documentation site in target/site/, with its checks: links, search, pages in a browser (within a minute).
site:
    docs/site/build

# Licenses, sources and bans of dependencies.
deny:
    .ci/run deny

# Fuzzing: a target of fuzz/targets/ for some seconds, or until it finds something.
fuzz name seconds="" *arguments="":
    fuzz/run {{ name }} "{{ seconds }}" {{ arguments }}

# Lines that inputs of fuzzing reach, by file; with files, the count of each line (needs tools of LLVM 19 or newer).
fuzz-coverage *files:
    fuzz/coverage {{ files }}

# Tests under AddressSanitizer: `storing` and `hostile` in short form, `all`, or arguments of `cargo test`.
asan *tests:
    .ci/asan {{ tests }}
