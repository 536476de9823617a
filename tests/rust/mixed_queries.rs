//! Queries whose features are numbers, categories and orders of items: the product kernel against one Euclidean distance of
//! the same features as numbers (one column per category, the position of each item). Runs without SQL. With LTR_LONG=1 ten
//! seeds instead of one.

use ndarray::Array2;
use sqlite_ltr::internals::math::random::Random;
use sqlite_ltr::{Dataset, Id, Model, QueryValue, Trainer};

const QUERIES: usize = 300;
const DOCUMENTS: usize = 20;
/// Numbers of values of the two categories, and of items.
const CATEGORIES: [usize; 2] = [20, 12];
const ITEMS: usize = 5;
/// Document features: one per item, and three more.
const FEATURES: usize = ITEMS + 3;

/// Nearly normal with mean 0 and variance 1: the sum of twelve uniform numbers.
fn normal(random: &mut Random) -> f64 {
    (0..12).map(|_| 0.5 * (random.symmetric() + 1.0)).sum::<f64>() - 6.0
}

fn vector(random: &mut Random) -> Vec<f64> {
    (0..FEATURES).map(|_| normal(random)).collect()
}

fn below(random: &mut Random, n: usize) -> usize {
    (random.bits() % n as u64) as usize
}

/// Whether the query features decide what is relevant.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Ranking {
    ByQueryFeatures,
    TheSameForAll,
}

/// A data set with mixed query features, and the same with numbers.
struct Simulated {
    mixed: Dataset,
    numbers: Dataset,
}

/// Training and test queries of one simulated market.
fn simulated(seed: u64, ranking: Ranking) -> [Simulated; 2] {
    let random = &mut Random::new(seed);
    let effects = CATEGORIES.map(|values| (0..values).map(|_| vector(random)).collect::<Vec<_>>());
    let common = vector(random);
    [0, QUERIES].map(|first| {
        let (mut features, mut grades, mut mixed, mut numbers) = (vec![], vec![], vec![], vec![]);
        for _ in 0..QUERIES {
            // 1. The features of the query.
            let categories = CATEGORIES.map(|values| below(random, values));
            let mut order: Vec<usize> = (0..ITEMS).collect();
            (1..ITEMS).rev().for_each(|item| order.swap(item, below(random, item + 1)));
            // 2. The weights of the document features.
            let mut weights = common.clone();
            if ranking == Ranking::ByQueryFeatures {
                for (feature, weight) in weights.iter_mut().enumerate() {
                    *weight = effects[0][categories[0]][feature] + effects[1][categories[1]][feature];
                }
                for (position, item) in order.iter().enumerate() {
                    weights[*item] += 2.0 - position as f64;
                }
            }
            let length = weights.iter().map(|weight| weight * weight).sum::<f64>().sqrt();
            // 3. Documents, and the same query features for each of them.
            for _ in 0..DOCUMENTS {
                let document = vector(random);
                let score: f64 = document.iter().zip(&weights).map(|(x, w)| x * w / length).sum();
                let noisy = score + 0.5 * normal(random);
                grades.push([-0.7, 0.2, 0.9, 1.5].iter().filter(|bound| noisy > **bound).count() as f64);
                features.extend(document);
                mixed.extend(categories.map(|category| QueryValue::from(format!("value {category}"))));
                mixed.push(QueryValue::order(order.iter().map(|item| format!("item {item}"))));
                for (values, category) in CATEGORIES.into_iter().zip(categories) {
                    numbers.extend((0..values).map(|value| f64::from(u8::from(value == category))));
                }
                let position = |item: usize| order.iter().position(|other| *other == item).unwrap() as f64;
                numbers.extend((0..ITEMS).map(position));
            }
        }
        let rows = QUERIES * DOCUMENTS;
        let data = Dataset::from_arrays(
            Array2::from_shape_vec((rows, FEATURES), features).unwrap(),
            (0..rows).map(|row| Id::from((first + row / DOCUMENTS) as i64)),
            &grades,
        )
        .unwrap();
        let columns = numbers.len() / rows;
        let names = (0..columns).map(|column| format!("q_{column}"));
        let numbers = Array2::from_shape_vec((rows, columns), numbers).unwrap();
        let mixed = Array2::from_shape_vec((rows, 3), mixed).unwrap();
        Simulated {
            mixed: data.clone().with_query_features(["q_category", "q_segment", "q_order"], mixed).unwrap(),
            numbers: data.with_query_features(names, numbers).unwrap(),
        }
    })
}

