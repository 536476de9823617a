//! Texts and BLOBs of a given size: patterns, and valid texts with one growing part.

use rusqlite::Connection;
use rusqlite::types::Value;
use serde_json::Value as Json;

use crate::calls::{Call, Kind};

/// An input for each size in bytes.
pub struct Input {
    pub name: String,
    pub make: Box<dyn Fn(usize) -> Value>,
}

/// Pieces that are repeated. `#` is the number of the repetition.
const PIECES: &[&str] = &[
    "a",
    "a#",
    "1",
    "#",
    " ",
    "\t\n",
    "\0",
    "é",
    "\u{1f600}",
    "\u{301}",
    "\"",
    "'",
    "''",
    "`",
    "\\",
    "\\\"",
    "\\u0061",
    ",",
    "a,",
    "a#,",
    "a ",
    "a# ",
    "\"a\"",
    "\"a\"a",
    "\"a#\" ",
    "'a'",
    "[",
    "[]",
    "[[",
    "{",
    "{}",
    "{},",
    "(",
    "()",
    "((",
    "{\"",
    "{\"a\":",
    "\"a#\":1,",
    "[1,",
    "1,",
    "1.5e3,",
    "-",
    "--",
    "/*",
    "--\n",
    ":",
    ";",
    "=",
    ".",
    "*",
    "^",
    "+",
    "%",
    "@",
    "@1",
    "#:",
    "<",
    "<a>",
    "<a b=\"1\" ",
    "<a ",
    " b#=\"1\"",
    "&amp;",
    "<!--",
    "<![CDATA[",
    "NEAR(",
    "NEAR(a b, 1) ",
    "a OR ",
    "a AND ",
    "NOT ",
    "a* ",
    "title:",
    "a + ",
    "-a",
    "a-",
    "a.b",
    "1 qid:1 1:1 # c\n",
    "Tree=0\n",
    "Tree=#\n",
    "split_feature=0 0\n",
    "\u{ff}\u{fe}",
    "ndcg@1,",
    "\"ndcg@#\",",
    "a AS a#, ",
    "1 AS a#, ",
    "a || ",
    "(SELECT ",
    " UNION ALL SELECT 1",
    "CASE WHEN 1 THEN ",
];

/// Starts and ends around repeated pieces, by kind of argument.
fn frames(kind: Kind) -> &'static [(&'static str, &'static [&'static str], &'static str)] {
    match kind {
        Kind::Source => &[
            (
                "SELECT 1 AS query_id, 1 AS doc_id, 1 AS relevance, 2 AS a, '",
                &["a", "é", "1", ",", "\"", "["],
                "' AS text",
            ),
            (
                "SELECT '",
                &["a", "1", " "],
                "' AS query_id, 1 AS doc_id, 1 AS relevance, 0.5 AS a, 0.5 AS b, 0.5 AS q_1",
            ),
            (
                "SELECT 1 AS query_id, '",
                &["a", "1", " "],
                "' AS doc_id, 1 AS relevance, 0.5 AS a, 0.5 AS b, 0.5 AS q_1",
            ),
            (
                "SELECT 1 AS query_id, 2 AS doc_id, 1 AS relevance, '[",
                &["1,", "\"a\",", "[", "null,"],
                "1]' AS features",
            ),
            (
                "SELECT 1 AS query_id, 2 AS doc_id, 1 AS relevance, '",
                &["1", "1e", " ", "0"],
                "' AS a, 0.5 AS b",
            ),
            ("SELECT *, '[", &["\"a\",", "\"a#\",", "1,", "[", "\\u0061"], "\"\"]' AS q_list FROM j"),
            ("SELECT *, '", &["a", "é", "\"", "["], "' AS q_text FROM j"),
            ("SELECT *, 1 AS \"", &["a", "é", " ", "\"\"", ","], "\" FROM j"),
            ("j", &[" ", ".", "a", "\"\"", "--"], ""),
            ("SELECT * FROM j WHERE a IN (", &["1,", "'a',"], "1)"),
            ("SELECT * FROM j /*", &["a", "*"], "*/"),
        ],
        Kind::Array => &[
            (
                "[",
                &[
                    "1,",
                    "0.5,",
                    "1e3,",
                    "null,",
                    "\"a\",",
                    "\"a#\",",
                    "[1],",
                    "[],",
                    "{},",
                    "{\"a\":1},",
                    "#,",
                ],
                "1]",
            ),
            ("[", &["1", " ", "[", "0.", "\t"], "]"),
            ("[\"", &["a", "é", "\\n", "\\\"", "\\u00e9"], "\"]"),
        ],
        Kind::Search => &[
            ("\"", &["a ", "a", "\"\"", "é "], "\""),
            (
                "",
                &[
                    "red ",
                    "shoes OR ",
                    "r* ",
                    "(red) ",
                    "red AND ",
                    "{title body} : red OR ",
                    "\"red shoes\" OR ",
                    "red + ",
                    "red NOT ",
                ],
                "red",
            ),
        ],
        Kind::Name => &[("", &["m@", "@#", "main."], "1"), ("m@", &["1", " "], "")],
        _ => &[],
    }
}

