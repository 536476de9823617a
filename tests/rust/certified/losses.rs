//! The losses of one query as parts of a convex program, written from the papers.

use super::program::{Affine, Program};

/// The loss of a query with these grades at these scores. Documents are in the order of their ids.
pub type Loss<'a> = &'a dyn Fn(&mut Program, &[f64], &[Affine]) -> Affine;

/// 2 / (N (N - 1)) times the sum over pairs y_j > y_l of `part` of the margin s_j - s_l.
fn over_pairs(grades: &[f64], scores: &[Affine], mut part: impl FnMut(Affine) -> Affine) -> Affine {
    let n = grades.len() as f64;
    let mut sum = Affine::default();
    for (high, s) in grades.iter().zip(scores) {
        for (low, t) in grades.iter().zip(scores) {
            if high > low {
                sum = sum.plus(2.0 / (n * (n - 1.0)), &part(s.minus(t)));
            }
        }
    }
    sum
}

fn one_less(margin: &Affine) -> Affine {
    Affine::constant(1.0).minus(margin)
}

/// max(0, 1 - m).
pub fn hinge(program: &mut Program, grades: &[f64], scores: &[Affine]) -> Affine {
    over_pairs(grades, scores, |margin| program.positive_part(&one_less(&margin)))
}

/// max(0, 1 - m)^2.
pub fn squared_hinge(program: &mut Program, grades: &[f64], scores: &[Affine]) -> Affine {
    over_pairs(grades, scores, |margin| {
        let part = program.positive_part(&one_less(&margin));
        program.square(&part)
    })
}

/// log(1 + exp(-m)).
pub fn logistic(program: &mut Program, grades: &[f64], scores: &[Affine]) -> Affine {
    over_pairs(grades, scores, |margin| {
        program.log_sum_exp(&[Affine::default(), Affine::default().minus(&margin)])
    })
}

/// sum_j ((s_j - mean s) - (y_j - mean y))^2 / (2 N).
pub fn squared(program: &mut Program, grades: &[f64], scores: &[Affine]) -> Affine {
    let n = grades.len() as f64;
    let errors: Vec<Affine> =
        grades.iter().zip(scores).map(|(y, s)| s.plus(-1.0, &Affine::constant(*y))).collect();
    let mean = Affine::combination(&vec![1.0 / n; errors.len()], &errors);
    let squares: Vec<Affine> = errors.iter().map(|error| program.square(&error.minus(&mean))).collect();
    Affine::combination(&vec![0.5 / n; errors.len()], &squares)
}

/// log sum_j exp(s_j) - sum_j softmax(y)_j s_j (Cao et al. 2007).
pub fn list_net(program: &mut Program, grades: &[f64], scores: &[Affine]) -> Affine {
    let sum: f64 = grades.iter().map(|y| y.exp()).sum();
    let targets: Vec<f64> = grades.iter().map(|y| y.exp() / sum).collect();
    program.log_sum_exp(scores).minus(&Affine::combination(&targets, scores))
}

/// sum_i (log sum over j >= i of exp(s_(j)) - s_(i)), documents in ideal order (Xia et al. 2008).
pub fn list_mle(program: &mut Program, grades: &[f64], scores: &[Affine]) -> Affine {
    let ordered: Vec<Affine> = ideal(grades).into_iter().map(|document| scores[document].clone()).collect();
    let mut sum = Affine::default();
    for (position, score) in ordered.iter().enumerate() {
        sum = sum.plus(1.0, &program.log_sum_exp(&ordered[position..])).minus(score);
    }
    sum
}

/// (1 / Z) sum_j beta_j log2(1 + sum over y_t < y_j of alpha_jt exp(s_t - s_j)) with the weights `swap`, not truncated
/// (Olinto & Fokoue 2018): beta_j = sum_t w_jt, alpha_jt = w_jt / beta_j, w_jt = (G_j - G_t) (D_j - D_t).
pub fn cs_list_mle(program: &mut Program, grades: &[f64], scores: &[Affine]) -> Affine {
    let order = ideal(grades);
    let largest: f64 =
        order.iter().enumerate().map(|(p, document)| gain(grades[*document]) * discount(p)).sum();
    let mut sum = Affine::default();
    for (p, j) in order.iter().enumerate() {
        let lower = (p..order.len()).filter(|q| grades[order[*q]] < grades[*j]);
        let weights: Vec<(usize, f64)> = lower
            .map(|q| (order[q], (gain(grades[*j]) - gain(grades[order[q]])) * (discount(p) - discount(q))))
            .collect();
        let beta: f64 = weights.iter().map(|(_, weight)| weight).sum();
        if beta <= 0.0 {
            continue;
        }
        let exponents = weights.iter().map(|(t, weight)| {
            scores[*t].minus(&scores[*j]).plus((weight / beta).ln(), &Affine::constant(1.0))
        });
        let exponents: Vec<Affine> = [Affine::default()].into_iter().chain(exponents).collect();
        sum = sum.plus(beta / (largest * std::f64::consts::LN_2), &program.log_sum_exp(&exponents));
    }
    sum
}

