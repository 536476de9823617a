//! The modules of `src`. A module uses only the modules above it in [`MODULES`], the order of the table in ARCHITECTURE.md.
//! One place states the version.

use std::path::{Path, PathBuf};

/// The modules. Each may use those above it.
const MODULES: &[&str] = &[
    "base", "math", "data", "cost", "trees", "learn", "model", "apply", "exchange", "search", "train",
    "buckets", "plot", "api", "sqlite",
];

/// No file is longer than this (lines).
const LONGEST_FILE: usize = 600;

/// The code of `src` without tests, blank lines and comments is at most so long (lines). Who adds a feature removes what it
/// replaces.
const MOST_LINES: usize = 69_950;

/// A parent has no more lines besides declarations of modules and imports: tables and short functions that read them.
const MOST_LINES_OF_PARENT: usize = 60;

pub struct Source {
    pub path: String,
    pub module: String,
    /// Without comments.
    pub code: String,
}

fn files_under(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("a readable folder");
    let paths = entries.map(|entry| entry.expect("a readable entry").path());
    let mut files: Vec<PathBuf> =
        paths.flat_map(|path| if path.is_dir() { files_under(&path) } else { vec![path] }).collect();
    files.sort();
    files
}

/// Every source file without its comments.
pub fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = files_under(&root).into_iter().filter(|file| file.extension().is_some_and(|e| e == "rs"));
    files
        .map(|file| {
            let path = file.strip_prefix(&root).expect("a file of src").to_string_lossy().replace('\\', "/");
            let first = path.split('/').next().unwrap_or_default();
            let text = std::fs::read_to_string(&file).expect("a readable file");
            let code: Vec<&str> =
                text.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code)).collect();
            Source { module: first.trim_end_matches(".rs").to_owned(), code: code.join("\n"), path }
        })
        .collect()
}

fn position(module: &str) -> Option<usize> {
    MODULES.iter().position(|known| *known == module)
}

/// Names after `crate::` in the code, including lists such as `crate::{a, b::c}`.
fn used(code: &str) -> Vec<String> {
    let name = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let mut names = Vec::new();
    for part in code.split("crate::").skip(1) {
        match part.strip_prefix('{') {
            None => names.push(name(part)),
            Some(list) => {
                let mut depth = 0;
                let mut item = String::new();
                for c in list.chars() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => names.push(name(&std::mem::take(&mut item))),
                        _ => item.push(c),
                    }
                }
                names.push(name(&item));
            }
        }
    }
    names
}

/// Names reached through as many `super::` as lead from the file to the crate's root.
fn above(source: &Source) -> Vec<String> {
    let depth = source.path.split('/').filter(|part| *part != "mod.rs").count();
    let climb = "super::".repeat(depth);
    used(&source.code.replace(&climb, "crate::"))
}