/// The mis-ranking error of each test query.
fn errors(train: &Dataset, test: &Dataset) -> Vec<f64> {
    let lambdas = vec![1.0, 0.1, 0.01];
    let trainer = Trainer::new("q_svm").option("neighbors", 15).option("prior", "zero");
    let model = trainer.option("lambda", lambdas).fit(train).unwrap();
    let values = model.evaluate(test, &["mre"]).unwrap().values;
    values.into_iter().map(|values| values[0].unwrap()).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Whether ten seeds are asked for.
fn is_long() -> bool {
    crate::is_long()
}

/// Mean and standard error of the errors with mixed query features, less those with numbers, over all test queries.
fn difference(ranking: Ranking) -> (f64, f64) {
    let seeds = if is_long() { 10 } else { 1 };
    let mut differences = Vec::new();
    for seed in 1..=seeds {
        let [train, test] = simulated(seed, ranking);
        let (mixed, numbers) = (errors(&train.mixed, &test.mixed), errors(&train.numbers, &test.numbers));
        println!("{ranking:?} {seed}: {:.4} and {:.4} with numbers", mean(&mixed), mean(&numbers));
        differences.extend(mixed.iter().zip(&numbers).map(|(a, b)| a - b));
    }
    let (n, center) = (differences.len() as f64, mean(&differences));
    let variance = differences.iter().map(|x| (x - center) * (x - center)).sum::<f64>() / (n - 1.0);
    println!("{ranking:?}: difference {center:.4}, standard error {:.4}", (variance / n).sqrt());
    (center, (variance / n).sqrt())
}

#[test]
fn the_product_kernel_wins_where_categories_and_orders_decide() {
    let (difference, deviation) = difference(Ranking::ByQueryFeatures);
    assert!(difference <= -0.05, "{difference} ({deviation})");
}

/// Over ten seeds it loses nothing, within the standard error. Single seeds vary by .004.
#[test]
fn the_product_kernel_loses_nothing_where_they_say_nothing() {
    let (difference, deviation) = difference(Ranking::TheSameForAll);
    let most = if is_long() { deviation } else { 0.005 };
    assert!(difference <= most, "{difference} ({deviation})");
}

/// Two kinds of queries, known by a text: relevance grows with the feature, or falls.
fn two_kinds(queries: std::ops::Range<i64>) -> Dataset {
    let rows: Vec<(i64, f64)> =
        queries.flat_map(|query| (0..6).map(move |document| (query, f64::from(document)))).collect();
    let grade = |(query, x): &(i64, f64)| if query % 2 == 0 { *x } else { 5.0 - x };
    let grades: Vec<f64> = rows.iter().map(grade).collect();
    let features = Array2::from_shape_fn((rows.len(), 1), |(row, _)| rows[row].1);
    let kinds = Array2::from_shape_fn((rows.len(), 2), |(row, column)| match (column, rows[row].0 % 2) {
        (0, 0) => QueryValue::from("cheap"),
        (0, _) => QueryValue::from("noble"),
        (_, 0) => QueryValue::order(["price", "brand"]),
        _ => QueryValue::order(["brand", "price"]),
    });
    Dataset::from_arrays(features, rows.iter().map(|row| row.0), &grades)
        .unwrap()
        .with_query_features(["q_kind", "q_taste"], kinds)
        .unwrap()
}

#[test]
fn more_items_than_allowed_are_the_fault_of_the_feature() {
    let rows = 0..600_i64;
    let grades: Vec<f64> = rows.clone().map(|row| (row % 2) as f64).collect();
    let features = Array2::from_shape_fn((600, 1), |(row, _)| grades[row]);
    let orders = Array2::from_shape_fn((600, 1), |(row, _)| QueryValue::order([format!("item {}", row / 2)]));
    let data = Dataset::from_arrays(features, rows.map(|row| row / 2), &grades).unwrap();
    let data = data.with_query_features(["q_taste"], orders).unwrap();
    let problem = Trainer::new("q_svm").fit(&data).unwrap_err().to_string();
    let expected =
        "query feature \"q_taste\" has orders with more than 256 different items; leave out rare ones";
    assert!(problem.contains(expected) && !problem.contains("query 0"), "{problem}");
}

#[test]
fn mixed_query_features_train_store_score_and_rank() {
    let model = Trainer::new("q_svm").option("lambda", 0.01).fit(&two_kinds(0..12)).unwrap();
    let model = Model::from_bytes(&model.to_bytes()).unwrap();
    let means = model.evaluate(&two_kinds(100..104), &["mre"]).unwrap().means;
    assert_eq!(means, [Some(0.0)]);
    for (kind, taste, sign) in [("cheap", ["price", "brand"], 1.0), ("noble", ["brand", "price"], -1.0)] {
        let query = [QueryValue::from(kind), QueryValue::order(taste)];
        let difference =
            model.score(&[4.0], Some(&query)).unwrap() - model.score(&[1.0], Some(&query)).unwrap();
        assert!(sign * difference > 0.0, "{kind}");
    }
    let problem = model.score(&[4.0], Some(&[1.0.into(), "cheap".into()])).unwrap_err().to_string();
    assert!(problem.contains("\"q_taste\" is text 'cheap'"), "{problem}");
}
