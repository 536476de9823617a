//! Features of full-text matches (rules 17.1, 17.2, 17.3, 17.4, 17.5). `tests/hosts/fts.py` compares them with an independent computation.

use rusqlite::Connection;

use sqlite_ltr::internals::math::random::Random;

use crate::support::{database, is_long, value};

const TEXTS: &str = "
CREATE VIRTUAL TABLE docs USING fts5(title, body);
INSERT INTO docs (rowid, title, body) VALUES
  (1, 'red shoes', 'shoes for running, red and light'),
  (2, 'running shoes', 'blue shoes'),
  (3, 'garden hose', 'long and red'),
  (4, 'shoes red', '');";

fn texts() -> Connection {
    let connection = database();
    connection.execute_batch(TEXTS).unwrap();
    connection
}

/// The features of a row by their names; NULL is not expected.
fn features(connection: &Connection, table: &str, row: i64, query: &str) -> Vec<f32> {
    let sql = format!("SELECT ltr_fts({table}) FROM {table} WHERE {table} MATCH ?1 AND rowid = ?2");
    let bytes: Vec<u8> = value(connection, &sql, (query, row));
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

/// The names of the features of a table that are NaN.
fn unknown(connection: &Connection, table: &str, row: i64, query: &str) -> Vec<String> {
    let names: String = value(connection, "SELECT ltr_fts_names(?1)", [table]);
    let names: Vec<String> = serde_json::from_str(&names).unwrap();
    let found = features(connection, table, row, query);
    assert_eq!(found.len(), names.len());
    names.into_iter().zip(found).filter(|(_, found)| found.is_nan()).map(|(name, _)| name).collect()
}

fn problem(connection: &Connection, sql: &str) -> String {
    let rows = connection.prepare(sql).and_then(|mut statement| {
        let mut rows = statement.query([])?;
        while rows.next()?.is_some() {}
        Ok(())
    });
    rows.expect_err(sql).to_string()
}

/// Rule 17.1.
#[test]
fn a_vector_has_seven_features_per_column_and_idf_sum() {
    let connection = texts();
    let actual = features(&connection, "docs", 1, "red OR shoes");
    // title: both terms, red first, in this order. Three of four rows have shoes, two have red; the mean length is 2.
    let idf = |n: f64| (1.0 + (4.0 - n + 0.5) / (n + 0.5)).ln();
    let title = [idf(2.0) + idf(3.0), 2.0, 1.0, 1.0, 1.0, 1.0, 2.0];
    // body: shoes for running red: a window of 4 tokens with 2 terms. shoes: 2 of 4 rows, red: 2; 6, 2, 3 and 0 tokens.
    let bm25 = 2.0 * idf(2.0) * 2.2 / (1.0 + 1.2 * (0.25 + 0.75 * 6.0 / 2.75));
    let body = [bm25, 2.0, 1.0, 1.0, 0.5, 0.0, 6.0];
    let idf_sum = idf(3.0) + idf(3.0);
    for (index, expected) in title.iter().chain(&body).chain(&[idf_sum]).enumerate() {
        assert!(
            (f64::from(actual[index]) - expected).abs() < 1e-6,
            "{index}: {} for {expected}",
            actual[index]
        );
    }
    // The other order is not a phrase; an empty column has no length.
    let actual = features(&connection, "docs", 4, "red OR shoes");
    assert_eq!((&actual[1..7], &actual[7..14]), (&[2.0, 1.0, 1.0, 1.0, 0.0, 2.0][..], &[0.0; 7][..]));
    // A query in quotes is one term of two tokens.
    let actual = features(&connection, "docs", 1, "\"red shoes\"");
    assert_eq!(&actual[1..7], &[1.0, 1.0, 1.0, 1.0, 1.0, 2.0]);
}

#[test]
fn prefixes_filters_and_joins_are_queries_like_others() {
    let connection = texts();
    assert_eq!(features(&connection, "docs", 1, "sho*")[1..2], [1.0]);
    let found = features(&connection, "docs", 1, "title : shoes");
    assert_eq!((found[1], found[8]), (1.0, 0.0));
    let rows = |sql: &str| -> i64 { value(&connection, sql, []) };
    let statement = "SELECT count(*) FROM (SELECT ltr_fts(docs) AS f FROM docs WHERE docs MATCH 'shoes' ORDER BY rank LIMIT 2) \
                     WHERE length(f) = 60";
    assert_eq!(rows(statement), 2);
    // Statistics belong to a query: each query of a join has its own.
    let joined = "WITH m AS MATERIALIZED (SELECT hex(ltr_fts(docs)) AS h FROM (SELECT 'red' AS q UNION ALL SELECT 'shoes') \
                  JOIN docs ON docs MATCH q AND docs.rowid = 1) SELECT group_concat(h, ' ') FROM m";
    let found: String = value(&connection, joined, []);
    let single = ["red", "shoes"].map(|query| -> String {
        value(&connection, "SELECT hex(ltr_fts(docs)) FROM docs WHERE docs MATCH ?1 AND rowid = 1", [query])
    });
    assert_eq!(found, single.join(" "));
    assert_ne!(single[0], single[1]);
    // Two queries in one statement.
    let both = "SELECT ltr_fts(a.docs) = ltr_fts(b.docs) FROM docs a JOIN docs b ON a.rowid = b.rowid AND a.rowid = 1 \
                WHERE a.docs MATCH 'red' AND b.docs MATCH ?1";
    assert_eq!(value::<i64>(&connection, both, ["red"]), 1);
    assert_eq!(value::<i64>(&connection, both, ["shoes"]), 0);
}

#[test]
fn tokenizers_and_contents() {
    let connection = database();
    let made = "CREATE VIRTUAL TABLE porter USING fts5(a, tokenize = 'porter');
        INSERT INTO porter VALUES ('he runs and was running');
        CREATE VIRTUAL TABLE tri USING fts5(a, tokenize = 'trigram');
        INSERT INTO tri VALUES ('the cat, cat dog');
        CREATE VIRTUAL TABLE split USING fts5(a, tokenize = \"unicode61 separators 'd'\");
        INSERT INTO split VALUES ('cat zoo');
        CREATE TABLE source (id INTEGER PRIMARY KEY, a, b UNIQUE);
        INSERT INTO source VALUES (7, 'red shoes', 'x'), (8, 'blue', 'red');
        CREATE VIRTUAL TABLE external USING fts5(a, b, content = source, content_rowid = id);
        INSERT INTO external (external) VALUES ('rebuild');
        CREATE VIRTUAL TABLE \"odd \"\"name\" USING fts5(\"first col\", b UNINDEXED);
        INSERT INTO \"odd \"\"name\" VALUES ('red', 'red');";
    connection.execute_batch(made).unwrap();
    assert_eq!(features(&connection, "porter", 1, "run")[1..4], [2.0, 1.0, 0.5]);
    // Trigrams: 14 of 16 characters; "cat" at 4 and 9, "dog" at 13; the words follow each other with a space.
    assert_eq!(features(&connection, "tri", 1, "cat OR dog")[1..7], [3.0, 1.0, 0.2, 1.0, 1.0, 14.0]);
    // Letters that separate words are not trigrams.
    assert_eq!(features(&connection, "split", 1, "cat OR zoo")[4..6], [1.0, 1.0]);
    assert_eq!(features(&connection, "external", 7, "red")[1..2], [1.0]);
    // External content that is gone does not matter: the index has the places.
    connection.execute_batch("DELETE FROM source").unwrap();
    assert_eq!(features(&connection, "external", 8, "red")[8..9], [1.0]);
    let names: String = value(&connection, "SELECT ltr_fts_names('odd \"name')", []);
    assert!(
        names.starts_with(r#"["first col_bm25","first col_hits""#) && names.contains("b_length"),
        "{names}"
    );
    let found: Vec<u8> = value(
        &connection,
        "SELECT ltr_fts(\"odd \"\"name\") FROM \"odd \"\"name\" WHERE \"first col\" MATCH 'red'",
        [],
    );
    assert_eq!(found[7 * 4..14 * 4], [0; 28]);
}

/// Rule 17.2.
#[test]
fn what_a_table_does_not_know_is_nan() {
    let connection = database();
    for (name, options) in [
        ("every", ""),
        ("no_places", ", detail = column, content = ''"),
        ("no_columns", ", detail = none, content = ''"),
        ("no_sizes", ", columnsize = 0, content = ''"),
        ("reads_text", ", detail = none, columnsize = 0"),
    ] {
        connection.execute_batch(&format!("CREATE VIRTUAL TABLE {name} USING fts5(a, b{options})")).unwrap();
        connection
            .execute_batch(&format!(
                "INSERT INTO {name} (rowid, a, b) VALUES (1, 'red shoes', 'x'), (2, 'y', 'red')"
            ))
            .unwrap();
    }
    let columns = |features: &[&str]| -> Vec<String> {
        ["a", "b"]
            .iter()
            .flat_map(|column| features.iter().map(move |name| format!("{column}_{name}")))
            .collect()
    };
    let places = ["bm25", "hits", "first", "window", "phrase"];
    assert_eq!(unknown(&connection, "every", 1, "red"), [""; 0]);
    assert_eq!(unknown(&connection, "no_places", 1, "red"), columns(&places));
    let nothing = ["bm25", "hits", "coverage", "first", "window", "phrase"];
    assert_eq!(
        unknown(&connection, "no_columns", 1, "red"),
        [columns(&nothing), vec!["idf_sum".to_owned()]].concat()
    );
    assert_eq!(unknown(&connection, "no_sizes", 1, "red"), columns(&["bm25", "length"]));
    // FTS5 reads the text again if it has it.
    assert_eq!(
        features(&connection, "reads_text", 1, "red OR shoes"),
        features(&connection, "every", 1, "red OR shoes")
    );
    // What is known is right.
    let (every, found) =
        (features(&connection, "every", 1, "red"), features(&connection, "no_places", 1, "red"));
    for index in (0..every.len()).filter(|index| !found[*index].is_nan()) {
        assert_eq!(found[index].to_bits(), every[index].to_bits(), "{index}");
    }
}

/// Rule 17.5.
#[test]
fn statistics_follow_the_rows_of_a_transaction() {
    let connection = texts();
    let before = features(&connection, "docs", 1, "red");
    connection.execute_batch("BEGIN; DELETE FROM docs WHERE rowid = 4").unwrap();
    assert_ne!(features(&connection, "docs", 1, "red"), before);
    connection.execute_batch("ROLLBACK").unwrap();
    assert_eq!(features(&connection, "docs", 1, "red"), before);
}

#[test]
fn wrong_calls_name_the_right_one() {
    let connection = texts();
    connection
        .execute_batch("CREATE TABLE plain (docs, rank); CREATE VIEW seen AS SELECT * FROM docs")
        .unwrap();
    for (sql, expected) in [
        (
            "SELECT ltr_fts()",
            "ltr_fts: no match of a full-text table; call it as in SELECT ltr_fts(docs) FROM docs",
        ),
        (
            "SELECT count(ltr_fts(docs)) FROM docs WHERE docs MATCH 'red'",
            "ltr_fts: no match of a full-text table; call it as",
        ),
        ("SELECT ltr_fts('docs')", "ltr_fts: no match of a full-text table"),
        (
            "SELECT ltr_fts(docs) FROM plain UNION ALL SELECT ltr_fts(1)",
            "ltr_fts: no match of a full-text table",
        ),
        (
            "SELECT ltr_fts(docs) FROM docs",
            "ltr_fts: the row is not a match: the statement has no MATCH, or an OR next to it",
        ),
        (
            "SELECT ltr_fts(docs, 1) FROM docs WHERE docs MATCH 'red'",
            "ltr_fts: got 2 arguments; call ltr_fts(fts_table)",
        ),
        ("SELECT ltr_fts_names('seen')", "ltr_fts_names: source 'seen': it is not an FTS5 table"),
        ("SELECT ltr_fts_names('plain')", "ltr_fts_names: source 'plain': it is not an FTS5 table"),
        ("SELECT ltr_fts_names('dosc')", "ltr_fts_names: source 'dosc': no such full-text table"),
        ("SELECT ltr_fts_names(NULL)", "ltr_fts_names: argument 1: got NULL, expected text"),
        ("SELECT ltr_fts_query('a', '{\"words\": \"some\"}')", "ltr_fts_query: option 'words': got \"some\""),
        ("SELECT ltr_fts_query('a', '{\"seed\": 1}')", "ltr_fts_query: option 'seed': it belongs to"),
        ("SELECT ltr_fts_query()", "ltr_fts_query: got 0 arguments; call ltr_fts_query(text [, options])"),
    ] {
        let actual = problem(&connection, sql);
        assert!(actual.starts_with(expected), "{sql}: {actual}");
    }
    let qualified: String = value(&connection, "SELECT ltr_fts_names('main.docs')", []);
    assert_eq!(qualified, value::<String>(&connection, "SELECT ltr_fts_names('docs')", []));
}

#[test]
fn interrupts_stop_the_statistics() {
    let connection = database();
    let made = "CREATE VIRTUAL TABLE big USING fts5(a, b);
        INSERT INTO big WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 200000) SELECT 'red', 'red' FROM n;";
    connection.execute_batch(made).unwrap();
    let handle = connection.get_interrupt_handle();
    let terms = vec!["red"; 50].join(" OR ");
    let sender = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(100));
        handle.interrupt();
        std::time::Instant::now()
    });
    let sql = format!("SELECT ltr_fts(big) FROM big WHERE big MATCH '{terms}' LIMIT 1");
    assert!(problem(&connection, &sql).contains("interrupted"));
    let late = sender.join().unwrap().elapsed();
    assert!(late.as_millis() < 1000, "{late:?}");
}

