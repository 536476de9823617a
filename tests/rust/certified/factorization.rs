//! The half step of a user in a factorization of ratings: u for fixed factors of the items (Le, Smola, Chapelle & Teo,
//! section 7.2), lambda / 2 |u|^2 + l(V u + b).

use serde_json::{Value, json};
use sqlite_ltr::internals::cost::loss::find;
use sqlite_ltr::internals::learn::solve::{HalfStep, UserLoss};
use sqlite_ltr::internals::math::random::Random;

use super::losses::{self, Loss};
use super::program::{Affine, Program};
use super::sample::numbers;

const LAMBDA: f64 = 0.5;
const RANK: usize = 3;

/// N times the loss: half the sum of squares.
fn squares(program: &mut Program, ratings: &[f64], scores: &[Affine]) -> Affine {
    Affine::default().plus(ratings.len() as f64, &losses::squared(program, ratings, scores))
}

fn objective(program: &mut Program, u: &[Affine], data: &[Vec<f64>; 3], loss: Loss<'_>) {
    let [rows, offsets, ratings] = data;
    let scores: Vec<Affine> = rows
        .chunks_exact(RANK)
        .zip(offsets)
        .map(|(row, offset)| Affine::combination(row, u).plus(*offset, &Affine::constant(1.0)))
        .collect();
    let value = loss(program, ratings, &scores);
    program.add(1.0, &value);
    u.iter().for_each(|u| program.add_square(0.5 * LAMBDA, u));
}

fn check(name: &str, options: &Value, loss: Loss<'_>) {
    let parsed = find(name).unwrap().make(&options.as_object().unwrap().clone().into()).unwrap();
    let mut random = Random::new(98);
    for user in 0..5 {
        let ratings: Vec<f64> = (0..6).map(|_| (2.5 + 2.5 * random.symmetric()).floor()).collect();
        let data = [numbers(&mut random, 6 * RANK), numbers(&mut random, 6), ratings];
        let [rows, offsets, ratings] = &data;
        let step = HalfStep { lambda: LAMBDA, tolerance: 1e-10, most: 1000 };
        let fitted = UserLoss::new(&parsed, ratings).unwrap().fit_user(rows, offsets, &[0.0; RANK], step);
        let what = format!("{name}, user {user}");

        let mut program = Program::default();
        let variables: Vec<Affine> = (0..RANK).map(|_| program.variable()).collect();
        objective(&mut program, &variables, &data, loss);
        let optimum = program.minimum(&what);
        let mut program = Program::default();
        let fitted: Vec<Affine> = fitted.into_iter().map(Affine::constant).collect();
        objective(&mut program, &fitted, &data, loss);
        super::assert_agreement(program.minimum(&what), optimum, &what);
    }
}

#[test]
fn the_half_step_of_a_user() {
    check("pair_squared", &json!({}), &squares);
    check("hinge", &json!({}), &losses::hinge);
    check("list_net", &json!({}), &losses::list_net);
    check("slam", &json!({}), &losses::slam);
    check(
        "direct",
        &json!({ "bound": "convex", "decoder": "linear", "measure": "ndcg@3" }),
        &losses::direct_ndcg_3,
    );
}
