//! The Rust API as a user sees it. Runs with and without the feature `sqlite`.

use ndarray::{Array2, array};
use sqlite_ltr::{
    Control, Dataset, Document, Error, FoldScore, Id, Model, RankOptions, RecommendOptions, Trainer,
};

/// Value of a feature: whole numbers that repeat late.
fn value(row: usize, column: usize) -> f64 {
    ((row * 37 + column * 53 + row * row) % 101) as f64
}

fn grade(row: usize) -> f64 {
    ((value(row, 0) + value(row, 1)) / 70.0).floor()
}

const ROWS: usize = 120;

fn features() -> Array2<f64> {
    Array2::from_shape_fn((ROWS, 3), |(row, column)| value(row, column))
}

fn query(row: usize) -> i64 {
    (row / 8) as i64
}

/// Fifteen queries of eight documents, with two query features.
fn judged() -> Dataset {
    let grades: Vec<f64> = (0..ROWS).map(grade).collect();
    let of_query = Array2::from_shape_fn((ROWS, 2), |(row, column)| value(row / 8, column + 5));
    Dataset::from_arrays(features(), (0..ROWS).map(query), &grades)
        .and_then(|data| data.with_feature_names(["a", "b", "c"]))
        .and_then(|data| data.with_doc_ids((0..ROWS).map(|row| row as i64)))
        .and_then(|data| data.with_query_features(["q_x", "q_y"], of_query))
        .unwrap()
}

#[test]
fn rows_and_arrays_give_the_same_model() {
    let grades: Vec<f64> = (0..ROWS).map(grade).collect();
    let names = ["a", "b", "c"];
    let arrays = Dataset::from_arrays(features(), (0..ROWS).map(query), &grades).unwrap();
    let arrays = arrays.with_feature_names(names).unwrap();
    let row = |row: usize| {
        let features = (0..3).map(|column| value(row, column)).collect();
        Document::new(query(row), features).relevance(grade(row))
    };
    // The order of rows has no influence.
    let rows = Dataset::from_rows(names, (0..ROWS).rev().map(row)).unwrap();
    let trainer = Trainer::new("rank_svm").option("lambda", 0.01);
    assert_eq!(trainer.fit(&arrays).unwrap().to_bytes(), trainer.fit(&rows).unwrap().to_bytes());
}

/// Rules 2.16 and 2.17 hold for data sets, too.
#[test]
fn every_part_has_a_usage() {
    let weights: Vec<f64> = (0..ROWS).map(|row| 1.0 + (row % 2) as f64).collect();
    let kinds = (0..ROWS).map(|row| ["new", "old"][row % 2]);
    let data = judged().with_doc_weights(&weights).unwrap().with_category("kind", kinds).unwrap();
    let data = data.with_groups((0..ROWS).map(|row| (row % 3) as i64)).unwrap();
    for (algorithm, is_unused) in [("rank_svm", true), ("q_svm", false)] {
        let trained = Trainer::new(algorithm).option("lambda", 0.1).fit(&data).unwrap();
        let usages = trained.columns().unwrap().as_array().unwrap();
        let listed: Vec<(&str, &str)> = usages
            .iter()
            .map(|column| (column["name"].as_str().unwrap(), column["usage"].as_str().unwrap()))
            .collect();
        let roles = ["query_ids", "doc_ids", "relevance", "doc_weights"].map(|name| (name, "role"));
        let features = ["a", "b", "c"].map(|name| (name, "feature"));
        let query_features = ["q_x", "q_y"].map(|name| (name, "role"));
        let parts =
            [&roles[..], &[("groups", "left_out")], &features, &[("kind", "category")], &query_features];
        assert_eq!(listed, parts.concat());
        assert_eq!(usages[5]["facts"]["missing"], 0);
        let warned =
            trained.warnings().iter().any(|warning| warning.contains("does not use the query features"));
        assert_eq!(warned, is_unused, "{:?}", trained.warnings());
        assert!(Model::from_bytes(&trained.to_bytes()).unwrap().columns().is_none());
    }
}

