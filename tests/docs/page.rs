//! The Markdown pages of the repository and their parts.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

/// A Markdown page.
pub struct Page {
    /// Path relative to the root of the repository, with `/` between folders.
    pub path: String,
    /// The whole text.
    pub text: String,
}

/// A fenced block.
pub struct Block<'a> {
    /// The word behind the opening fence.
    pub language: &'a str,
    /// The lines between the fences.
    pub lines: Vec<&'a str>,
    /// Whether only one blank line separates this block from the previous one.
    pub is_adjacent: bool,
}

impl Page {
    /// The fenced blocks in their order.
    pub fn blocks(&self) -> Vec<Block<'_>> {
        let mut blocks: Vec<Block<'_>> = Vec::new();
        let mut open = false;
        let mut lines_since_block = usize::MAX;
        for line in self.text.lines() {
            match (line.strip_prefix("```"), open) {
                (Some(language), false) => {
                    let is_adjacent = lines_since_block == 1;
                    blocks.push(Block { language, lines: Vec::new(), is_adjacent });
                    open = true;
                }
                (Some(_), true) => {
                    open = false;
                    lines_since_block = 0;
                }
                (None, true) => blocks.last_mut().expect("an open block").lines.push(line),
                (None, false) => lines_since_block = lines_since_block.saturating_add(1),
            }
        }
        assert!(!open, "{}: a fence is not closed", self.path);
        blocks
    }

    /// The text outside fenced blocks.
    pub fn prose(&self) -> String {
        let parts: Vec<&str> = self.text.split("\n```").step_by(2).collect();
        parts.join("\n")
    }
}

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The pages at the root and under `docs/`.
pub fn pages() -> Vec<Page> {
    let mut paths = markdown_in(root(), false);
    paths.extend(markdown_in(&root().join("docs"), true));
    paths.sort();
    let page = |path: PathBuf| Page {
        path: path.strip_prefix(root()).expect("a path below the root").to_string_lossy().replace('\\', "/"),
        text: std::fs::read_to_string(&path).expect("a readable page").replace("\r\n", "\n"),
    };
    paths.into_iter().map(page).collect()
}

fn markdown_in(folder: &Path, recursive: bool) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a readable folder");
    let paths = entries.map(|entry| entry.expect("a readable entry").path());
    paths
        .flat_map(|path| match path.is_dir() {
            true if recursive => markdown_in(&path, true),
            true => Vec::new(),
            false => Vec::from_iter(path.extension().is_some_and(|end| end == "md").then_some(path)),
        })
        .collect()
}

/// A database in memory with the functions of the library.
pub fn connect() -> Connection {
    let connection = Connection::open_in_memory().expect("an in-memory database");
    sqlite_ltr::register(&connection).expect("registration");
    connection
}

/// The texts in the first column of a query.
pub fn texts(connection: &Connection, sql: &str) -> BTreeSet<String> {
    let mut statement = connection.prepare(sql).expect("a statement");
    let rows = statement.query_map([], |row| row.get(0)).expect("rows");
    rows.collect::<Result<_, _>>().expect("texts")
}