/// Rule 17.4.
#[test]
fn queries_of_what_users_type() {
    let connection = texts();
    let found = |text: &str, options: &str| -> String {
        let sql = "SELECT coalesce(group_concat(rowid), '') FROM (SELECT rowid FROM docs WHERE docs MATCH ltr_fts_query(?1, ?2) ORDER BY rowid)";
        value(&connection, sql, (text, options))
    };
    for (text, options, rows) in [
        ("red shoes", "{}", "1,2,3,4"),
        ("red shoes", r#"{"words": "all"}"#, "1,4"),
        ("\"red shoes\"", "{}", "1"),
        ("run", r#"{"prefix": true}"#, "1,2"),
        ("red & shoes", r#"{"words": "all"}"#, "1,4"),
        ("title:red NOT (", "{}", "1,3,4"),
        ("red-shoes", "{}", "1,2,3,4"),
        ("red-shoes", r#"{"words": "all"}"#, "1"),
        ("", "{}", ""),
        ("\"", "{}", ""),
    ] {
        assert_eq!(found(text, options), rows, "{text} {options}");
    }
    // Words that already occur find nothing new; the last one may be incomplete.
    for (text, options, query) in [
        ("red Red shoes RED", r#"{"prefix": true}"#, r#""red" OR "shoes" OR "RED"*"#),
        ("red Red shoes RED", "{}", r#""red" OR "shoes""#),
        ("\"a b\" a b \"A b\"", "{}", r#""a b" OR "a" OR "b""#),
    ] {
        assert_eq!(value::<String>(&connection, "SELECT ltr_fts_query(?1, ?2)", (text, options)), query);
    }
    assert_eq!(value::<String>(&connection, "SELECT ltr_fts_query(NULL)", []), "\"\"");
    assert_eq!(value::<String>(&connection, "SELECT ltr_fts_query(42)", []), "\"42\"");
}

const JUDGED: &str = "
CREATE TABLE judged (search TEXT, id INTEGER, relevance INTEGER);
INSERT INTO judged VALUES ('red shoes', 1, 2), ('red shoes', 2, 1), ('red shoes', 3, 0), ('red shoes', 4, 2),
  ('running', 2, 2), ('running', 1, 1);
CREATE VIEW matches AS SELECT search AS query_id, id AS doc_id, relevance, ltr_fts(docs) AS features
  FROM judged JOIN docs ON docs MATCH ltr_fts_query(search) AND docs.rowid = id;";

/// Rule 17.3: the names go into the model, and from there everywhere.
#[test]
fn models_have_the_names_of_the_features() {
    let connection = texts();
    connection.execute_batch(JUDGED).unwrap();
    let named =
        "json_object('lambda', 0.1, 'columns', json_object('feature_names', json(ltr_fts_names('docs'))))";
    let _: String = value(&connection, &format!("SELECT ltr_train('rank_svm', 'matches', {named})"), []);
    let weights: String = value(&connection, "SELECT group_concat(feature) FROM ltr_weights('rank_svm')", []);
    assert!(weights.starts_with("title_bm25,title_hits,") && weights.ends_with(",idf_sum"), "{weights}");
    // The names change nothing else.
    let _: String = value(
        &connection,
        "SELECT ltr_train('rank_svm', 'matches', '{\"lambda\": 0.1, \"name\": \"numbers\"}')",
        [],
    );
    let scores = "SELECT group_concat(doc_id || ' ' || score) FROM (SELECT * FROM ltr_rank(?1, 'matches') ORDER BY query_id, rank)";
    let found: String = value(&connection, scores, ["rank_svm"]);
    assert_eq!(found, value::<String>(&connection, scores, ["numbers"]));
    // The same with the names, and from columns with these names.
    let again = "SELECT count(*) FROM ltr_rank('rank_svm', 'matches', ?1)";
    let options = format!("SELECT {}", named.replace("'lambda', 0.1, ", ""));
    let options: String = value(&connection, &options, []);
    assert_eq!(value::<i64>(&connection, again, [&options]), 6);
    let columns =
        "SELECT group_concat(format('%.9g AS \"%w\"', key + 1, value)) FROM json_each(ltr_fts_names('docs'))";
    let columns: String = value(&connection, columns, []);
    let source = format!("SELECT 1 AS doc_id, {columns}");
    let score: f64 = value(&connection, "SELECT score FROM ltr_rank('rank_svm', ?1)", [source]);
    let vector: f64 = value(
        &connection,
        "SELECT ltr_score('rank_svm', (SELECT json_group_array(key + 1) FROM json_each(ltr_fts_names('docs'))))",
        [],
    );
    assert!((score - vector).abs() < 1e-12);
}

#[test]
fn names_of_features_that_do_not_fit_are_refused() {
    let connection = texts();
    connection.execute_batch(JUDGED).unwrap();
    let _: String = value(&connection, "SELECT ltr_train('rank_svm', 'matches', '{\"lambda\": 0.1}')", []);
    for (call, names, expected) in [
        ("ltr_fit('rank_svm', 'matches'", "[\"a\"]", "has 1 names, but the vectors have 15 values"),
        (
            "ltr_fit('rank_svm', 'matches'",
            "\"[]\"",
            "expected an array of names; json(...) converts text to one",
        ),
        ("ltr_fit('rank_svm', 'matches'", "[\"a\", \"A\"]", "got \"A\" twice"),
        ("ltr_fit('rank_svm', 'matches'", "[\"a\", \" \"]", "names with a letter"),
        ("ltr_fit('rank_svm', 'matches'", "[1]", "expected an array of names"),
        (
            "ltr_fit('rank_svm', 'SELECT 1 AS query_id, 2 AS x, 1 AS relevance'",
            "[\"x\"]",
            "the features of this source are columns",
        ),
    ] {
        let sql = format!("SELECT {call}, '{{\"columns\": {{\"feature_names\": {names}}}}}')");
        let actual = problem(&connection, &sql);
        assert!(actual.contains("key 'feature_names'") && actual.contains(expected), "{names}: {actual}");
    }
    let other =
        "SELECT * FROM ltr_rank('rank_svm', 'matches', '{\"columns\": {\"feature_names\": [\"a\"]}}')";
    let found = problem(&connection, other);
    assert!(found.contains("expected the names in the model"), "{found}");
}

/// Rule 17.4: with the name of a table, a document that has the text is found, whatever the text and the tokenizer.
#[test]
fn a_query_for_a_table_finds_the_text() {
    let connection = database();
    let mut random = Random::new(17);
    let alphabet: Vec<char> =
        "abcEé\u{301}ß中\u{1f642}☕+-_#.,'\"()*:^ \u{a0}\u{2013}\u{201e}\u{201c}५$".chars().collect();
    let text = |length: usize, random: &mut Random| -> String {
        (0..length).map(|_| alphabet[random.below(alphabet.len())]).collect()
    };
    let (mut found, mut empty) = (0, 0);
    for round in 0..if is_long() { 20_000 } else { 400 } {
        let kept = text(1 + random.below(4), &mut random).replace(['\'', '"'], "");
        let options = [
            "unicode61".to_owned(),
            format!("unicode61 tokenchars ''{kept}''"),
            format!("unicode61 separators ''{kept}'' remove_diacritics 0"),
            "unicode61 categories ''L* N* Co S*''".to_owned(),
            format!("porter unicode61 tokenchars ''{kept}''"),
            "ascii".to_owned(),
            "trigram".to_owned(),
            "trigram case_sensitive 1".to_owned(),
        ];
        let tokenizer = &options[random.below(options.len())];
        let (length, before) = (1 + random.below(12), ["", "x, "][random.below(2)]);
        let typed = text(length, &mut random);
        // Spaces that a tokenizer keeps join the text with others.
        let before = if kept.contains(char::is_whitespace) { "" } else { before };
        connection
            .execute_batch(&format!(
                "DROP TABLE IF EXISTS f; CREATE VIRTUAL TABLE f USING fts5(t, tokenize='{tokenizer}')"
            ))
            .unwrap();
        connection
            .execute("INSERT INTO f VALUES (?1), ('other words')", [format!("{before}{typed}")])
            .unwrap();
        // FTS5 itself: whether the text has tokens.
        let phrase = format!("\"{}\"", typed.replace('"', "\"\""));
        let count = |query: &str| -> i64 {
            value(&connection, "SELECT count(*) FROM f WHERE f MATCH ?1 AND rowid = 1", [query])
        };
        let has_tokens = count(&phrase) == 1;
        for words in ["any", "all"] {
            let options = serde_json::json!({"table": "f", "words": words}).to_string();
            let query: String = value(&connection, "SELECT ltr_fts_query(?1, ?2)", [&typed, &options]);
            assert_eq!(count(&query) == 1, has_tokens, "{round}: {tokenizer} {typed:?} {words}: {query}");
        }
        (found, empty) = (found + i64::from(has_tokens), empty + i64::from(!has_tokens));
    }
    assert!(found > 5 * empty && empty > 0, "{found} {empty}");
    // Another schema, an empty table, and something that is not a table.
    connection.execute_batch("ATTACH ':memory:' AS aux1; CREATE VIRTUAL TABLE aux1.\"a b\" USING fts5(t, tokenize=\"unicode61 tokenchars '+'\")").unwrap();
    let query = |table: &str| format!(r#"SELECT ltr_fts_query('C++', '{{"table": "{table}"}}')"#);
    assert_eq!(value::<String>(&connection, &query("aux1.a b"), []), "\"\"");
    connection.execute_batch("INSERT INTO aux1.\"a b\" VALUES ('C++ and C')").unwrap();
    assert_eq!(value::<String>(&connection, &query("aux1.a b"), []), "\"C++\"");
    connection.execute_batch("CREATE TABLE plain (t)").unwrap();
    assert!(problem(&connection, &query("plain")).contains("'plain': it is not an FTS5 table"));
    assert!(problem(&connection, &query("none")).contains("'none': no such full-text table"));
    assert!(problem(&connection, "SELECT ltr_fts(f, 1) FROM f").contains("got 2 arguments"));
}
