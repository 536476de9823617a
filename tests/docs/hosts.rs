//! The table of `docs/hosts.md`, made from the headers of `examples/hosts/`.
//!
//! The first lines of an example are comments of the form `KEY: VALUE`; `note` may appear several times. `examples/hosts/run`
//! runs the examples. A host with a plugin has no `load`. `LTR_BLESS=1 cargo test --test docs reference_pages` rewrites the table.

use std::path::Path;

use super::page::{pages, root};

const ENDINGS: &[&str] = &["go", "mjs", "py", "rb", "rs", "sh", "sql"];

/// A file of `examples/hosts/`.
struct Example {
    file: String,
    /// Keys and values of the header.
    header: Vec<(String, String)>,
    /// The text after the header.
    body: String,
}

impl Example {
    fn read(path: &Path) -> Self {
        let file = path.file_name().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path).expect("a readable example").replace("\r\n", "\n");
        let (header, body) = text.split_once("\n\n").unwrap_or_else(|| panic!("{file}: no header"));
        let entry = |line: &str| {
            let comment = line.trim_start_matches(['#', '-', '/', '!']).trim();
            let (key, value) = comment.split_once(": ").unwrap_or_else(|| panic!("{file}: {line}"));
            (key.to_owned(), value.to_owned())
        };
        let header = header.lines().map(entry).collect();
        Self { file, header, body: body.to_owned() }
    }

    /// All values of a key.
    fn values(&self, key: &str) -> Vec<&str> {
        self.header.iter().filter(|(name, _)| name == key).map(|(_, value)| value.as_str()).collect()
    }

    /// The value of a key that appears once.
    fn value(&self, key: &str) -> &str {
        let values = self.values(key);
        assert_eq!(values.len(), 1, "{}: '{key}' appears {} times", self.file, values.len());
        values[0]
    }

    /// The line that loads the library; `None` for a host whose plugin loads it.
    fn load(&self) -> Option<&str> {
        (!self.values("load").is_empty()).then(|| self.value("load"))
    }

    fn row(&self) -> String {
        let link = format!("[{}](../examples/hosts/{})", self.value("host"), self.file);
        let (tried, install) = (self.value("tried"), self.value("install"));
        let load = self.load().map_or("none: the plugin does it".to_owned(), |line| format!("`{line}`"));
        let notes = self.values("note").join(" ");
        format!("| {link} | {tried} | {install} | {load} | {notes} |").replace("|  |", "| |")
    }
}

/// The examples, by name of the host.
fn examples() -> Vec<Example> {
    let entries = std::fs::read_dir(root().join("examples/hosts")).expect("the folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let chosen =
        paths.filter(|path| path.extension().is_some_and(|end| ENDINGS.iter().any(|known| end == *known)));
    let mut examples: Vec<Example> = chosen.map(|path| Example::read(&path)).collect();
    examples.sort_by_key(|example| example.value("host").to_lowercase());
    examples
}

/// The lines of the table.
pub fn table() -> Vec<String> {
    let head = ["| host | tried with | install | line that loads | notes |", "|---|---|---|---|---|"];
    let rows = examples().iter().map(Example::row).collect::<Vec<_>>();
    head.map(str::to_owned).into_iter().chain(rows).collect()
}

#[test]
fn the_page_of_hosts_has_the_headers_of_the_examples() {
    let page = pages().into_iter().find(|page| page.path == "docs/hosts.md").expect("the page");
    let table = table().join("\n");
    // Another test writes the page then.
    let bless = std::env::var_os("LTR_BLESS").is_some();
    assert!(bless || page.text.contains(&table), "LTR_BLESS=1 writes this table\n{table}");
    assert!(examples().len() >= 11);
}

#[test]
fn the_line_that_loads_is_in_the_example() {
    for example in examples() {
        let Some(load) = example.load() else { continue };
        assert!(example.body.contains(load), "{}: no line {load}", example.file);
    }
}
