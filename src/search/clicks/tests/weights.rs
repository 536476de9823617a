//! Laws of weighted clicks, for each model.

use super::users::Users;
use crate::base::Memory;
use crate::data::Id;
use crate::search::clicks::*;

/// The document whose rows have a twin, and the twin.
const TWINS: [i64; 2] = [0, 99];

/// Rows with clicks of these weights, in which each list of query 0 occurs twice: with a document, and with its twin.
fn twins(users: &mut Users, model: &str, weights: [f64; 3]) -> Vec<LogRow> {
    let mut rows = users.rows(model, 80);
    for (number, row) in rows.iter_mut().enumerate() {
        row.weight *= weights[number * 7 % 3];
    }
    let twin = |row: &LogRow| {
        let Id::Integer(impression) = row.impression else { unreachable!() };
        let doc = if row.doc == Id::Integer(TWINS[0]) { Id::Integer(TWINS[1]) } else { row.doc.clone() };
        LogRow { impression: Id::Integer(impression + 1000), doc, ..row.clone() }
    };
    let more: Vec<LogRow> = rows.iter().filter(|row| row.query == Id::Integer(0)).map(twin).collect();
    rows.into_iter().chain(more).collect()
}

/// The judgments of rows, with query and document.
fn judged(model: &str, rows: &[LogRow]) -> Vec<((Id, Id), Judgment)> {
    let mut log = Log::new(vec![find(model).unwrap()], &Memory::limited(None));
    super::users::read(rows, &mut log);
    let counted = log.finish();
    let ids = |(query, doc): &(u32, u32)| {
        (counted.queries[*query as usize].clone(), counted.docs[*doc as usize].clone())
    };
    counted.pairs.iter().map(ids).zip(judgments(&fitted(&counted, 0, true))).collect()
}

fn attractiveness(judged: &[((Id, Id), Judgment)], doc: i64) -> f64 {
    let is_wanted = |ids: &(Id, Id)| *ids == (Id::Integer(0), Id::Integer(doc));
    judged.iter().find(|(ids, _)| is_wanted(ids)).unwrap().1.attractiveness
}

#[test]
fn a_click_or_an_event_more_never_makes_a_document_less_attractive() {
    for model in CLICK_MODELS {
        for (seed, weights) in
            [[1.0, 5.0, 20.0], [1.0, 1.0, 1e6], [1.0, 1.0, 1.0], [0.01, 0.5, 3.0]].iter().enumerate()
        {
            let mut users = Users::of(seed as u64, 3, 6);
            let rows = twins(&mut users, model.name, *weights);
            let equal = judged(model.name, &rows);
            let (a, b) = (attractiveness(&equal, TWINS[0]), attractiveness(&equal, TWINS[1]));
            assert!((a - b).abs() <= 1e-9 * a, "{}: {a} {b}", model.name);
            // Any row of the twin: a click where there was none, then an event of a larger weight.
            let of_twin = (0..rows.len()).filter(|row| rows[*row].doc == Id::Integer(TWINS[1]));
            for row in of_twin {
                // A click may also show that the row was examined, or that an earlier one did not satisfy.
                if model.has_satisfaction && rows[row].weight <= 0.0 {
                    continue;
                }
                let heavier = weights.iter().filter(|weight| **weight > rows[row].weight);
                for weight in heavier {
                    let mut more = rows.clone();
                    more[row].weight = *weight;
                    let found = judged(model.name, &more);
                    let (less, more) = (attractiveness(&found, TWINS[0]), attractiveness(&found, TWINS[1]));
                    let before = rows[row].weight;
                    assert!(
                        more >= less * (1.0 - 1e-9),
                        "{} {weights:?}, {before} to {weight} at {}: {less} {more}",
                        model.name,
                        rows[row].position
                    );
                }
            }
        }
    }
}

#[test]
fn a_constant_factor_of_all_weights_changes_nothing() {
    for model in CLICK_MODELS {
        let rows = twins(&mut Users::of(9, 3, 6), model.name, [1.0, 5.0, 20.0]);
        let scaled = |factor: f64| {
            let scaled = |row: &LogRow| LogRow { weight: factor * row.weight, ..row.clone() };
            judged(model.name, &rows.iter().map(scaled).collect::<Vec<_>>())
        };
        assert_eq!(scaled(1.0), scaled(0.25), "{}", model.name);
        // Without different weights, the judgments are the model's.
        let clicks: Vec<LogRow> = rows
            .iter()
            .map(|row| LogRow { weight: f64::from(u8::from(row.weight > 0.0)), ..row.clone() })
            .collect();
        let mut log = Log::new(vec![model], &Memory::limited(None));
        super::users::read(&clicks, &mut log);
        let counted = log.finish();
        let fitted = fitted(&counted, 0, true);
        for (judgment, relevance) in judgments(&fitted).iter().zip(&fitted.relevance) {
            let difference = (judgment.attractiveness - relevance.value).abs();
            assert!(difference <= 1e-6, "{}: {judgment:?} {relevance:?}", model.name);
        }
    }
}