#[test]
fn a_module_uses_only_modules_above_it() {
    let mut violations = Vec::new();
    for source in sources().iter().filter(|source| source.path != "lib.rs") {
        let Some(own) = position(&source.module) else {
            violations.push(format!("{}: the module `{}` is not in MODULES", source.path, source.module));
            continue;
        };
        for name in used(&source.code).into_iter().chain(above(source)) {
            if position(&name).is_some_and(|other| other > own) {
                violations.push(format!(
                    "{}: uses `{name}`, which is below `{}` in the table of ARCHITECTURE.md",
                    source.path, source.module
                ));
            }
        }
    }
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

#[test]
fn every_module_exists() {
    let sources = sources();
    for module in MODULES {
        assert!(sources.iter().any(|source| source.module == *module), "{module}");
    }
    assert_eq!(
        used("use crate::{math::dense, data::{Id, Matrix}, cost};\ncrate::learn::x()"),
        ["math", "data", "cost", "learn"]
    );
}

#[test]
fn the_table_of_modules_has_the_order_of_the_check() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("ARCHITECTURE.md");
    let page = std::fs::read_to_string(page).expect("a readable page");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `src/"));
    let first = |row: &str| row.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    assert_eq!(rows.map(first).collect::<Vec<_>>(), MODULES);
}

#[test]
fn only_src_sqlite_names_the_database() {
    for source in sources() {
        let names_it = source.code.contains("rusqlite") || source.code.contains("libsqlite3");
        let may = source.module == "sqlite" || source.path == "lib.rs";
        assert!(may || !names_it, "{}", source.path);
    }
}

/// The tests walk all statements under authorizers of hosts. So statements are prepared in one place.
#[test]
fn one_file_prepares_statements() {
    // Names of values with methods of these names that prepare nothing.
    let others = ["statement", "store", "self", "probe", "begin", "undo", "commit", "rollback", "request"];
    for source in sources().iter().filter(|source| source.module == "sqlite") {
        if source.path == "sqlite/glue/sql.rs" || source.path.ends_with("_tests.rs") {
            continue;
        }
        let code = source.code.split("#[cfg(test)]\n#[allow(clippy::unwrap_used").next().unwrap_or_default();
        let code = code.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        for name in ["sqlite3_prepare", "sqlite3_exec", "Batch::new"] {
            assert!(!code.contains(name), "{}: {name}; use glue::sql", source.path);
        }
        for method in [
            "prepare",
            "query_row",
            "query_one",
            "execute",
            "execute_batch",
            "prepare_cached",
            "prepare_with_flags",
        ] {
            for (at, _) in code.match_indices(&format!(".{method}(")) {
                let receiver = code[..at].trim_end();
                let receiver =
                    receiver.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
                assert!(others.contains(&receiver), "{}: {receiver}.{method}(); use glue::sql", source.path);
            }
        }
    }
}

#[test]
fn one_file_names_the_codec() {
    let naming: Vec<String> = sources()
        .into_iter()
        .filter(|source| source.code.contains("bincode"))
        .map(|source| source.path)
        .collect();
    assert_eq!(naming, ["model/codec.rs"]);
}

#[test]
fn no_file_is_too_long() {
    for directory in ["src", "tests"] {
        for file in files_under(&Path::new(env!("CARGO_MANIFEST_DIR")).join(directory)) {
            if file.extension().is_some_and(|extension| extension == "rs") {
                let lines = std::fs::read_to_string(&file).expect("a readable file").lines().count();
                assert!(lines <= LONGEST_FILE, "{}: {lines} lines", file.display());
            }
        }
    }
}

/// Lines of code. Items under `#[cfg(test)]` do not count: they end at the next line of the same indentation that ends them.
fn lines_of_code(text: &str) -> usize {
    let (mut count, mut test) = (0, None);
    for line in text.lines() {
        let (code, indentation) = (line.trim(), line.len() - line.trim_start().len());
        match test {
            _ if code.starts_with("#[cfg(test)]") => test = Some(indentation),
            None => count += usize::from(!code.is_empty() && !code.starts_with("//")),
            Some(start) if start == indentation && code.ends_with([';', '}', ',']) => test = None,
            Some(_) => {}
        }
    }
    count
}

#[test]
fn the_code_does_not_grow_without_a_decision() {
    assert_eq!(lines_of_code("use a;\n\n// why\n#[cfg(test)]\nmod tests {\n    use b;\n}\nfn c() {}\n"), 2);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let is_code = |file: &PathBuf| {
        let path = file.to_string_lossy().replace('\\', "/");
        let is_rust = file.extension().is_some_and(|extension| extension == "rs");
        is_rust && !path.ends_with("tests.rs") && !path.contains("/tests/")
    };
    let texts = files_under(&root).into_iter().filter(is_code);
    let lines: usize = texts.map(|file| lines_of_code(&std::fs::read_to_string(file).expect("a file"))).sum();
    assert!(lines <= MOST_LINES, "{lines} lines of code; {MOST_LINES} are allowed");
}

/// Lines of a parent that are neither declarations of modules nor imports.
fn content_of_parent(text: &str) -> usize {
    let mut count = 0;
    let mut import = false;
    for line in text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().lines().map(str::trim) {
        let declares = |word: &str| {
            line.starts_with(word) || line.starts_with("pub") && line.contains(&format!(" {word}"))
        };
        let attribute = line.starts_with("#[") || line.starts_with("#![");
        import |= declares("use ");
        let module = declares("mod ") && line.ends_with(';');
        count += usize::from(!import && !module && !attribute && !line.is_empty() && !line.starts_with("//"));
        import &= !line.ends_with(';');
    }
    count
}

/// The content of a module that has further files lies in files with names.
#[test]
fn parents_only_declare() {
    assert_eq!(
        content_of_parent("//! a\n\npub mod b;\npub(super) use b::{\n    C,\n};\n\nconst D: u8 = 1;\n"),
        1
    );
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let is_test =
        |path: &Path| path.iter().any(|part| part == "tests") || path.to_string_lossy().ends_with("tests.rs");
    for file in files_under(&root).into_iter().filter(|file| !is_test(file)) {
        let folder = if file.ends_with("mod.rs") { file.with_file_name("") } else { file.with_extension("") };
        let children =
            std::fs::read_dir(&folder).into_iter().flatten().map(|entry| entry.expect("an entry").path());
        if children.into_iter().any(|child| child != file && !is_test(&child)) {
            let lines = content_of_parent(&std::fs::read_to_string(&file).expect("a readable file"));
            assert!(lines <= MOST_LINES_OF_PARENT, "{}: {lines} lines besides declarations", file.display());
        }
    }
}

/// proptest reads old counterexamples from `proptest-regressions/`, at the path of the source file.
#[test]
fn counterexamples_are_replayed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("proptest-regressions");
    for file in files_under(&folder) {
        let path = file.strip_prefix(&folder).expect("a file of the folder").with_extension("rs");
        let source = std::fs::read_to_string(root.join("src").join(&path)).unwrap_or_default();
        assert!(
            source.contains("proptest!"),
            "{}: no random tests in src/{}",
            file.display(),
            path.display()
        );
    }
}

