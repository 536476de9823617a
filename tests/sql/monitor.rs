//! `ltr_monitor`: the index by its definition, how often data without a change are reported, models of older libraries.

use rusqlite::{Connection, params};
use serde_json::{Value, json};

use crate::support::database;

/// Random numbers in 0..1 (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A table of judged documents, ten per query: a continuous feature plus `shift`, a skewed whole number, one that is 0 in
/// nine of ten rows, and one that is missing in a fifth of the rows.
fn fill(connection: &Connection, table: &str, queries: i64, shift: f64, random: &mut Random) {
    let create = format!("CREATE TABLE {table}(query_id, doc_id, relevance, x, skewed, rare, gap)");
    connection.execute_batch(&create).unwrap();
    let mut insert =
        connection.prepare(&format!("INSERT INTO {table} VALUES (?, ?, ?, ?, ?, ?, ?)")).unwrap();
    for row in 0..10 * queries {
        let x = random.next();
        let skewed = (-3.0 * random.next().ln()).floor();
        let rare = if random.next() < 0.9 { 0.0 } else { random.next() };
        let gap = Some(random.next() * 100.0).filter(|gap| gap % 1.0 > 0.2);
        let grade = i64::from(x + random.next() > 1.2) + i64::from(x > 0.8);
        insert.execute(params![row / 10, row % 10, grade, x + shift, skewed, rare, gap]).unwrap();
    }
}

fn fit(connection: &Connection, source: &str, options: &Value) -> Vec<u8> {
    let sql = "SELECT ltr_fit('rank_svm', ?, ?)";
    connection.query_row(sql, (source, options.to_string()), |row| row.get(0)).unwrap()
}

const OPTIONS: &str = r#"{"lambda": 0.1, "missing": "zero", "scale": "standard"}"#;

fn options() -> Value {
    serde_json::from_str(OPTIONS).unwrap()
}

/// Kind, name, value and status of each row.
fn monitored(
    connection: &Connection,
    model: &[u8],
    source: &str,
) -> Vec<(String, String, Option<f64>, String)> {
    let sql = "SELECT kind, coalesce(name, ''), value, status FROM ltr_monitor(?, ?)";
    let mut statement = connection.prepare(sql).unwrap();
    let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
    statement.query_map((model, source), row).unwrap().collect::<Result<_, _>>().unwrap()
}

/// The index of a series of later values, from the bins of the card.
fn psi(card: &Value, later: &[f64]) -> f64 {
    let list = |key: &str| -> Vec<f64> {
        card[key].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
    };
    let (edges, trained) = (list("edges"), list("counts"));
    let mut counts = vec![0.0; trained.len()];
    for x in later {
        let x = f64::from(*x as f32);
        counts[edges.iter().filter(|edge| f64::from(**edge as f32) < x).count()] += 1.0;
    }
    let bins = trained.len() as f64;
    let share = |counts: &[f64], bin: usize| (counts[bin] + 0.5) / (counts.iter().sum::<f64>() + 0.5 * bins);
    let term = |bin: usize| {
        let (p, q) = (share(&counts, bin), share(&trained, bin));
        (p - q) * (p / q).ln()
    };
    (0..trained.len()).map(term).sum()
}

