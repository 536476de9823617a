//! Files of one module use each other in one direction.
//!
//! An import through a re-export is an import of the file that has the item.

use std::collections::{HashMap, HashSet};

use super::architecture::{Source, sources};

/// The path of a module or of an item, segment by segment.
type Segments = Vec<String>;

/// The path of the module of a file.
fn module_of(path: &str) -> Segments {
    let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
    path.split('/').map(str::to_owned).collect()
}

/// The code before the first module of tests.
fn without_tests(code: &str) -> &str {
    let starts = code.match_indices("#[cfg(test)]\n").map(|(at, _)| at);
    let holds_tests = |at: &usize| {
        let lines = code[*at..].lines().skip(1).skip_while(|line| line.starts_with("#["));
        lines.take(1).any(|line| line.starts_with("mod ") && line.ends_with('{'))
    };
    let end = starts.into_iter().find(holds_tests);
    &code[..end.unwrap_or(code.len())]
}

/// The parts of a list, divided by commas that are in no further braces.
fn items(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut items) = (0, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    items.push(&list[start..]);
    items
}

/// The paths in the text of an import: `a::{b, c::d as e}` has `a::b` and `a::c::d`.
fn expand(prefix: &[String], import: &str, paths: &mut Vec<Segments>) {
    for item in items(import) {
        let (head, list) = item.split_once('{').map_or((item, None), |(head, list)| (head, Some(list)));
        let head = head.split(" as ").next().unwrap_or_default();
        let names = head.split("::").map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
        let path: Segments = prefix.iter().cloned().chain(names).collect();
        match list {
            Some(list) => expand(&path, list.rsplit_once('}').map_or(list, |(list, _)| list), paths),
            None => paths.push(path),
        }
    }
}

/// All paths in the code of a file that begin with `crate`, `self` or `super`.
fn used(code: &str) -> Vec<Segments> {
    let mut paths = Vec::new();
    let is_inside = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    for first in ["crate::", "self::", "super::"] {
        for (at, _) in code.match_indices(first).filter(|(at, _)| !code[..*at].ends_with(is_inside)) {
            let text = &code[at..];
            let end = text.find(|c| !is_inside(c)).unwrap_or(text.len());
            let end = if text[end..].starts_with('{') { text.find(';').unwrap_or(end) } else { end };
            expand(&[], &text[..end], &mut paths);
        }
    }
    paths
}

/// What the public imports of a file make available, by name.
fn reexports(code: &str) -> HashMap<String, Segments> {
    let mut paths = Vec::new();
    for statement in code.split(';') {
        let Some((before, import)) = statement.split_once("use ") else { continue };
        let visibility = before.rsplit('\n').next().unwrap_or_default().trim();
        if visibility.starts_with("pub") {
            expand(&[], import, &mut paths);
        }
    }
    paths.into_iter().filter_map(|path| Some((path.last()?.clone(), path))).collect()
}

/// The files of `src` by their modules.
struct Tree {
    files: HashMap<Segments, Source>,
    reexports: HashMap<Segments, HashMap<String, Segments>>,
}

impl Tree {
    fn new() -> Self {
        let is_test = |path: &str| path.ends_with("tests.rs") || path.contains("/tests/");
        let sources =
            sources().into_iter().filter(|source| source.path != "lib.rs" && !is_test(&source.path));
        let files: HashMap<_, _> = sources.map(|source| (module_of(&source.path), source)).collect();
        let reexports =
            files.iter().map(|(module, source)| (module.clone(), reexports(&source.code))).collect();
        Self { files, reexports }
    }

    /// The module that has the item of a path in a file of the module `from`.
    fn resolve(&self, from: &[String], path: &[String]) -> Option<Segments> {
        let supers = path.iter().take_while(|name| *name == "super").count();
        let (mut module, mut rest) = match path.first()?.as_str() {
            "crate" => (Vec::new(), &path[1..]),
            "self" => (from.to_vec(), &path[1..]),
            // Without `super` it is a file inside, in a re-export.
            _ => (from[..from.len().checked_sub(supers)?].to_vec(), &path[supers..]),
        };
        while let Some((name, others)) = rest.split_first() {
            module.push(name.clone());
            if !self.files.contains_key(&module) {
                module.pop();
                break;
            }
            rest = others;
        }
        let further = self.reexports.get(&module)?.get(rest.first().map_or("", |name| name));
        match further {
            Some(further) if *further != *path => self.resolve(&module, further).or(Some(module)),
            _ => Some(module),
        }
    }

    /// The files of the same top-level module that a file uses.
    fn uses(&self, module: &[String]) -> HashSet<Segments> {
        let paths = used(without_tests(&self.files[module].code));
        let found = paths.iter().filter_map(|path| self.resolve(module, path));
        found.filter(|other| other[..] != *module && other[..1] == module[..1]).collect()
    }
}

#[test]
fn files_of_a_module_form_no_circle() {
    let tree = Tree::new();
    let mut uses: HashMap<&Segments, HashSet<Segments>> =
        tree.files.keys().map(|module| (module, tree.uses(module))).collect();
    // Files that use no other file that is left, or that none of these uses, are in no circle.
    loop {
        let used: HashSet<Segments> = uses.values().flatten().cloned().collect();
        let before = uses.len();
        uses.retain(|module, others| !others.is_empty() && used.contains(*module));
        let left: HashSet<Segments> = uses.keys().map(|module| (*module).clone()).collect();
        uses.values_mut().for_each(|others| others.retain(|other| left.contains(other)));
        if uses.len() == before {
            break;
        }
    }
    let mut circles: Vec<String> = uses
        .iter()
        .flat_map(|(module, others)| {
            others.iter().map(|other| format!("{} uses {}", module.join("/"), other.join("/")))
        })
        .collect();
    circles.sort();
    assert!(circles.is_empty(), "circles of files:\n{}", circles.join("\n"));
}

#[test]
fn imports_are_read() {
    let text = |paths: Vec<Segments>| paths.iter().map(|path| path.join("::")).collect::<Vec<_>>();
    assert_eq!(
        text(used("use super::a::{B, c::{self, D as E}};\nlet x = crate::f::g(1); super::super::h()")),
        ["crate::f::g", "super::a::B", "super::a::c::self", "super::a::c::D", "super::super::h"]
    );
    let found = reexports("mod a;\nuse b::C;\npub use a::{D, E as F};\npub(super) use a::g");
    assert_eq!(found.len(), 3);
    assert_eq!(found["D"], ["a", "D"]);
}