#[test]
fn long_computations_use_no_global_threads() {
    // A global pool hangs forked children; the pool belongs to the call.
    for source in sources() {
        assert!(!source.code.contains("build_global"), "{}", source.path);
        let may = source.path == "base/run.rs"
            || source.path.ends_with("tests.rs")
            || source.path.contains("/tests/");
        assert!(may || !source.code.contains("ThreadPoolBuilder"), "{}", source.path);
    }
}

/// Text files of the project that are read by people or machines, except build output.
fn project_files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("a readable folder");
    let paths = entries.map(|entry| entry.expect("a readable entry").path());
    let is_ours = |path: &PathBuf| {
        !["target", ".git", "node_modules"].iter().any(|name| path.file_name() == Some(name.as_ref()))
    };
    paths
        .filter(is_ours)
        .flat_map(|path| if path.is_dir() { project_files(&path) } else { vec![path] })
        .collect()
}

/// Whether the text has this version, and not as a part of a longer number.
fn states(text: &str, version: &str) -> bool {
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    text.match_indices(version).any(|(at, _)| {
        let rest = text[at + version.len()..].trim_start_matches('.');
        !text[..at].ends_with(is_number) && !rest.starts_with(|c: char| c.is_ascii_digit())
    })
}

#[test]
fn only_cargo_toml_states_the_version() {
    // Cargo writes the lock files, and the changelog has all versions.
    let allowed = ["Cargo.toml", "Cargo.lock", "fuzz/Cargo.lock", "CHANGELOG.md"];
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let version = env!("CARGO_PKG_VERSION");
    assert!(states(&format!("version = \"{version}\""), version) && !states("10.20.300", "0.20.30"));
    for path in project_files(root) {
        let name = path.strip_prefix(root).expect("a file of the project").to_string_lossy().into_owned();
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        assert!(
            allowed.contains(&name.as_str()) || !states(&text, version),
            "{name} states the version {version}; packages read it from Cargo.toml"
        );
    }
}