#[test]
fn every_row_is_ranked_under_its_number() {
    let data = judged();
    let model = Trainer::new("q_svm").option("lambda", 0.01).option("neighbors", 5).fit(&data).unwrap();
    let ranked = model.rank(&data).unwrap();
    let mut rows: Vec<usize> = ranked.iter().map(|ranked| ranked.row).collect();
    for ranked in &ranked {
        assert_eq!(ranked.query_id, Id::from(query(ranked.row)));
        assert_eq!(ranked.doc_id, Id::from(ranked.row as i64));
    }
    for pair in ranked.windows(2).filter(|pair| pair[0].query_id == pair[1].query_id) {
        assert!(pair[0].score >= pair[1].score && pair[0].rank + 1 == pair[1].rank);
    }
    rows.sort_unstable();
    assert!(rows.into_iter().eq(0..ROWS));
    let read = Model::from_bytes(&model.to_bytes()).unwrap();
    assert_eq!(read.rank(&data).unwrap(), ranked);
    let one = RankOptions { threads: Some(1), ..RankOptions::default() };
    assert_eq!(read.rank_with(&data, &one).unwrap(), ranked);
}

#[test]
fn single_precision_is_known_by_position() {
    let grades: Vec<f64> = (0..ROWS).map(grade).collect();
    let single = features().mapv(|value| value as f32);
    let data = Dataset::from_arrays(single, (0..ROWS).map(query), &grades).unwrap();
    let model = Trainer::new("list_net").option("lambda", 0.01).fit(&data).unwrap();
    let info = model.info();
    assert_eq!(info.features, ["1", "2", "3"]);
    assert_eq!(info.training["feature_type"], "f32");
    let means = model.evaluate(&data, &["ndcg@5"]).unwrap().means;
    assert!(means[0].unwrap() > 0.8, "{means:?}");
    let narrow = Dataset::unjudged(array![[1.0_f32, 2.0]], [1]).unwrap();
    assert_eq!(model.rank(&narrow).unwrap_err().to_string(), "features: found 2, expected 3");
}

#[test]
fn users_and_items_need_no_features() {
    let pairs = || (0..12).flat_map(|user| (0..10).map(move |item| (user, item)));
    let ratings: Vec<f64> = pairs().map(|(user, item)| f64::from((user * item) % 5)).collect();
    let data =
        Dataset::from_ratings(pairs().map(|pair| pair.0), pairs().map(|pair| pair.1), &ratings).unwrap();
    let model = Trainer::new("cofi_rank").option("lambda", 1.0).option("factors", 2).fit(&data).unwrap();
    assert_eq!(model.rank(&data).unwrap().len(), ratings.len());
    assert!(matches!(model.score(&[], None), Err(Error::NotPointwise(_))));
}

#[test]
fn missing_values_follow_the_option() {
    let mut values = features();
    values[[3, 1]] = f64::NAN;
    let grades: Vec<f64> = (0..ROWS).map(grade).collect();
    let data = Dataset::from_arrays(values, (0..ROWS).map(query), &grades).unwrap();
    let data = data.with_feature_names(["a", "b", "c"]).unwrap();
    let trainer = Trainer::new("rank_svm").option("lambda", 0.1);
    let refused = trainer.fit(&data).unwrap_err().to_string();
    assert!(refused.contains("column \"b\"") && refused.contains("\"missing\""), "{refused}");
    assert!(trainer.option("missing", "mean").fit(&data).unwrap().rank(&data).is_ok());
}

/// The scaling `max_norm` divides all documents by the largest norm of the training, also new ones.
#[test]
fn documents_are_divided_by_the_largest_norm() {
    let largest = features().rows().into_iter().map(|x| x.dot(&x).sqrt()).fold(0.0, f64::max);
    let grades: Vec<f64> = (0..ROWS).map(grade).collect();
    let divided = Dataset::from_arrays(features() / largest, (0..ROWS).map(query), &grades).unwrap();
    let fit = |scale: &str, data: &Dataset| {
        Trainer::new("regression").option("scale", scale).option("lambda", 0.1).fit(data).unwrap()
    };
    let (scaled, plain) = (fit("max_norm", &judged()), fit("none", &divided));
    for (scaled, plain) in scaled.weights(None).unwrap().iter().zip(plain.weights(None).unwrap()) {
        assert!((scaled.weight - plain.weight).abs() <= 1e-9 * plain.weight.abs(), "{scaled:?} {plain:?}");
        assert!((scaled.scale.unwrap() - largest).abs() <= 1e-12 * largest && scaled.center == Some(0.0));
    }
}