#[test]
fn the_index_is_that_of_its_definition() {
    let connection = database();
    let mut random = Random(1);
    fill(&connection, "trained", 200, 0.0, &mut random);
    fill(&connection, "later", 50, 0.1, &mut random);
    let model = fit(&connection, "trained", &options());
    let card: String = connection.query_row("SELECT ltr_info(?)", [&model], |row| row.get(0)).unwrap();
    let card: Value = serde_json::from_str(&card).unwrap();
    let rows = monitored(&connection, &model, "later");
    for (number, name) in ["x", "skewed", "rare", "gap"].into_iter().enumerate() {
        let sql = format!("SELECT {name} FROM later WHERE {name} IS NOT NULL");
        let mut statement = connection.prepare(&sql).unwrap();
        let values = statement.query_map([], |row| row.get(0)).unwrap();
        let values: Vec<f64> = values.collect::<Result<_, _>>().unwrap();
        let profile = &card["fingerprint"]["features"][number];
        let found = rows.iter().find(|(kind, of, ..)| kind == "drift" && of == name).unwrap().2.unwrap();
        assert!((found - psi(profile, &values)).abs() < 1e-12, "{name}");
        // The bins count every value once, and no missing one.
        let sql = format!("SELECT count({name}), min({name}), max({name}) FROM trained");
        let (count, low, high): (i64, f64, f64) =
            connection.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
        let counts: i64 = profile["counts"].as_array().unwrap().iter().filter_map(Value::as_i64).sum();
        assert_eq!((counts, profile["missing"].as_i64()), (count, Some(2000 - count)), "{name}");
        for (key, expected) in [("low", low), ("high", high)] {
            let found = profile[key].as_f64().unwrap();
            assert!((found - expected).abs() <= 1e-6 * expected.abs(), "{name}: {key} {found}");
        }
    }
    assert_eq!(rows.iter().find(|(kind, of, ..)| kind == "drift" && of == "x").unwrap().3, "alert");
}

/// Of data without a change, few features are reported, whether there are few rows or many.
#[test]
fn data_without_a_change_are_seldom_reported() {
    let connection = database();
    let mut random = Random(2);
    for queries in [3, 10, 100] {
        let (mut features, mut reported) = (0, 0);
        for _ in 0..40 {
            connection.execute_batch("DROP TABLE IF EXISTS trained; DROP TABLE IF EXISTS later").unwrap();
            fill(&connection, "trained", 100, 0.0, &mut random);
            fill(&connection, "later", queries, 0.0, &mut random);
            let model = fit(&connection, "trained", &options());
            for (kind, name, value, status) in monitored(&connection, &model, "later") {
                if ["drift", "outside", "missing"].contains(&kind.as_str()) {
                    features += 1;
                    reported += usize::from(status != "ok");
                    assert!(value.is_some(), "{kind} of {name}");
                }
            }
        }
        // The probability is about .001 for each.
        assert!(features == 480 && reported <= 4, "{queries} queries: {reported} of {features}");
    }
}

#[test]
fn fills_of_missing_values_are_not_counted() {
    let connection = database();
    fill(&connection, "trained", 30, 5.0, &mut Random(3));
    let cards: Vec<Value> = ["zero", "mean"]
        .into_iter()
        .map(|missing| {
            let model = fit(
                &connection,
                "trained",
                &json!({ "lambda": 0.1, "missing": missing, "scale": "standard" }),
            );
            let card: String =
                connection.query_row("SELECT ltr_info(?)", [&model], |row| row.get(0)).unwrap();
            serde_json::from_str::<Value>(&card).unwrap()["fingerprint"].clone()
        })
        .collect();
    assert_eq!(cards[0], cards[1]);
    // 0 is the value of some rows and the fill of others.
    connection.execute_batch("UPDATE trained SET gap = 0 WHERE doc_id = 3").unwrap();
    let model = fit(&connection, "trained", &options());
    let card: String = connection.query_row("SELECT ltr_info(?)", [&model], |row| row.get(0)).unwrap();
    let profile = &serde_json::from_str::<Value>(&card).unwrap()["fingerprint"]["features"][3];
    let missing: i64 =
        connection.query_row("SELECT count(*) - count(gap) FROM trained", [], |row| row.get(0)).unwrap();
    assert_eq!((profile["low"].as_f64(), profile["missing"].as_i64()), (Some(0.0), Some(missing)));
}

/// The order of the rows and the number of threads change no byte of the fingerprint.
#[test]
fn a_fingerprint_depends_on_the_rows_alone() {
    let connection = database();
    fill(&connection, "trained", 60, 0.0, &mut Random(4));
    let model = fit(&connection, "trained", &options());
    for (source, threads) in
        [("SELECT * FROM trained ORDER BY x", 1), ("SELECT * FROM trained ORDER BY -doc_id", 2)]
    {
        let mut options = options();
        options["threads"] = json!(threads);
        assert_eq!(fit(&connection, source, &options), model, "{source}");
    }
}
