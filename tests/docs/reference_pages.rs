//! The tables of `docs/reference/` that come from `ltr_options`, `ltr_metrics` and `ltr_algorithms`, and the table of `docs/hosts.md`.
//!
//! A generated part is between `<!-- generated: KIND NAMES -->` and `<!-- end -->`. To rewrite them all:
//!
//! ```text
//! LTR_BLESS=1 cargo test --test docs reference_pages
//! ```
//!
//! Without `LTR_BLESS` a page may miss new entries, which this test then prints, but must not contradict the library.
//! So a branch that adds an option or a metric passes, and the pages are completed before a release.

use rusqlite::Connection;

use super::hosts;
use super::page::{Page, connect, pages, root};

const START: &str = "<!-- generated: ";
const END: &str = "<!-- end -->";

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The rows of a query; NULL is the empty text.
fn rows<const N: usize>(connection: &Connection, sql: &str) -> Vec<[String; N]> {
    let mut statement = connection.prepare(sql).expect("a statement");
    let mut found = statement.query([]).expect("rows");
    let mut rows = Vec::new();
    while let Some(row) = found.next().expect("a row") {
        rows.push(std::array::from_fn(|column| {
            row.get::<_, Option<String>>(column).expect("a text").unwrap_or_default()
        }));
    }
    rows
}

/// One row for each option that `chosen` accepts.
fn options(connection: &Connection, chosen: impl Fn(&str) -> bool) -> Vec<String> {
    let head = ["| option | meaning | default | allowed | accepted by |", "|---|---|---|---|---|"];
    let listed = rows(connection, "SELECT name, summary, \"default\", range, functions FROM ltr_options");
    let line = |[name, summary, default, range, functions]: &[String; 5]| {
        let default = if default.is_empty() { String::new() } else { format!("`{default}`") };
        format!("| `{name}` | {} | {default} | {} | {functions} |", cell(summary), cell(range))
    };
    let lines = listed.iter().filter(|row| chosen(&row[0])).map(line);
    head.map(str::to_owned).into_iter().chain(lines).collect()
}

/// The options that take arrays of values, in one line.
fn searchable(connection: &Connection) -> Vec<String> {
    let names: Vec<[String; 1]> = rows(connection, "SELECT name FROM ltr_options WHERE searchable");
    let quoted: Vec<String> = names.iter().map(|[name]| format!("`{name}`")).collect();
    vec![format!("{}.", quoted.join(", "))]
}

fn metrics(connection: &Connection) -> Vec<String> {
    let head = ["| metric | aggregate | meaning | formula | source |", "|---|---|---|---|---|"];
    let listed = rows(connection, "SELECT name, function, summary, formula, source FROM ltr_metrics");
    let line = |[name, function, summary, formula, source]: &[String; 5]| {
        format!("| `{name}` | `{function}` | {} | {} | {} |", cell(summary), cell(formula), cell(source))
    };
    head.map(str::to_owned).into_iter().chain(listed.iter().map(line)).collect()
}

/// The options of an algorithm with the summary, its own default and the allowed values.
fn parameters(connection: &Connection, algorithm: &str) -> Vec<[String; 4]> {
    let sql = format!(
        "SELECT o.name, o.summary || coalesce(' (with ' || (SELECT group_concat('`' || w.key || '` ' || json_quote(w.value)) \
                FROM json_each(p.value, '$.with') AS w) || ')', ''), \
                nullif(p.value -> 'default', 'null'), o.range \
           FROM ltr_algorithms AS a, json_each(a.parameters) AS p JOIN ltr_options AS o ON o.name = p.key \
          WHERE a.name = '{algorithm}'"
    );
    rows(connection, &sql)
}

/// A table of options of trainings.
fn training(options: &[[String; 4]]) -> Vec<String> {
    let head = ["| option | meaning | default | allowed |", "|---|---|---|---|"];
    let line = |[name, summary, default, range]: &[String; 4]| {
        let default = if default.is_empty() { String::new() } else { format!("`{default}`") };
        format!("| `{name}` | {} | {default} | {} |", cell(summary), cell(range))
    };
    head.map(str::to_owned).into_iter().chain(options.iter().map(line)).collect()
}

/// The algorithms with a smoothing, and their options.
fn presets(connection: &Connection) -> Vec<(String, Vec<[String; 4]>)> {
    let names: Vec<[String; 1]> =
        rows(connection, "SELECT name FROM ltr_algorithms WHERE parameters -> 'smoothing' NOTNULL");
    names.into_iter().map(|[name]| (name.clone(), parameters(connection, &name))).collect()
}

/// The options that all of them have, without defaults that differ.
fn shared(connection: &Connection) -> Vec<[String; 4]> {
    let presets = presets(connection);
    let mut shared = presets[0].1.clone();
    for (_, others) in &presets {
        shared.retain(|[name, ..]| others.iter().any(|[other, ..]| other == name));
        for [name, _, default, _] in &mut shared {
            if !others.iter().any(|[other, _, value, _]| other == name && value == default) {
                default.clear();
            }
        }
    }
    shared
}

