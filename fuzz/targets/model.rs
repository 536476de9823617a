//! A model with right lengths and checksums and any contents. The first byte chooses the call; `ltr_info` comes first.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rusqlite::Connection;
use sqlite_ltr_fuzz::mutated::models::{connect, samples};
use sqlite_ltr_fuzz::mutated::statements::{STORED, statements};
use sqlite_ltr_fuzz::{Database, model, write_seeds};

struct Calls {
    database: Database,
    statements: Vec<String>,
}

thread_local! {
    static CALLS: Calls = Calls::new();
}

impl Calls {
    fn new() -> Self {
        let connection = connect();
        let train = r#"SELECT ltr_train('rank_svm', 'judged', '{"name": "stored", "lambda": 0.1}')"#;
        connection.query_row(train, [], |_| Ok(())).expect("a stored model");
        Self { database: Database::new(connection), statements: statements() }
    }

    fn check(&self, chosen: u8, model: &[u8]) {
        let count = |sql: &str, model: Option<&[u8]>| {
            let wrong = self.database.answer(sql, |statement| match model {
                Some(model) => statement.query_row([model], |row| row.get(0)),
                None => statement.query_row([], |row| row.get(0)),
            });
            assert!(wrong.unwrap_or(0) == 0, "{wrong:?} numbers are not finite: {sql}");
            wrong.is_some()
        };
        if !count("SELECT ltr_info(?1) IS NULL", Some(model)) {
            return;
        }
        let chosen = usize::from(chosen) % (self.statements.len() + STORED.len());
        match self.statements.get(chosen) {
            Some(sql) => count(sql, Some(model)),
            None => {
                let stored = "UPDATE ltr_models SET model = ?1 WHERE name = 'stored'";
                self.database.connection.execute(stored, [model]).expect("an update");
                count(STORED[chosen - self.statements.len()], None)
            }
        };
    }
}

/// Every model with the call of its number, then some with every call.
fn seeds() -> Vec<Vec<u8>> {
    let connection: Connection = connect();
    let inputs: Vec<Vec<u8>> =
        samples(&connection).iter().map(|sample| model::input(&sample.bytes)).collect();
    let calls = (statements().len() + STORED.len()) as u8;
    let with_call = |call: u8, input: &Vec<u8>| [&[call], &input[..]].concat();
    let one = inputs.iter().zip((0..calls).cycle()).map(|(input, call)| with_call(call, input));
    let all = inputs.iter().step_by(9).flat_map(|input| (0..calls).map(move |call| with_call(call, input)));
    one.chain(all).collect()
}

fuzz_target!(
    init: write_seeds(seeds),
    |data: &[u8]| {
        if let [chosen, input @ ..] = data {
            CALLS.with(|calls| calls.check(*chosen, &model::sealed(input)));
        }
    }
);
