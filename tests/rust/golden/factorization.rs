//! The objective of a factorization and its gradients against golden vectors.

use super::support::{assert_close, list_loss, numbers, read_listwise, rows};
use serde_json::{Value, json};
use sqlite_ltr::internals::cost::loss::Loss;
use sqlite_ltr::internals::data::Ratings;
use sqlite_ltr::internals::learn::solve::{Factorization, Factors};

/// The convex bound of NDCG@3 with decoder weights i^-0.25.
fn loss() -> Loss {
    let options =
        json!({ "measure": "ndcg@3", "bound": "convex", "decoder": "power", "decoder_power": 0.25 });
    Loss::List(list_loss("direct", &options))
}

fn ratings(case: &Value, n_items: usize) -> Ratings {
    let items = rows(&case["items"]);
    let mut offsets = vec![0];
    items.iter().for_each(|rated| offsets.push(offsets[offsets.len() - 1] + rated.len()));
    let items = items.concat().into_iter().map(|item| item as u32).collect();
    Ratings { offsets, items, values: rows(&case["ratings"]).concat(), n_items }
}

#[test]
fn objective_and_gradients_are_the_golden_ones() {
    let golden = read_listwise("matrix_factorisation.json");
    let cases = golden["cases"].as_array().unwrap();
    for case in cases {
        let (users, items) = (rows(&case["U"]), rows(&case["V"]));
        let ratings = ratings(case, items.len());
        let offsets = vec![0.0; ratings.len()];
        let problem = Factorization::new(&ratings, &loss(), &ratings.values, offsets.clone());
        let factors = Factors { rank: users[0].len(), users: users.concat(), items: items.concat() };
        let lambdas = [&case["lam_u"], &case["lam_v"]].map(|lambda| lambda.as_f64().unwrap());
        let objective = problem.objective(&factors, lambdas);
        assert_close(&[objective], &numbers(&json!([case["objective"]])), 1e-10, "objective");
        let difference = |change: &dyn Fn(&mut Factors, f64)| {
            let at = |step: f64| {
                let mut moved = factors.clone();
                change(&mut moved, step);
                problem.objective(&moved, lambdas)
            };
            // Five points: the error is h^4 times a fifth derivative / 30.
            let h = 1e-3;
            (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h)
        };
        let of_user = |place: usize| difference(&|moved, step| moved.users[place] += step);
        let of_item = |place: usize| difference(&|moved, step| moved.items[place] += step);
        let of_users: Vec<f64> = (0..factors.users.len()).map(of_user).collect();
        let of_items: Vec<f64> = (0..factors.items.len()).map(of_item).collect();
        assert_close(&of_users, &rows(&case["grad_U"]).concat(), 1e-10, "grad_U");
        assert_close(&of_items, &rows(&case["grad_V"]).concat(), 1e-10, "grad_V");
    }
    assert_eq!(cases.len(), 2);
}