fn repeat(piece: &str, bytes: usize) -> String {
    if !piece.contains('#') {
        return piece.repeat(bytes / piece.len() + 1);
    }
    let mut text = String::with_capacity(bytes + piece.len());
    let mut number = 0;
    while text.len() < bytes {
        text += &piece.replace('#', &number.to_string());
        number += 1;
    }
    text
}

/// The inputs of an argument.
pub fn inputs(connection: &Connection, call: &Call) -> Vec<Input> {
    let mut inputs = Vec::new();
    let mut add = |name: String, make: Box<dyn Fn(usize) -> Value>| inputs.push(Input { name, make });
    // 1. Pieces alone.
    for piece in PIECES {
        add(format!("{piece:?}"), Box::new(|size| Value::Text(repeat(piece, size))));
    }
    add("BLOB of 0".to_owned(), Box::new(|size| Value::Blob(vec![0; size])));
    add("BLOB of 63".to_owned(), Box::new(|size| Value::Blob(vec![63; size])));
    // 2. Pieces inside of a text of the grammar.
    for (start, pieces, end) in frames(call.kind) {
        for piece in *pieces {
            add(
                format!("{start}{piece:?}{end}"),
                Box::new(move |size| Value::Text(format!("{start}{}{end}", repeat(piece, size)))),
            );
        }
    }
    // 3. A valid BLOB with bytes at its end.
    let valid = |sql: &str| -> Value {
        connection
            .query_row(&format!("SELECT {sql}"), [], |row| row.get(0))
            .unwrap_or_else(|problem| panic!("{sql}: {problem}"))
    };
    if let (Kind::Bytes, Value::Blob(bytes)) = (call.kind, valid(&call.valid)) {
        add(
            "valid BLOB repeated".to_owned(),
            Box::new(move |size| Value::Blob(bytes.repeat(size / bytes.len() + 1))),
        );
    }
    // 4. Valid JSON and text with a growing part.
    match call.kind {
        Kind::Options => options(connection, call).into_iter().for_each(|input| inputs.push(input)),
        Kind::Import => {
            for (name, text) in samples(connection) {
                grown(&name, &text).into_iter().for_each(|input| inputs.push(input));
            }
        }
        _ => (),
    }
    inputs
}

/// Each option of a function with values that grow, and objects with many options.
fn options(connection: &Connection, call: &Call) -> Vec<Input> {
    let valid: String =
        connection.query_row(&format!("SELECT {}", call.valid), [], |row| row.get(0)).expect("options");
    let valid: serde_json::Map<String, Json> = serde_json::from_str(&valid).expect("an object");
    let sql = "SELECT name FROM ltr_options WHERE ', ' || functions || ', ' LIKE '%, ' || ?1 || ', %'";
    let listed = |function: &str| -> Vec<String> {
        let mut statement = connection.prepare(sql).expect("the options");
        let names = statement.query_map([function], |row| row.get(0)).expect("names");
        names.map(|name| name.expect("a name")).collect()
    };
    let mut names = listed(&call.function);
    if names.is_empty() {
        names = listed("metric aggregates");
    }
    let forms: &[(&str, &[&str], &str)] = &[
        ("\"", &["a", ",", "[", "\\\"", "é", " ", "1"], "\""),
        ("\"SELECT 1 AS query_id, '", &["a", "1"], "' AS doc_id, 1 AS relevance, 1 AS a\""),
        ("[", &["1,", "\"a\",", "\"a#\",", "\"ndcg@#\",", "[1],", "{},", "null,", "[\"a\",1],"], "1]"),
        ("{", &["\"a#\":1,", "\"a\":1,", "\"features\":[\"a\"],"], "\"b\":1}"),
        ("{\"features\":[", &["\"a\",", "\"a#\",", "1,"], "\"b\"]}"),
        ("{\"ignore\":[", &["\"a\",", "\"a#\","], "\"b\"]}"),
        ("{\"query\":\"", &["a", "\\\""], "\"}"),
        ("", &["1", "["], ""),
    ];
    let mut inputs = Vec::new();
    for name in names {
        let mut others = valid.clone();
        others.remove(&name);
        let others: String = others.iter().map(|(key, value)| format!("\"{key}\":{value},")).collect();
        for (start, pieces, end) in forms {
            for piece in *pieces {
                let (start, end) = (format!("{{{others}\"{name}\":{start}"), format!("{end}}}"));
                inputs.push(Input {
                    name: format!("{start}{piece:?}{end}"),
                    make: Box::new(move |size| Value::Text(format!("{start}{}{end}", repeat(piece, size)))),
                });
            }
        }
    }
    inputs
}

/// Models as text: of this library, and of others in `tests/data/imported/small/`.
fn samples(connection: &Connection) -> Vec<(String, String)> {
    let own: String =
        connection.query_row("SELECT ltr_export('m', 'json')", [], |row| row.get(0)).expect("a text");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/imported/small");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("models").map(|file| file.expect("a file").path()).collect();
    files.sort();
    let read = |path: std::path::PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        (name, std::fs::read_to_string(path).expect("a text"))
    };
    std::iter::once(("own.json".to_owned(), own)).chain(files.into_iter().map(read)).collect()
}

