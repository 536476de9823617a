//! `ltr_monitor`: the index by its definition, how often data with and without a change are reported, the reference of the
//! metric, sources that cannot be ranked.

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

/// Counts in the bins of the card, for each query of `values`.
fn counts(card: &Value, values: &[(i64, f64)]) -> Vec<Vec<f64>> {
    let edges = list(card, "edges");
    let mut counts: std::collections::BTreeMap<i64, Vec<f64>> = std::collections::BTreeMap::new();
    for (query, x) in values {
        let x = f64::from(*x as f32);
        let bins = counts.entry(*query).or_insert_with(|| vec![0.0; edges.len() + 1]);
        bins[edges.iter().filter(|edge| f64::from(**edge as f32) < x).count()] += 1.0;
    }
    counts.into_values().collect()
}

fn list(card: &Value, key: &str) -> Vec<f64> {
    card[key].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

fn total(counts: &[Vec<f64>], bin: usize) -> f64 {
    counts.iter().map(|counts| counts[bin]).sum()
}

/// The design effect by its definition, for expected shares of the bins.
fn design_effect(counts: &[Vec<f64>], expected: &[f64]) -> f64 {
    let (queries, n): (f64, f64) = (counts.len() as f64, counts.iter().flatten().sum());
    let of_bin = |(bin, expected): (usize, &f64)| {
        let p = total(counts, bin) / n;
        let part = |counts: &Vec<f64>| (counts[bin] - p * counts.iter().sum::<f64>()).powi(2);
        queries / (queries - 1.0) * counts.iter().map(part).sum::<f64>() / (n * n) / expected
    };
    let sum: f64 = expected.iter().enumerate().map(of_bin).sum();
    (n * sum / (expected.len() as f64 - 1.0)).max(1.0)
}

/// The index of a series of later values, from the bins of the card.
fn psi(card: &Value, later: &[(i64, f64)], training_queries: f64) -> f64 {
    let (trained, found) = (list(card, "counts"), counts(card, later));
    let now: Vec<f64> = (0..trained.len()).map(|bin| total(&found, bin)).collect();
    let shares = |counts: &[f64], effect: f64| -> Vec<f64> {
        let all = counts.iter().sum::<f64>() + 0.5 * effect * counts.len() as f64;
        counts.iter().map(|count| (count + 0.5 * effect) / all).collect()
    };
    let then = f64::from(card["design_effect"].as_f64().unwrap() as f32);
    let q = shares(&trained, then);
    // Kish: d = 1 + (k - 1) r for queries of k values.
    let r = (then - 1.0) / (trained.iter().sum::<f64>() / training_queries - 1.0);
    assert!((0.0..=1.0).contains(&r), "{r}");
    let expected = 1.0 + (now.iter().sum::<f64>() / found.len() as f64 - 1.0) * r;
    let effect = design_effect(&found, &q).max(expected);
    shares(&now, effect).iter().zip(&q).map(|(p, q)| (p - q) * (p / q).ln()).sum()
}

/// Query and value of each row with a value.
fn values(connection: &Connection, table: &str, column: &str) -> Vec<(i64, f64)> {
    let sql = format!("SELECT query_id, {column} FROM {table} WHERE {column} IS NOT NULL");
    let mut statement = connection.prepare(&sql).unwrap();
    let values = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    values.collect::<Result<_, _>>().unwrap()
}

#[test]
fn the_index_matches_its_definition() {
    let connection = database();
    let mut random = Random(1);
    fill(&connection, "trained", 200, 0.0, &mut random);
    fill(&connection, "later", 50, 0.1, &mut random);
    // Queries of another size than in the training: of ten queries 40, 40, 10 and 10 documents.
    let sizes = "UPDATE later SET doc_id = doc_id + query_id % 10 * 10,
        query_id = query_id / 10 * 4 + CASE query_id % 10 WHEN 9 THEN 3 ELSE query_id % 10 / 4 END";
    connection.execute_batch(sizes).unwrap();
    let model = fit(&connection, "trained", &options());
    let card: String = connection.query_row("SELECT ltr_info(?)", [&model], |row| row.get(0)).unwrap();
    let card: Value = serde_json::from_str(&card).unwrap();
    let rows = monitored(&connection, &model, "later");
    for (number, name) in ["x", "skewed", "rare", "gap"].into_iter().enumerate() {
        let profile = &card["fingerprint"]["features"][number];
        let trained = counts(profile, &values(&connection, "trained", name));
        let n: f64 = trained.iter().flatten().sum();
        let shares: Vec<f64> = (0..trained[0].len()).map(|bin| total(&trained, bin) / n).collect();
        let effect = profile["design_effect"].as_f64().unwrap();
        assert!((effect / design_effect(&trained, &shares) - 1.0).abs() < 1e-6, "{name}: {effect}");
        let values = values(&connection, "later", name);
        let actual = rows.iter().find(|(kind, of, ..)| kind == "drift" && of == name).unwrap().2.unwrap();
        assert!((actual - psi(profile, &values, 200.0)).abs() < 1e-12, "{name}");
        // The bins count every value once, and no missing one.
        let sql = format!("SELECT count({name}), min({name}), max({name}) FROM trained");
        let (count, low, high): (i64, f64, f64) =
            connection.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
        let counts: i64 = profile["counts"].as_array().unwrap().iter().filter_map(Value::as_i64).sum();
        assert_eq!((counts, profile["missing"].as_i64()), (count, Some(2000 - count)), "{name}");
        for (key, expected) in [("low", low), ("high", high)] {
            let actual = profile[key].as_f64().unwrap();
            assert!((actual - expected).abs() <= 1e-6 * expected.abs(), "{name}: {key} {actual}");
        }
    }
    assert_eq!(rows.iter().find(|(kind, of, ..)| kind == "drift" && of == "x").unwrap().3, "alert");
}

/// A table of judged documents in queries of very different size. Features: independent documents (`free`), one value per
/// query (`fixed`), both (`mixed`), a scale per query (`scaled`), 0 except in a tenth of the queries (`rare`), missing
/// documents (`gap`) and missing queries (`hole`). `shift` is added to the first three, and bad documents become good. Queries
/// have `length` times as many documents as in the training.
fn fill_clustered(
    connection: &Connection,
    table: &str,
    (queries, length): (i64, f64),
    shift: f64,
    random: &mut Random,
) {
    let columns = "query_id, doc_id, relevance, free, fixed, mixed, scaled, rare, gap, hole";
    let create = format!("DROP TABLE IF EXISTS {table}; CREATE TABLE {table}({columns}); BEGIN");
    connection.execute_batch(&create).unwrap();
    let sql = format!("INSERT INTO {table} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    let mut insert = connection.prepare(&sql).unwrap();
    for query in 0..queries {
        let long = if random.next() < 0.1 { 4.0 } else { 1.0 };
        let size = (1.0 - 12.0 * length * long * random.next().ln()).min(200.0) as i64;
        let (fixed, scale) = (random.next(), (2.0 * random.next()).exp());
        let (is_rare, is_hole, ease) = (random.next() < 0.1, random.next() < 0.1, random.next());
        for doc in 0..size {
            let (x, noise) = (random.next(), random.next());
            let good = if shift > 0.0 { 1.0 - x } else { x };
            let grade = i64::from(good + noise > 0.7 + ease) + i64::from(good > 0.8);
            let rare = if is_rare { random.next() } else { 0.0 };
            let gap = Some(random.next()).filter(|gap| *gap > 0.2);
            let hole = Some(random.next()).filter(|_| !is_hole);
            let mixed = 0.6 * fixed + 0.6 * random.next();
            let numbers = (x + shift, fixed + shift, mixed + shift, scale * random.next());
            let (free, fixed, mixed, scaled) = numbers;
            insert.execute(params![query, doc, grade, free, fixed, mixed, scaled, rare, gap, hole]).unwrap();
        }
    }
    drop(insert);
    connection.execute_batch("COMMIT").unwrap();
}

/// Unchanged data are rarely reported, whether documents of a query are alike or not and however long queries are, and
/// a change is. The probability is about .001 for a row: that it is not `ok`, of `metric` that it is an alert. At most .01 of
/// the rows are allowed, and with `LTR_LONG=1` .01 and three standard errors for each number of queries, kind and feature.
#[test]
#[expect(clippy::print_stdout, reason = "the figures of docs/guide/monitoring.md")]
fn queries_are_the_units_of_sampling() {
    let connection = database();
    let long = crate::support::is_long();
    let sizes: &[(i64, &[i64])] = if long {
        &[(30, &[20, 200]), (100, &[20, 50, 200]), (300, &[20, 200])]
    } else {
        &[(100, &[20, 100])]
    };
    let options = json!({ "lambda": [1, 0.1], "missing": "zero", "scale": "standard" });
    let mut random = Random(2);
    for (trained, later) in sizes {
        // Number of rows, and of those that are found.
        let mut reported = std::collections::BTreeMap::<(i64, bool, String, String), (u32, u32)>::new();
        for run in 0..if long { 300 } else { 9 } {
            let length = [0.3, 1.0, 2.0][run % 3];
            fill_clustered(&connection, "trained", (*trained, 1.0), 0.0, &mut random);
            let model = fit(&connection, "trained", &options);
            for (queries, shift) in later.iter().flat_map(|queries| [(*queries, 0.0), (*queries, 0.7)]) {
                fill_clustered(&connection, "later", (queries, length), shift, &mut random);
                for (kind, name, _, status) in monitored(&connection, &model, "later") {
                    // A change must be an alert. Of `metric`, warnings have a probability of .02.
                    let is_alert = shift > 0.0 || kind == "metric";
                    let is_found = if is_alert { status == "alert" } else { status != "ok" };
                    let (rows, found) = reported.entry((queries, shift > 0.0, kind, name)).or_default();
                    (*rows, *found) = (*rows + 1, *found + u32::from(is_found));
                }
            }
        }
        let unchanged = reported.iter().filter(|((_, changed, ..), _)| !changed);
        let (rows, found) = unchanged.clone().fold((0, 0), |sum, (_, one)| (sum.0 + one.0, sum.1 + one.1));
        println!("{trained} training queries: {found} of {rows} rows without a change are reported");
        assert!(f64::from(found) <= 0.01 * f64::from(rows), "{found} of {rows}: {reported:?}");
        for ((queries, changed, kind, name), (rows, found)) in &reported {
            if *found > 0 && !changed {
                println!("  {queries} later queries: {kind} {name} {found} of {rows}");
                // .01 and three standard errors of a share.
                let limit = 0.01 * f64::from(*rows) + 3.0 * (0.01 * f64::from(*rows)).sqrt();
                assert!(f64::from(*found) <= limit.max(1.0), "{queries} {kind} {name}: {found} of {rows}");
            }
            let is_shifted = matches!(kind.as_str(), "drift" | "outside") && name == "free"
                || kind == "outside" && (name == "fixed" || name == "mixed")
                || kind == "metric";
            if *changed && is_shifted {
                // .9, and one row more: the metric of 20 short lists varies much.
                println!("  {queries} later queries, changed: {kind} {name} {found} of {rows}");
                assert!(
                    10 * (found + 1) >= 9 * rows || *trained < 100,
                    "{queries} {kind} {name}: {found} of {rows}"
                );
            }
        }
    }
}

/// The standard error of the validation, and the option `undefined` of the training.
#[test]
fn the_metric_has_the_reference_of_the_validation() {
    let connection = database();
    fill(&connection, "trained", 60, 0.0, &mut Random(5));
    // Queries without a relevant document.
    connection.execute_batch("UPDATE trained SET relevance = 0 WHERE query_id % 4 = 0").unwrap();
    let options = |undefined: &str, validation: Value| json!({ "lambda": [1, 0.1], "missing": "zero", "undefined": undefined, "validation": validation });
    let sql = "SELECT value, reference, threshold FROM ltr_monitor(?, 'trained') WHERE kind = 'metric'";
    let metric = |model: &[u8]| -> (f64, Option<f64>, Option<f64>) {
        connection.query_row(sql, [model], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap()
    };
    let source = json!("SELECT * FROM trained");
    let (skip, zero) = (
        metric(&fit(&connection, "trained", &options("skip", source.clone()))),
        metric(&fit(&connection, "trained", &options("zero", source))),
    );
    assert!((zero.0 - 0.75 * skip.0).abs() < 1e-12, "{skip:?} {zero:?}");
    // The validation source is the source: the same values, but for the tolerance of the fit.
    for (value, reference, threshold) in [skip, zero] {
        let (reference, threshold) = (reference.unwrap(), threshold.unwrap());
        assert!((value - reference).abs() < 0.01 && threshold < value, "{value} {reference} {threshold}");
    }
    // Parts of lists have other values than lists.
    let (_, reference, threshold) =
        metric(&fit(&connection, "trained", &options("skip", json!("documents"))));
    assert_eq!((reference, threshold), (None, None));
}

/// An empty source and columns that are gone are rows, so that a nightly job goes on.
#[test]
fn sources_that_cannot_be_ranked_are_reported() {
    let connection = database();
    fill(&connection, "trained", 30, 0.0, &mut Random(6));
    let linear = fit(&connection, "trained", &options());
    let vectors = "SELECT query_id, doc_id, relevance, ltr_vec(x, skewed) AS features FROM trained";
    let vectors = fit(&connection, vectors, &json!({ "lambda": 0.1 }));
    let alerts = |model: &[u8], source: &str| -> Vec<String> {
        let rows = monitored(&connection, model, source).into_iter();
        let alerts = rows.filter(|(.., status)| status == "alert");
        alerts.map(|(kind, name, value, _)| format!("{kind} {name} {value:?}")).collect()
    };
    assert_eq!(alerts(&linear, "SELECT * FROM trained WHERE 0"), ["rows  Some(0.0)"]);
    assert_eq!(alerts(&vectors, "SELECT query_id, doc_id FROM trained"), ["missing_column features None"]);
    let without = "SELECT relevance, x, skewed, rare, gap FROM trained";
    assert_eq!(alerts(&linear, without), ["missing_column query_id None", "missing_column doc_id None"]);
    assert_eq!(
        alerts(&linear, "SELECT query_id, doc_id, x, skewed, rare FROM trained"),
        ["missing_column gap None", "missing gap Some(1.0)"]
    );
}

#[test]
fn a_rare_value_that_becomes_frequent_is_an_alert() {
    let connection = database();
    fill(&connection, "trained", 60, 0.0, &mut Random(8));
    let with = |flag: &str, color: &str| {
        format!("SELECT query_id, doc_id, relevance, x, {flag} AS flag, {color} AS color FROM trained")
    };
    let colors = "iif(rowid % 150 = 1, NULL, substr('redtansky', 1 + 3 * (rowid % 3), 3))";
    let model = fit(&connection, &with("rowid % 300 = 1", colors), &json!({ "lambda": 0.1 }));
    let findings = |flag: &str, color: &str| -> Vec<String> {
        let rows = monitored(&connection, &model, &with(flag, color)).into_iter();
        rows.filter(|row| row.3 == "alert").map(|(kind, name, ..)| format!("{kind} {name}")).collect()
    };
    assert_eq!(findings("rowid % 290 = 1", colors), [""; 0]);
    assert_eq!(findings("rowid % 2", colors), ["drift flag"]);
    let missing = "iif(rowid % 2, NULL, substr('redtansky', 1 + 3 * (rowid % 3), 3))";
    assert!(findings("rowid % 290 = 1", missing).contains(&"drift color=(NULL)".to_owned()));
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

#[test]
fn a_column_without_values_is_an_alert_beside_a_single_query() {
    let connection = database();
    fill(&connection, "training", 40, 0.0, &mut Random(5));
    fill(&connection, "later", 1, 0.0, &mut Random(6));
    let model = fit(&connection, "training", &options());
    let source = "SELECT query_id, doc_id, NULL AS x, skewed, rare, gap FROM later";
    let rows = monitored(&connection, &model, source);
    let of = |feature: &str| rows.iter().find(|row| row.0 == "missing" && row.1 == feature).unwrap();
    assert_eq!(of("x").3, "alert", "{rows:?}");
    assert_eq!(of("gap").3, "ok", "{rows:?}");
}
