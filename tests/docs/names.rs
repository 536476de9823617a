//! Paths, functions and options that a page names exist.

use std::collections::BTreeSet;
use std::path::Path;

use super::page::{Page, connect, pages, root, texts};

/// The parts of a text that `start` and `end` enclose, within one line.
fn enclosed<'a>(text: &'a str, start: &str, end: &str) -> Vec<&'a str> {
    let pieces = text.lines().flat_map(|line| line.split(start).skip(1));
    pieces.filter_map(|piece| piece.split_once(end)).map(|(inside, _)| inside).collect()
}

/// Inline code of a page.
fn inline_code(page: &Page) -> Vec<String> {
    let prose = page.prose();
    let spans = prose.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    spans.map(str::to_owned).collect()
}

/// The anchor of a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn has_anchor(text: &str, wanted: &str) -> bool {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#'))).any(|found| found == wanted)
}

/// The section of an anchor, up to the next heading of its level or above. Lines of fenced blocks are not headings.
pub fn section<'a>(text: &'a str, wanted: &str) -> Option<&'a str> {
    let (mut at, mut is_fenced, mut open) = (0, false, None);
    for line in text.split_inclusive('\n') {
        is_fenced ^= line.starts_with("```");
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        if level > 0 && !is_fenced {
            match open {
                Some((start, above)) if level <= above => return Some(&text[start..at]),
                None if anchor(&line[level..]) == wanted => open = Some((at, level)),
                _ => {}
            }
        }
        at += line.len();
    }
    open.map(|(start, _)| &text[start..])
}

/// What is wrong with a link of a page; `None` for a good link or one to another site.
fn broken_link(page: &Page, link: &str) -> Option<String> {
    if link.contains("://") {
        return None;
    }
    let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
    let folder = root().join(&page.path).parent().expect("a folder").to_owned();
    let target = if path.is_empty() { root().join(&page.path) } else { folder.join(path) };
    if !exists_in_git(&target) {
        return Some(format!("{}: link to {link}, which does not exist", page.path));
    }
    if fragment.is_empty() {
        return None;
    }
    let text = std::fs::read_to_string(&target).unwrap_or_default();
    (!has_anchor(&text, fragment)).then(|| format!("{}: link to {link}, which is not a heading", page.path))
}

/// Whether inline code is a path of this repository: it begins with one of its folders, or ends like a file.
fn is_path(code: &str) -> bool {
    const FOLDERS: &[&str] =
        &["src/", "docs/", "tests/", "sql/", "examples/", "benches/", "fuzz/", ".ci/", ".cargo/", ".github/"];
    const ENDINGS: &[&str] = &[".rs", ".sql", ".md", ".toml", ".slt"];
    let plain = code.chars().all(|c| c.is_alphanumeric() || "/._-".contains(c));
    plain
        && (FOLDERS.iter().any(|folder| code.starts_with(folder))
            || ENDINGS.iter().any(|ending| code.ends_with(ending) && code != *ending))
}

/// Whether git has a path: it keeps no empty folders.
fn exists_in_git(path: &Path) -> bool {
    path.is_file() || path.read_dir().is_ok_and(|mut entries| entries.next().is_some())
}