/// For each of them its defaults, and the options that not all have.
fn differences(connection: &Connection) -> Vec<String> {
    const CHOICES: [&str; 4] = ["loss", "smoothing", "penalty", "prior"];
    let shared = shared(connection);
    let mut lines = vec![
        format!("| algorithm | `{}` | more options |", CHOICES.join("` | `")),
        "|---|---|---|---|---|---|".to_owned(),
    ];
    for (algorithm, options) in presets(connection) {
        let default = |choice: &str| {
            options
                .iter()
                .find(|[name, ..]| name == choice)
                .map_or("", |[_, _, default, _]| default)
                .replace('"', "")
        };
        let own = options.iter().filter(|[name, ..]| !shared.iter().any(|[other, ..]| other == name));
        let own: Vec<String> = own.map(|[name, ..]| format!("`{name}`")).collect();
        lines.push(format!("| `{algorithm}` | {} | {} |", CHOICES.map(default).join(" | "), own.join(", ")));
    }
    lines
}

/// One section for each algorithm.
fn algorithms(connection: &Connection) -> Vec<String> {
    let listed = rows(connection, "SELECT name, summary, objective, source FROM ltr_algorithms");
    let section = |[name, summary, objective, source]: &[String; 4]| {
        let options = parameters(connection, name);
        let options: Vec<String> = options.iter().map(|[option, ..]| format!("`{option}`")).collect();
        let options = options.join(", ");
        let lines = [
            &format!("## {name}"),
            "",
            &format!("{summary}."),
            "",
            "```text",
            objective,
            "```",
            "",
            &format!("* Source: {source}."),
            &format!("* Options: {options}."),
            "",
        ];
        lines.map(str::to_owned)
    };
    listed.iter().flat_map(section).collect()
}

/// The lines that belong into a generated part.
fn generated(connection: &Connection, page: &Page, header: &str) -> Vec<String> {
    let mut words = header.split_whitespace();
    match (words.next(), words.collect::<Vec<_>>().as_slice()) {
        (Some("metrics"), []) => metrics(connection),
        (Some("algorithms"), []) => algorithms(connection),
        (Some("hosts"), []) => hosts::table(),
        (Some("searchable"), []) => searchable(connection),
        (Some("shared"), []) => training(&shared(connection)),
        (Some("presets"), []) => differences(connection),
        (Some("algorithm"), [name]) => training(&parameters(connection, name)),
        (Some("training"), names) => {
            let listed: Vec<[String; 4]> =
                rows(connection, "SELECT name, summary, \"default\", range FROM ltr_options");
            training(
                &listed.into_iter().filter(|[name, ..]| names.contains(&name.as_str())).collect::<Vec<_>>(),
            )
        }
        (Some("family"), words) => {
            let sql = "SELECT name, family FROM ltr_options";
            let listed: Vec<[String; 2]> = rows(connection, sql);
            let family = words.join(" ");
            options(connection, |name| listed.iter().any(|[known, of]| known == name && *of == family))
        }
        (Some("options"), names) => options(connection, |name| names.contains(&name)),
        _ => panic!("{}: unknown generated part '{header}'", page.path),
    }
}

/// The generated parts of a page: header and present lines.
fn parts(page: &Page) -> Vec<(&str, Vec<&str>)> {
    let pieces = page.text.split(START).skip(1);
    pieces
        .map(|piece| {
            let (header, rest) = piece.split_once(" -->\n").expect("a closed comment");
            let (present, _) =
                rest.split_once(END).unwrap_or_else(|| panic!("{}: '{header}' has no end", page.path));
            (header, present.lines().collect())
        })
        .collect()
}

/// Whether a line of the library has all words of a line of the page, in the same order. Lists may have grown since.
fn contains_in_order(library: &str, page: &str) -> bool {
    let plain = |text: &str| text.replace([',', '.'], " ");
    let (library, page) = (plain(library), plain(page));
    let mut words = library.split_whitespace();
    page.split_whitespace().all(|wanted| words.any(|word| word == wanted))
}

/// The page with every generated part rewritten.
fn rewritten(connection: &Connection, page: &Page) -> String {
    let mut text = page.text.clone();
    for (header, present) in parts(page) {
        let old: String = present.iter().flat_map(|line| [*line, "\n"]).collect();
        let new = generated(connection, page, header).join("\n");
        let opening = format!("{START}{header} -->\n");
        text = text.replace(&format!("{opening}{old}{END}"), &format!("{opening}{new}\n{END}"));
    }
    text
}

#[test]
fn reference_pages_agree_with_the_library() {
    let connection = connect();
    let bless = std::env::var_os("LTR_BLESS").is_some();
    let mut found = 0;
    for page in pages() {
        if bless && page.text.contains(START) {
            let text = rewritten(&connection, &page);
            std::fs::write(root().join(&page.path), text).expect("a page that can be written");
            continue;
        }
        for (header, present) in parts(&page) {
            let library = generated(&connection, &page, header);
            for line in &present {
                assert!(
                    library.iter().any(|known| contains_in_order(known, line)),
                    "{}, {header}: the library has no such line; LTR_BLESS=1 rewrites the page\n{line}",
                    page.path
                );
            }
            for line in library.iter().filter(|line| !present.contains(&line.as_str())) {
                eprintln!("{}, {header}: new or longer, LTR_BLESS=1 adds it\n{line}", page.path);
            }
            found += 1;
        }
    }
    assert!(bless || found >= 3, "only {found} generated parts found");
}

#[test]
fn every_option_has_a_row() {
    let page = pages().into_iter().find(|page| page.path == "docs/reference/options.md").expect("the page");
    let names: Vec<[String; 1]> = rows(&connect(), "SELECT name FROM ltr_options");
    for [name] in names {
        assert!(page.text.contains(&format!("\n| `{name}` |")), "no row of the option '{name}'");
    }
}
