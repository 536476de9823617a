//! Small random data.

use ndarray::Array2;
use sqlite_ltr::Dataset;
use sqlite_ltr::internals::math::random::Random;

pub const QUERIES: usize = 10;
const DOCUMENTS: usize = 6;
const FEATURES: usize = 4;

/// One query.
#[derive(Debug, Clone)]
pub struct Query {
    /// The query's documents, by id.
    pub documents: Vec<Vec<f64>>,
    pub grades: Vec<f64>,
    /// Two query features.
    pub features: Vec<f64>,
}

/// The next numbers in -1..1.
pub fn numbers(random: &mut Random, n: usize) -> Vec<f64> {
    (0..n).map(|_| random.symmetric()).collect()
}

/// Documents whose grades 0 to 3 follow the features roughly, and otherwise by query.
pub fn judged() -> Vec<Query> {
    let mut random = Random::new(14);
    let query = |_| {
        let features = numbers(&mut random, 2);
        let documents: Vec<Vec<f64>> = (0..DOCUMENTS).map(|_| numbers(&mut random, FEATURES)).collect();
        let grade = |x: &Vec<f64>| {
            let truth = 1.5 * x[0] - x[1] + 2.0 * features[0] * x[2] + 0.7 * random.symmetric();
            // -0.0 becomes 0.0.
            (1.5 + truth).round().clamp(0.0, 3.0) + 0.0
        };
        let grades = documents.iter().map(grade).collect();
        Query { documents, grades, features }
    };
    (0..QUERIES).map(query).collect()
}

/// Queries of 3 documents at 3 slots: row 3 i + j is document i at slot j, and belongs there if i = j.
pub fn pages() -> Vec<Query> {
    let mut random = Random::new(41);
    let query = |_| {
        let documents: Vec<Vec<f64>> = (0..9)
            .map(|row| {
                let mut x = numbers(&mut random, FEATURES);
                x[0] += if row % 4 == 0 { 0.5 } else { 0.0 };
                x
            })
            .collect();
        let grades = (0..9).map(|row| if row % 4 == 0 { 1.0 } else { 0.0 }).collect();
        Query { documents, grades, features: vec![0.0; 2] }
    };
    (0..QUERIES).map(query).collect()
}

fn rows(queries: &[Query]) -> (Array2<f64>, Vec<i64>, Vec<f64>) {
    let documents: Vec<&Vec<f64>> = queries.iter().flat_map(|query| &query.documents).collect();
    let features = documents.iter().flat_map(|x| x.iter().copied()).collect();
    let features = Array2::from_shape_vec((documents.len(), documents[0].len()), features).unwrap();
    let ids = (0_i64..).zip(queries).flat_map(|(id, query)| vec![id; query.grades.len()]).collect();
    (features, ids, queries.iter().flat_map(|query| query.grades.clone()).collect())
}

/// The queries as a data set with query features.
pub fn dataset(queries: &[Query]) -> Dataset {
    let (features, ids, grades) = rows(queries);
    let documents = queries.iter().flat_map(|query| 0..query.grades.len() as i64);
    let of_query: Vec<f64> =
        queries.iter().flat_map(|query| query.features.repeat(query.grades.len())).collect();
    let of_query = Array2::from_shape_vec((grades.len(), 2), of_query).unwrap();
    let data = Dataset::from_arrays(features, ids, &grades).unwrap().with_doc_ids(documents).unwrap();
    data.with_query_features(["a", "b"], of_query).unwrap()
}

/// Pages as a data set with slots.
pub fn slots(queries: &[Query]) -> Dataset {
    let (features, ids, grades) = rows(queries);
    let number = |divide: fn(i64) -> i64| queries.iter().flat_map(move |_| (0..9_i64).map(divide));
    let data = Dataset::from_arrays(features, ids, &grades).unwrap();
    data.with_doc_ids(number(|row| row / 3)).unwrap().with_groups(number(|row| row % 3)).unwrap()
}
