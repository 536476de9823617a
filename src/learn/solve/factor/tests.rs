//! Loss evaluations that half steps reuse.

use super::*;
use crate::base::Control;
use crate::cost::loss;
use crate::data::Ratings;
use crate::math::Random;

/// 12 users with 6 of 10 items each.
fn ratings() -> Ratings {
    let mut random = Random::new(3);
    let mut ratings = Ratings { offsets: vec![0], items: Vec::new(), values: Vec::new(), n_items: 10 };
    for _ in 0..12 {
        let mut items: Vec<u32> = (0..10).collect();
        random.shuffle(&mut items);
        items.truncate(6);
        items.sort_unstable();
        ratings.values.extend(items.iter().map(|_| (1 + random.below(5)) as f64));
        ratings.items.extend(items);
        ratings.offsets.push(ratings.items.len());
    }
    ratings
}

#[test]
fn the_loss_is_known_where_a_half_step_ended() {
    let (ratings, control) = (ratings(), Control::default());
    let step = HalfStep { lambda: 0.05, tolerance: 1e-4, most: 5 };
    for name in ["hinge", "slam", "list_net"] {
        let loss = loss::find(name).unwrap().make(&serde_json::Map::new().into()).unwrap();
        let new = || Factorization::new(&ratings, &loss, &ratings.values, vec![0.1; ratings.len()]);
        let mut problem = new();
        let mut factors = Factors::new(ratings.n_users(), ratings.n_items, 2, 1).unwrap();
        let check = |problem: &Factorization<'_>, factors: &Factors| {
            let objectives = [problem, &new()].map(|problem| problem.objective(factors, [0.05; 2]));
            assert_eq!(objectives[0].to_bits(), objectives[1].to_bits(), "{name}");
            let scores = problem.scores(&factors.users, &factors.items, factors.rank);
            let is_known = |user: usize| problem.cuts[user].known(&scores[ratings.of_user(user)]).is_some();
            assert!((0..12).all(|user| problem.losses[user].is_none() || is_known(user) != problem.smooth));
        };
        for _ in 0..4 {
            problem.fit_users(&mut factors, step, &control).unwrap();
            check(&problem, &factors);
            problem.fit_items(&mut factors, step, &control).unwrap();
            check(&problem, &factors);
        }
    }
}