/// A factor of 0 would make all documents equal.
#[test]
fn documents_without_a_usable_length_are_refused() {
    let fit = |value: f64| {
        let data = Dataset::from_arrays(array![[0.0], [value]], [1, 1], &[0.0, 1.0]).unwrap();
        Trainer::new("regression").option("scale", "max_norm").option("lambda", 0.1).fit(&data)
    };
    for (value, problem) in [(1e308, "too large"), (1e-160, "too small"), (1e-310, "too small")] {
        let error = fit(value).unwrap_err().to_string();
        assert!(error.contains(problem) && error.contains("max_norm"), "{value:e}: {error}");
    }
    assert!(fit(1e100).is_ok() && fit(0.0).is_ok());
}

/// Rule 2.15: weights have the same range as in SQL.
#[test]
fn weights_and_names_have_the_limits_of_sql() {
    let data = Dataset::from_arrays(array![[0.0, 2.0], [1.0, 1.0]], [1, 1], &[0.0, 1.0]).unwrap();
    assert!(data.clone().with_doc_weights(&[0.0, 1e100]).is_ok());
    let error = data.clone().with_doc_weights(&[1.0, 1.1e100]).unwrap_err().to_string();
    assert!(error.ends_with("expected numbers from 0 to 1e100"), "{error}");
    assert!(data.clone().with_weights(&[1.1e100; 2]).is_err());
    let error = data.with_feature_names(["a", "A"]).unwrap_err().to_string();
    assert!(error.contains("'A' twice"), "{error}");
}

/// A later choice of the prior replaces an earlier one, whether it is a model or a word.
#[test]
fn the_last_prior_counts() {
    let data = judged();
    let trainer = Trainer::new("rank_svm").option("lambda", 0.1);
    let model = trainer.fit(&data).unwrap();
    let weights = |trainer: Trainer| trainer.fit(&data).unwrap().weights(None).unwrap()[0].weight;
    let (plain, moved) = (weights(trainer.clone()), weights(trainer.clone().prior(&model)));
    assert!((plain - moved).abs() > 1e-6);
    let zero = |trainer: Trainer| trainer.option("prior", "zero");
    assert!((weights(zero(trainer.clone().prior(&model))) - plain).abs() < 1e-12);
    assert!((weights(zero(trainer.clone()).prior(&model)) - moved).abs() < 1e-12);
    let error = trainer.prior(&model).option("prior", "@the model of the caller").fit(&data).unwrap_err();
    assert!(error.to_string().contains("Trainer::prior"), "{error}");
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let data = judged();
    let message = |key: &str, value: serde_json::Value| {
        Trainer::new("rank_svm").option(key, value).fit(&data).unwrap_err().to_string()
    };
    assert!(message("neighbours", 3.into()).contains("did you mean 'neighbors'"));
    assert!(message("lambda", f64::NAN.into()).starts_with("option 'lambda': got null"));
    assert_eq!(message("schema", "temp".into()), "option 'schema' has a meaning in SQL only");
    assert!(message("validation", "SELECT 1".into()).contains("fit_with_validation"));
    let model = Trainer::new("rank_svm").option("lambda", 0.1).fit(&data).unwrap();
    let other = Dataset::unjudged(array![[1.0, 2.0]], [1]).unwrap().with_feature_names(["a", "c"]).unwrap();
    assert_eq!(
        model.rank(&other).unwrap_err().to_string(),
        "the data set does not have features of the model: b"
    );
    assert!(matches!(Dataset::unjudged(array![[f64::INFINITY]], [1]), Err(Error::Value { .. })));
    assert!(matches!(model.evaluate(&other, &["ndcg"]), Err(Error::Data(_))));
}