#[test]
fn every_path_on_a_page_exists() {
    let mut wrong = Vec::new();
    for page in pages() {
        let prose = page.prose();
        wrong.extend(enclosed(&prose, "](", ")").into_iter().filter_map(|link| broken_link(&page, link)));
        let paths = inline_code(&page).into_iter().filter(|code| is_path(code));
        let missing = paths.filter(|path| !exists_in_git(&root().join(path)));
        wrong.extend(missing.map(|path| format!("{}: `{path}` does not exist", page.path)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every `ltr_` name of a text that is a whole word (not `sqlite_ltr`, not a pattern such as `ltr_*`).
fn library_names(text: &str) -> BTreeSet<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let words = text.split(|c: char| !is_word(c)).filter(|word| word.starts_with("ltr_"));
    words.filter(|word| !word.ends_with('_')).map(str::to_owned).collect()
}

#[test]
fn every_function_on_a_page_exists() {
    let connection = connect();
    let mut known =
        texts(&connection, "SELECT name FROM pragma_function_list UNION SELECT name FROM pragma_module_list");
    known.insert("ltr_models".to_owned());
    for page in pages() {
        for name in library_names(&page.text) {
            assert!(known.contains(&name), "{}: {name} is not a function of the library", page.path);
        }
    }
}

#[test]
fn every_option_on_a_page_exists() {
    let known = texts(&connect(), "SELECT name FROM ltr_options");
    for page in pages() {
        // Inline code such as `"prior": "global"` sets an option.
        for code in inline_code(&page) {
            let Some((name, _)) = code.strip_prefix('"').and_then(|rest| rest.split_once("\": ")) else {
                continue;
            };
            assert!(known.contains(name), "{}: `{code}` names no option", page.path);
        }
    }
}

/// A new function may be missing on the page until the next release (CONTRIBUTING.md); this test then prints its name.
#[test]
fn functions_missing_on_the_reference_page_are_listed() {
    let connection = connect();
    let registered = texts(
        &connection,
        "SELECT name FROM pragma_function_list WHERE name LIKE 'ltr!_%' ESCAPE '!'
          UNION SELECT name FROM pragma_module_list WHERE name LIKE 'ltr!_%' ESCAPE '!'",
    );
    let page = pages().into_iter().find(|page| page.path == "docs/reference/functions.md").expect("the page");
    let documented = library_names(&page.text);
    for name in registered.difference(&documented) {
        eprintln!("docs/reference/functions.md does not describe {name}");
    }
    assert!(
        documented.len() + 5 > registered.len(),
        "the page describes only {} functions",
        documented.len()
    );
}

#[test]
fn the_page_of_reports_names_every_key() {
    let connection = connect();
    let scripts = [include_str!("../../sql/hotels.sql"), include_str!("../../sql/recommend.sql")];
    for script in scripts {
        connection.execute_batch(script).expect("the example data");
    }
    let train = "SELECT ltr_train('q_svm', 'judgments', '{\"kernel\": \"gaussian\", \"prior\": \"global\", \"landmarks\": 9}');
                 SELECT ltr_train('auto', 'SELECT * FROM judgments WHERE query_id <= 50');
                 SELECT ltr_train('perceptron', 'judgments');
                 SELECT ltr_update('perceptron', 'judgments');";
    connection.execute_batch(train).expect("trainings");
    let keys = texts(
        &connection,
        "SELECT key FROM ltr_models, json_each(report)
          UNION SELECT key FROM ltr_models, json_each(ltr_info(name))
          UNION SELECT 'validation.' || key FROM ltr_models, json_each(report, '$.validation')
                 WHERE json_type(report, '$.validation') = 'object'
          UNION SELECT 'capabilities.' || key FROM json_each(ltr_info('q_svm'), '$.capabilities')",
    );
    let page = pages().into_iter().find(|page| page.path == "docs/reference/report.md").expect("the page");
    for key in keys.iter().filter(|key| *key != "capabilities") {
        assert!(page.text.contains(&format!("`{key}`")), "docs/reference/report.md does not describe {key}");
    }
    assert!(keys.len() > 40, "only {} keys", keys.len());
}

#[test]
fn the_architecture_page_names_every_module() {
    let pages = pages();
    let page = pages.iter().find(|page| page.path == "ARCHITECTURE.md").expect("the page");
    let entries = std::fs::read_dir(root().join("src")).expect("the folder src");
    for entry in entries.map(|entry| entry.expect("an entry")) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_folder = entry.path().is_dir();
        let path = if is_folder { format!("`src/{name}/`") } else { format!("`src/{name}`") };
        assert!(name == "lib.rs" || page.text.contains(&path), "ARCHITECTURE.md does not name {path}");
    }
}

#[test]
fn the_page_of_tests_names_every_file_and_folder() {
    let page = std::fs::read_to_string(root().join("tests/README.md")).expect("the page of tests");
    let entries = std::fs::read_dir(root().join("tests")).expect("the folder tests");
    for entry in entries.map(|entry| entry.expect("an entry")) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let name = if entry.path().is_dir() { format!("`{name}/`") } else { format!("`{name}`") };
        assert!(name == "`README.md`" || page.contains(&name), "tests/README.md does not name {name}");
    }
}
