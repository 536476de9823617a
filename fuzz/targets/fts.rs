//! What a user types. The first byte chooses options of `ltr_fts_query`, or that FTS5 gets the raw text. FTS5 accepts
//! every query of `ltr_fts_query` (rule 17.4), and the features of its matches are NaN or finite.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rusqlite::Connection;
use sqlite_ltr_fuzz::{Database, check_message};

const TABLES: [&str; 9] =
    ["words", "stems", "triples", "cased", "kept", "plain", "vacant", "columns_only", "rows_only"];
/// The first tables know the places of words. FTS5 has no phrases without them.
const WITH_PLACES: usize = 7;

const SCHEMA: &str = "
CREATE VIRTUAL TABLE words USING fts5(title, body);
CREATE VIRTUAL TABLE stems USING fts5(title, body, tokenize = 'porter', prefix = '1 2');
CREATE VIRTUAL TABLE triples USING fts5(title, body, tokenize = 'trigram', columnsize = 0);
CREATE VIRTUAL TABLE cased USING fts5(title, body, tokenize = 'trigram case_sensitive 1');
CREATE VIRTUAL TABLE kept USING fts5(title, body, tokenize = 'unicode61 tokenchars ''+- ''');
CREATE VIRTUAL TABLE plain USING fts5(title, body, tokenize = 'porter ascii');
CREATE VIRTUAL TABLE vacant USING fts5(title, body, tokenize = 'trigram');
CREATE VIRTUAL TABLE columns_only USING fts5(title, body, detail = 'column', content = '');
CREATE VIRTUAL TABLE rows_only USING fts5(title, body, detail = 'none', content = '');
INSERT INTO words VALUES ('red shoes', 'shoes for running, red and light'), ('running shoes', 'blue shoes'), ('', 'a b c a b c'),
  ('NEAR AND', 'or not'), (char(228, 8220, 26085, 26412, 8221), 'Stra' || char(223) || 'e 1 2 3');
INSERT INTO stems SELECT * FROM words;
INSERT INTO triples SELECT * FROM words;
INSERT INTO cased SELECT * FROM words;
INSERT INTO kept SELECT * FROM words;
INSERT INTO plain SELECT * FROM words;
INSERT INTO columns_only SELECT * FROM words;
INSERT INTO rows_only SELECT * FROM words;";

/// Bytes of a text that may need more than the time of a call.
const LONG: usize = 1 << 14;

thread_local! {
    static DATABASE: Database = {
        let connection = Connection::open_in_memory().expect("a database");
        sqlite_ltr::register(&connection).expect("registration");
        connection.execute_batch(SCHEMA).expect("the tables");
        Database::new(connection)
    };
}

/// Matches, and which of the features are infinite.
fn check(database: &Database, query: &str, is_made: bool) {
    for (number, table) in TABLES.into_iter().enumerate() {
        let sql = format!("SELECT ltr_fts({table}) FROM {table} WHERE {table} MATCH ?1");
        let outcome = database.watched(|| -> rusqlite::Result<()> {
            let mut statement = database.connection.prepare(&sql)?;
            let mut rows = statement.query([query])?;
            while let Some(row) = rows.next()? {
                let features: Vec<u8> = row.get(0)?;
                let mut features = features.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
                assert!(!features.any(f32::is_infinite), "infinite features");
            }
            Ok(())
        });
        if let Err(problem) = outcome {
            check_message(&sql, &problem);
            // A query of a made text can take too long, but not be wrong.
            let is_stopped = problem.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted);
            assert!(!is_made || is_stopped || number >= WITH_PLACES, "{query}: {problem}");
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let [options, text @ ..] = data else { return };
    let text = String::from_utf8_lossy(text);
    DATABASE.with(|database| {
        let words = if options & 1 == 0 { "any" } else { "all" };
        let prefix = options & 2 != 0;
        if options & 4 != 0 {
            return check(database, &text, false);
        }
        let table = match usize::from(options >> 3) % (TABLES.len() + 1) {
            0 => String::new(),
            number => format!(", \"table\": \"{}\"", TABLES[number - 1]),
        };
        let options = format!("{{\"words\": \"{words}\", \"prefix\": {prefix}{table}}}");
        let query: Option<String> = database.answer("SELECT ltr_fts_query(?1, ?2)", |statement| {
            statement.query_row((&text, options), |row| row.get(0))
        });
        // A long text may take too long for this build.
        assert!(query.is_some() || text.len() > LONG, "no query");
        if let Some(query) = query {
            check(database, &query, true);
        }
    });
});