/// sum_i v_i max(0, max over y_l < y_i of (1 + s_l - s_i)) with the weights of NDCG, equation (9), averaged over equal
/// grades (Chaudhuri & Tewari 2014, equation (5)).
pub fn slam(program: &mut Program, grades: &[f64], scores: &[Affine]) -> Affine {
    let order = ideal(grades);
    let last = order.len() - 1;
    let largest: f64 = order.iter().enumerate().map(|(p, j)| gain(grades[*j]) * discount(p)).sum();
    let (base, floor) = (gain(grades[order[last]]), discount(last));
    let by_position: Vec<f64> = order
        .iter()
        .enumerate()
        .map(|(p, j)| (gain(grades[*j]) - base) * (discount(p) - floor) / largest)
        .collect();
    let mut sum = Affine::default();
    for (i, score) in scores.iter().enumerate() {
        let equal: Vec<usize> = (0..=last).filter(|p| same(grades[order[*p]], grades[i])).collect();
        let weight = equal.iter().map(|p| by_position[*p]).sum::<f64>() / equal.len() as f64;
        let worse = (0..=last).filter(|l| grades[*l] < grades[i]);
        let inner = worse.map(|l| Affine::constant(1.0).plus(1.0, &scores[l]).minus(score));
        let inner: Vec<Affine> = [Affine::default()].into_iter().chain(inner).collect();
        if weight > 0.0 {
            sum = sum.plus(weight, &program.maximum(&inner));
        }
    }
    sum
}

/// max_p (sum_j c_p(j) s_j - a_p(j) b_j) - sum_j c_ideal(j) s_j + max_p sum_j a_p(j) b_j over all orders p, for NDCG@3 with
/// the decoder c_p = max(3 - p, 0), p from 0 (Le, Smola, Chapelle & Teo, equation (20)).
pub fn direct_ndcg_3(program: &mut Program, grades: &[f64], scores: &[Affine]) -> Affine {
    let cutoff = 3;
    let discounts = |p: usize| if p < cutoff { discount(p) } else { 0.0 };
    let decoder = |p: usize| cutoff.saturating_sub(p) as f64;
    let order = ideal(grades);
    let dcg =
        |order: &[usize]| order.iter().enumerate().map(|(p, j)| gain(grades[*j]) * discounts(p)).sum::<f64>();
    let decoded = |order: &[usize]| {
        order.iter().enumerate().fold(Affine::default(), |sum, (p, j)| sum.plus(decoder(p), &scores[*j]))
    };
    let largest = dcg(&order);
    let values: Vec<Affine> = permutations(grades.len())
        .into_iter()
        .map(|order| decoded(&order).minus(&Affine::constant(dcg(&order) / largest)))
        .collect();
    let bound = program.maximum(&values);
    bound.minus(&decoded(&order)).plus(1.0, &Affine::constant(1.0))
}

/// max over assignments p of 3 documents to 3 slots of sum_j (s + d)(p_j, j) - sum_j (s + d)(p*_j, j), d = 1/3 at wrong
/// rows. Row 3 i + j is document i at slot j (Le, Smola, Chapelle & Teo, section 7.3).
pub fn matching(program: &mut Program, grades: &[f64], scores: &[Affine]) -> Affine {
    let value = |rows: &[usize]| {
        rows.iter().fold(Affine::default(), |sum, row| {
            let cost = if grades[*row] > 0.0 { 0.0 } else { 1.0 / 3.0 };
            sum.plus(1.0, &scores[*row]).plus(cost, &Affine::constant(1.0))
        })
    };
    let assignments = permutations(3);
    let rows =
        |order: &Vec<usize>| order.iter().enumerate().map(|(slot, i)| 3 * i + slot).collect::<Vec<_>>();
    let values: Vec<Affine> = assignments.iter().map(|order| value(&rows(order))).collect();
    let target: Vec<usize> = (0..grades.len()).filter(|row| grades[*row] > 0.0).collect();
    program.maximum(&values).minus(&value(&target))
}

fn same(x: f64, y: f64) -> bool {
    x.total_cmp(&y).is_eq()
}

fn gain(grade: f64) -> f64 {
    grade.exp2() - 1.0
}

/// 1 / log2(1 + position), positions counted from 1 in the formula and from 0 here.
fn discount(position: usize) -> f64 {
    1.0 / ((position + 2) as f64).log2()
}

/// Documents by decreasing grade; equal grades keep their order.
fn ideal(grades: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..grades.len()).collect();
    order.sort_by(|i, j| grades[*j].total_cmp(&grades[*i]));
    order
}

/// All orders of 0..n.
fn permutations(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let shorter = permutations(n - 1);
    let insert = |order: &Vec<usize>| {
        (0..n).map(|place| [&order[..place], &[n - 1], &order[place..]].concat()).collect::<Vec<_>>()
    };
    shorter.iter().flat_map(insert).collect()
}