/// A text that grows in each of its parts, one at a time.
fn grown(name: &str, text: &str) -> Vec<Input> {
    serde_json::from_str(text).map_or_else(|_| grown_lines(name, text), |json| grown_json(name, &json))
}

/// Each line, each last word of a line, and each element's attributes.
fn grown_lines(name: &str, text: &str) -> Vec<Input> {
    let mut seen = std::collections::BTreeSet::new();
    let mut inputs = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let key = line.trim().split(['=', ' ', '>']).next().unwrap_or_default().to_owned();
        if line.trim().is_empty() || !seen.insert(key.clone()) {
            continue;
        }
        let word = line.rsplit([' ', '=']).next().unwrap_or_default();
        let place = line.find('>').unwrap_or(line.len());
        let forms = [
            ("lines", line.len(), format!("{line}\n")),
            ("words", line.len(), format!(" {word}")),
            ("attributes", place, " a#=\"1\"".to_owned()),
            ("letters", line.len(), "a".to_owned()),
            ("digits", line.len(), "1".to_owned()),
        ];
        for (form, place, piece) in forms {
            let before: String = text.lines().take(number).flat_map(|line| [line, "\n"]).collect();
            let after: String = text.lines().skip(number + 1).flat_map(|line| ["\n", line]).collect();
            let (before, after) = if form == "lines" {
                (before, format!("{line}{after}"))
            } else {
                (before + &line[..place], line[place..].to_owned() + &after)
            };
            inputs.push(Input {
                name: format!("{name}: {form} at {key}"),
                make: Box::new(move |size| Value::Text(format!("{before}{}{after}", repeat(&piece, size)))),
            });
        }
    }
    inputs
}

/// A text in the place of what grows.
const PLACE: &str = "\u{1}place\u{1}";

/// Each array, object, text and number; the elements of an array count once.
fn grown_json(name: &str, json: &Json) -> Vec<Input> {
    let mut inputs = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    let mut pointers = vec![(String::new(), String::new())];
    while let Some((pointer, shape)) = pointers.pop() {
        let value = json.pointer(&pointer).expect("a value");
        match value {
            Json::Array(values) => {
                let last = values.len().saturating_sub(1);
                for index in [0, last] {
                    pointers.extend(
                        values.get(index).map(|_| (format!("{pointer}/{index}"), format!("{shape}/*"))),
                    );
                }
            }
            Json::Object(values) => pointers
                .extend(values.keys().map(|key| (format!("{pointer}/{key}"), format!("{shape}/{key}")))),
            _ => (),
        }
        if !seen.insert(shape.clone()) {
            continue;
        }
        let place = Json::String(PLACE.to_owned());
        // What replaces the value, with the piece that is repeated.
        let mut forms: Vec<(&str, Json, String)> =
            vec![("[", place.clone(), "[".to_owned()), ("digits", place.clone(), "1".to_owned())];
        match value {
            Json::Array(values) => {
                let element = values.last().cloned().unwrap_or(Json::from(1));
                let longer = values.iter().cloned().chain([place]).collect();
                forms.push(("elements", longer, format!("{element},")));
                forms.push((
                    "names",
                    value
                        .as_array()
                        .expect("an array")
                        .iter()
                        .cloned()
                        .chain([Json::String(PLACE.to_owned())])
                        .collect(),
                    "\"a#\",".to_owned(),
                ));
            }
            Json::Object(values) => {
                let element = values.values().next_back().cloned().unwrap_or(Json::from(1));
                let mut longer = values.clone();
                longer.insert(PLACE.to_owned(), Json::from(1));
                forms.push(("keys", Json::Object(longer.clone()), format!("k#\":{element},\"")));
                let key = values.keys().next_back().cloned().unwrap_or_default();
                forms.push(("equal keys", Json::Object(longer), format!("{key}\":{element},\"")));
            }
            Json::String(inner) => {
                forms.push(("letters", Json::from(format!("{inner}{PLACE}")), "a".to_owned()));
                forms.push(("quotes", Json::from(format!("{inner}{PLACE}")), "\\\"".to_owned()));
            }
            _ => (),
        }
        for (form, longer, piece) in forms {
            let mut whole = json.clone();
            *whole.pointer_mut(&pointer).expect("a value") = longer;
            let text = whole.to_string();
            let mark = serde_json::to_string(PLACE).expect("a text");
            let mark = mark.trim_matches('"');
            let quoted = format!("\"{mark}\"");
            let inside = matches!(form, "keys" | "equal keys" | "letters" | "quotes");
            let Some((before, after)) = text.split_once(if inside { mark } else { &quoted }) else {
                panic!("{text}")
            };
            let last = piece.strip_suffix(',').filter(|_| !inside).unwrap_or_default().to_owned();
            let (before, after) = (before.to_owned(), format!("{last}{after}"));
            inputs.push(Input {
                name: format!("{name}: {form} at {shape}"),
                make: Box::new(move |size| Value::Text(format!("{before}{}{after}", repeat(&piece, size)))),
            });
        }
    }
    inputs
}