#[test]
fn limits_end_the_work() {
    let data = judged();
    let trainer = Trainer::new("q_svm").option("tolerance", 1e-12);
    let control = Control::new();
    control.cancel();
    assert_eq!(trainer.clone().control(&control).fit(&data).unwrap_err(), Error::Interrupted);
    let canceled = RankOptions { control, ..RankOptions::default() };
    let model =
        Trainer::new("q_svm").option("lambda", 0.1).option("fit_at", "query_time").fit(&data).unwrap();
    assert_eq!(model.rank_with(&data, &canceled).unwrap_err(), Error::Interrupted);
}

/// Whether this test program contains functions of SQLite.
fn contains_sqlite() -> bool {
    let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    // From the last part to the first, or the texts of this function could be found, which may be adjacent.
    let name: String = ["_prepare_v", "sqlite3"].into_iter().rev().collect();
    program.windows(name.len()).any(|bytes| bytes == name.as_bytes())
}

#[cfg(not(feature = "sqlite"))]
#[test]
fn no_sqlite_is_linked() {
    assert!(!contains_sqlite());
}

#[cfg(feature = "sqlite")]
#[test]
fn models_equal_the_models_of_sql() {
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    sqlite_ltr::register(&connection).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE judged(query_id, doc_id, relevance, a REAL, b REAL, c REAL, q_x REAL, q_y REAL)",
        )
        .unwrap();
    for row in 0..ROWS {
        let (id, of_query) = (row as i64, [value(row / 8, 5), value(row / 8, 6)]);
        let [a, b, c] = [0, 1, 2].map(|column| value(row, column));
        let values = (query(row), id, grade(row), a, b, c, of_query[0], of_query[1]);
        connection.execute("INSERT INTO judged VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values).unwrap();
    }
    let data = judged();
    for (algorithm, key, number) in
        [("q_svm", "neighbors", 5), ("list_mle", "seed", 3), ("perceptron", "epochs", 2)]
    {
        let options = format!("{{\"{key}\": {number}}}");
        let sql = "SELECT ltr_fit(?, 'judged', ?)";
        let bytes: Vec<u8> = connection.query_row(sql, (algorithm, &options), |row| row.get(0)).unwrap();
        let model = Trainer::new(algorithm).option(key, number).fit(&data).unwrap();
        // Only a training in SQL has columns of a source to remember.
        let mut stored = sqlite_ltr::internals::model::Model::from_bytes(&bytes).unwrap();
        assert_eq!(stored.card.columns.of("doc"), Some("doc_id"), "{algorithm}");
        stored.card.columns = sqlite_ltr::internals::model::TrainingColumns::default();
        assert!(stored.to_bytes().unwrap() == model.to_bytes(), "{algorithm}");
        let sql = "SELECT doc_id, score FROM ltr_rank(?, 'judged') ORDER BY query_id, rank";
        let mut statement = connection.prepare(sql).unwrap();
        let rows = statement.query_map([&bytes], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let ranked: Vec<(i64, f64)> = rows.map(Result::unwrap).collect();
        let own: Vec<(i64, f64)> =
            model.rank(&data).unwrap().iter().map(|ranked| (ranked.row as i64, ranked.score)).collect();
        assert_eq!(own, ranked, "{algorithm}");
    }
    let options = r#"{"neighbors": [3, 8], "lambda": [1.0, 0.01], "folds": 3}"#;
    let sql = "SELECT json(setting), fold, value FROM ltr_cross_validate('q_svm', 'judged', ?)";
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([options], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    let rows: Vec<(String, i64, Option<f64>)> = rows.map(Result::unwrap).collect();
    let trainer =
        Trainer::new("q_svm").option("neighbors", [3, 8]).option("lambda", [1.0, 0.01]).option("folds", 3);
    let scores = trainer.cross_validate(&data).unwrap();
    let own: Vec<_> =
        scores.iter().map(|score| (score.setting.clone(), score.fold as i64, score.value)).collect();
    let rows: Vec<_> = rows
        .into_iter()
        .map(|(setting, fold, value)| (setting.parse::<serde_json::Value>().unwrap(), fold, value))
        .collect();
    assert!(own.len() == 12 && own == rows, "{own:?}, {rows:?}");
    assert!(contains_sqlite());
}

#[test]
fn the_best_value_of_an_array_is_trained() {
    let data = judged();
    let trainer = Trainer::new("rank_svm").option("kernel", ["linear", "gaussian"]).option("folds", 3);
    let model = trainer.option("lambda", [10.0, 0.1]).fit(&data).unwrap();
    let plain = ["linear", "gaussian"].iter().flat_map(|kernel| {
        [10.0, 0.1].map(|lambda| Trainer::new("rank_svm").option("kernel", *kernel).option("lambda", lambda))
    });
    // Training alone gives the same function. The model also has the cross-validated value.
    let ranking = model.rank(&data).unwrap();
    let equal = plain.filter(|plain| plain.fit(&data).unwrap().rank(&data).unwrap() == ranking);
    assert_eq!(equal.count(), 1);
    assert!(model.info().training["validation"]["best"].is_number());
    let error = Trainer::new("rank_svm").option("split_by", "day").fit(&data).unwrap_err();
    assert_eq!(error.to_string(), "option 'split_by': columns are for SQL; use Dataset::with_split_by");
}

/// Ratings of two tastes: users like items of their parity.
fn ratings() -> Dataset {
    let rated: Vec<(i64, i64)> = (0..12)
        .flat_map(|user| (0..9).map(move |item| (user, item)))
        .filter(|(u, i)| (u * 5 + i * 3) % 4 > 0)
        .collect();
    let rating = |&(user, item): &(i64, i64)| {
        f64::from(u8::from((user + item) % 2 == 0)) * 3.0 + (user * item % 2) as f64
    };
    let values: Vec<f64> = rated.iter().map(rating).collect();
    Dataset::from_ratings(rated.iter().map(|(user, _)| *user), rated.iter().map(|(_, item)| *item), &values)
        .unwrap()
}

#[test]
fn recommendations_are_the_best_items_of_the_ranking() {
    let data = ratings();
    let model = Trainer::new("cofi_rank").option("factors", 2).option("lambda", 0.5).fit(&data).unwrap();
    let options = RecommendOptions { k: 100, include_seen: true, ..RecommendOptions::default() };
    let all = Dataset::from_ratings([3; 9], 0..9, &[0.0; 9]).unwrap();
    let ranked: Vec<(Id, f64)> =
        model.rank(&all).unwrap().into_iter().map(|ranked| (ranked.doc_id, ranked.score)).collect();
    let best = model.recommend(3, &options).unwrap();
    assert!(best.iter().zip(1..).all(|(item, rank)| item.rank == rank && !item.new_user));
    assert_eq!(best.into_iter().map(|item| (item.doc_id, item.score)).collect::<Vec<_>>(), ranked);
    // Rated items, other candidates, and a user of ratings.
    let seen: Vec<Id> = (0..9).filter(|item| (15 + item * 3) % 4 > 0).map(Id::from).collect();
    let unseen = model.recommend(3, &RecommendOptions::default()).unwrap();
    assert!(unseen.len() + seen.len() == 9 && unseen.iter().all(|item| !seen.contains(&item.doc_id)));
    let among = RecommendOptions { candidates: Some(vec![8.into(), 0.into(), 99.into()]), ..options.clone() };
    assert_eq!(model.recommend(3, &among).unwrap().len(), 2);
    let given = [(0.into(), 5.0), (1.into(), 1.0), (2.into(), 5.0), (3.into(), 1.0)];
    let given = RecommendOptions { k: 1, ratings: Some(given.to_vec()), ..RecommendOptions::default() };
    let first = &model.recommend("anybody", &given).unwrap()[0];
    assert!([4, 6, 8].map(Id::from).contains(&first.doc_id) && !first.new_user);
}

#[test]
fn an_id_of_another_type_is_not_a_new_user() {
    let model = Trainer::new("cofi_rank").option("factors", 2).option("lambda", 0.5).fit(&ratings()).unwrap();
    let options = RecommendOptions::default();
    assert!(model.recommend(1000, &options).unwrap().iter().all(|item| item.new_user));
    let problem =
        |user: Id, options: &RecommendOptions| model.recommend(user, options).unwrap_err().to_string();
    assert_eq!(
        problem("3".into(), &options),
        "user: got '3' (TEXT), expected the id as in the training data, 3 (INTEGER)"
    );
    assert!(problem("bob".into(), &options).contains("such as 0 (INTEGER)"));
    let among = RecommendOptions { candidates: Some(vec!["4".into()]), ..options.clone() };
    assert!(problem(3.into(), &among).starts_with("candidates: got '4' (TEXT)"));
    let twice = RecommendOptions { ratings: Some(vec![(1.into(), 1.0), (1.into(), 2.0)]), ..options };
    assert_eq!(problem(3.into(), &twice), "ratings: item 1 appears twice");
    let linear = Trainer::new("rank_svm").option("lambda", 0.01).fit(&judged()).unwrap();
    assert!(matches!(linear.recommend(1, &RecommendOptions::default()), Err(Error::Unsupported(_))));
}

/// The setting with the best mean over the folds is the one that a training with the same arrays takes.
#[test]
fn cross_validation_has_the_values_of_the_training_that_chooses() {
    let data = judged();
    let trainer = Trainer::new("rank_svm").option("folds", 3).option("kernel", ["linear", "gaussian"]);
    let trainer = trainer.option("lambda", [0.1, 0.001]);
    let scores = trainer.cross_validate(&data).unwrap();
    assert_eq!(scores.len(), 4 * 3);
    let mean = |of_setting: &&[FoldScore]| {
        assert!(of_setting.iter().all(|score| score.setting == of_setting[0].setting));
        of_setting.iter().map(|score| score.value.unwrap()).sum::<f64>()
    };
    let best = scores.chunks(3).max_by(|a, b| mean(a).total_cmp(&mean(b))).unwrap();
    let options = best[0].setting.as_object().unwrap();
    let alone = options
        .iter()
        .fold(Trainer::new("rank_svm"), |trainer, (key, value)| trainer.option(key, value.clone()));
    let (model, alone) = (trainer.fit(&data).unwrap(), alone.fit(&data).unwrap());
    assert!(options.len() == 2 && model.rank(&data).unwrap() == alone.rank(&data).unwrap());
    let table = model.search().unwrap();
    assert_eq!(model.info().training["validation"]["best"], table["value"]);
    assert!((table["value"].as_f64().unwrap() - mean(&best) / 3.0).abs() < 1e-12, "{table}");
    assert!(alone.search().is_none());
    assert!(scores.iter().all(|score| (1..=3).contains(&score.fold) && score.metric == "ndcg@10"));
    // Without an array there is one setting.
    assert_eq!(Trainer::new("rank_svm").cross_validate(&data).unwrap().len(), 5);
    let few = Trainer::new("rank_svm").option("folds", 50).cross_validate(&data).unwrap_err();
    assert!(few.to_string().contains("too few for 50 folds"), "{few}");
    let split = Trainer::new("rank_svm").option("group_by", "day").cross_validate(&data).unwrap_err();
    assert!(split.to_string().contains("Dataset::with_group_by"), "{split}");
}

/// Rule 2.24.
#[test]
fn every_answer_reports_columns_with_unknown_values() {
    let shop = |kinds: [&str; 2]| {
        let kinds = (0..ROWS).map(|row| kinds[row % 2]);
        judged().with_category("kind", kinds).unwrap()
    };
    let (known, unknown) = (shop(["book", "game"]), shop(["Book", "Game"]));
    let model = Trainer::new("rank_svm").option("lambda", 1).fit(&known).unwrap();
    let count = |warnings: &[String]| warnings.iter().filter(|line| line.contains("'Book'")).count();
    for (data, expected) in [(&known, 0), (&unknown, 1)] {
        assert_eq!(count(&model.rank(data).unwrap().warnings), expected);
        assert_eq!(count(&model.evaluate(data, &["map"]).unwrap().warnings), expected);
        assert_eq!(count(&model.importance(data, &["map"]).unwrap().warnings), expected);
        assert_eq!(count(&model.explain_row(data, 3).unwrap().warnings), expected);
        assert_eq!(count(&model.explain_rank(data, 3, 4).unwrap().warnings), expected);
    }
}
