//! Click models on logs simulated from them.

mod coverage;
mod likelihood;
mod offline;
mod users;
mod weights;

use super::estimate::Estimate;
use super::*;
use crate::base::Memory;
use crate::data::Id;

use users::{Users, fits, read};

#[test]
fn both_methods_find_the_propensities_of_the_users() {
    let mut users = Users::new(1);
    let counted = users.log("pbm", 60_000);
    let cells = counted.cells(0, true);
    for (name, found) in [("em", by_likelihood(&cells, users.pairs())), ("harvest", harvested(&cells))] {
        assert_eq!(found.len(), users.docs);
        for Propensity { position, estimate } in found {
            let truth = Users::pbm(position as usize);
            let bound = if estimate.error.is_finite() { 4.0 * estimate.error } else { 0.05 };
            assert!(
                (estimate.value - truth).abs() <= bound.clamp(1e-12, 0.05),
                "{name} {position}: {estimate:?}"
            );
        }
    }
}

/// The most attractive documents are on top. The log does not determine examination, so half of the drop in clicks is
/// attributed to it, unless some lists are in random order.
#[test]
fn examination_comes_from_lists_in_other_orders() {
    let mut users = Users { noise: 0.0, ..Users::of(7, 300, 5) };
    let mut rows = users.rows("pbm", 12_000);
    let found = |rows: &[LogRow]| {
        let counted = users::counted("pbm", rows);
        let cells = counted.cells(0, true);
        let examination = Examination::of(&cells, counted.pairs.len());
        let queries: Vec<u32> = counted.pairs.iter().map(|(query, _)| *query).collect();
        (fitted_by(&counted, &cells, &examination).gamma, examination.determined(&cells, &queries), cells)
    };
    let (gamma, determined, cells) = found(&rows);
    let rate = |position: u32| {
        let cells = cells.iter().filter(|cell| cell.context == position);
        let [clicks, rows] = cells.fold([0.5, 1.0], |[c, n], cell| [c + cell.clicks, n + cell.rows]);
        clicks / rows
    };
    for (context, estimate) in gamma {
        let half = libm::sqrt(rate(context) / rate(0));
        assert!((estimate.value - half).abs() < 1e-6, "{context}: {estimate:?} {half}");
    }
    assert!(determined.iter().all(|t| *t < 1e-3), "{determined:?}");
    users.noise = 1e9;
    for row in users.rows("pbm", 1_500) {
        let Id::Integer(number) = row.impression else { unreachable!() };
        rows.push(LogRow { impression: Id::Integer(-1 - number), ..row });
    }
    let (gamma, determined, _) = found(&rows);
    for (context, Estimate { value, error }) in gamma {
        let truth = Users::pbm(context as usize + 1);
        assert!((value - truth).abs() <= 4.0 * error && error < 0.1, "{context}: {value} {error}");
    }
    let mean = determined.iter().sum::<f64>() / determined.len() as f64;
    assert!(mean > 0.9, "{mean}");
}

#[test]
fn held_out_impressions_prefer_the_model_of_the_log() {
    // The model sdbn contains cascade.
    for model in ["pbm", "sdbn", "ubm"] {
        let mut users = Users::new(2);
        let rows = users.rows(model, 20_000);
        let mut log = Log::new(CLICK_MODELS.to_vec(), &Memory::limited(None));
        read(&rows, &mut log);
        let counted = log.finish();
        let mut held_out = HeldOut::new(&counted, fits(&counted, false));
        read(&rows, &mut held_out);
        let found = held_out.predictions;
        let best =
            (0..found.len()).max_by(|a, b| found[*a].log_likelihood.total_cmp(&found[*b].log_likelihood));
        assert_eq!(best.map(|best| CLICK_MODELS[best].name), Some(model));
        assert!(found.iter().all(|prediction| (1.0..2.0).contains(&prediction.perplexity())), "{found:?}");
    }
}

#[test]
fn the_order_of_impressions_changes_no_bit() {
    let rows = Users::new(3).rows("ubm", 500);
    let mut reversed: Vec<Vec<LogRow>> = Vec::new();
    for row in rows.clone() {
        match reversed.last_mut().filter(|rows| rows[0].impression == row.impression) {
            Some(rows) => rows.push(row),
            None => reversed.push(vec![row]),
        }
    }
    reversed.reverse();
    let alpha = |rows: &[LogRow]| {
        let mut log = Log::new(vec![find("ubm").unwrap()], &Memory::limited(None));
        read(rows, &mut log);
        fitted(&log.finish(), 0, true).alpha
    };
    let bits = |alpha: Vec<Estimate>| {
        alpha.iter().map(|alpha| (alpha.value.to_bits(), alpha.error.to_bits())).collect::<Vec<_>>()
    };
    assert_eq!(bits(alpha(&rows)), bits(alpha(&reversed.concat())));
}

#[test]
fn the_option_names_the_models_of_the_table() {
    let names: Vec<&str> = CLICK_MODELS.iter().map(|model| model.name).collect();
    assert_eq!(CLICK_MODEL_NAMES[1..], names);
}

#[test]
fn hopeless_rows_are_refused() {
    let row = |impression, query, position| LogRow {
        impression: Id::Integer(impression),
        query: Id::Integer(query),
        doc: Id::Integer(position),
        position: position as u32,
        weight: 0.0,
    };
    for (rows, message) in [
        (
            vec![row(1, 1, 1), row(1, 2, 2)],
            "impression 1: queries 1 and 2; an impression shows documents for one query, so make its id from session, time and \
             query",
        ),
        (
            vec![row(1, 1, 1), row(1, 1, 1)],
            "impression 1: two rows have position 1; an impression is one list that was shown, so give each list its own id, as in session || ' ' || query",
        ),
        (vec![row(7, 1, 1001)], "impression 7: position 1001; expected 1 to 1000"),
    ] {
        let mut log = Log::new(vec![find("ctr").unwrap()], &Memory::limited(None));
        let mut impression = Impression::default();
        let refused = rows.into_iter().find_map(|row| impression.push(row, &mut log).err());
        let error = refused.or_else(|| impression.close(&mut log).err());
        assert_eq!(error.unwrap().to_string(), message);
    }
    let mut log = Log::new(vec![find("ubm").unwrap()], &Memory::limited(Some(100)));
    let error = Impression::default().push(row(1, 1, 1), &mut log).unwrap_err().to_string();
    assert!(error.contains("counting 1 pairs"), "{error}");
}
