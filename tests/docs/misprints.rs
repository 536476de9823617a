//! The computations of the chapter "Misprints and deviations" of `docs/papers.md`: what a paper prints, and what it means.
//!
//! Each test computes both with plain arithmetic, and checks that the row that cites it shows the numbers.

use std::collections::BTreeSet;

use super::page::root;

/// Checks that the row of this test on the page has these texts.
fn assert_shown(test: &str, texts: &[String]) {
    let page = std::fs::read_to_string(root().join("docs/papers.md")).expect("the page");
    let citation = format!("`tests/docs/misprints.rs::{test}`");
    let row = page.lines().find(|line| line.contains(&citation));
    let row = row.unwrap_or_else(|| panic!("no row cites {test}"));
    for text in texts {
        assert!(row.contains(text), "{test}: the row does not show {text}");
    }
}

fn three(value: f64) -> String {
    format!("{value:.3}")
}

fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// D(p) = 1 / log2(p + 1).
fn discount(position: usize) -> f64 {
    1.0 / (position as f64 + 1.0).log2()
}

/// The least argument of a convex function, by ternary search.
fn minimizer(mut low: f64, mut high: f64, value: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..200 {
        let (left, right) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if value(left) <= value(right) {
            high = right;
        } else {
            low = left;
        }
    }
    f64::midpoint(low, high)
}

/// All orders of the documents 0 to m - 1.
fn orders(m: usize) -> Vec<Vec<usize>> {
    if m == 0 {
        return vec![Vec::new()];
    }
    let shorter = orders(m - 1);
    let insert = |order: &Vec<usize>, at: usize| {
        let mut order = order.clone();
        order.insert(at, m - 1);
        order
    };
    shorter.iter().flat_map(|order| (0..m).map(move |at| insert(order, at))).collect()
}

fn hinge(margin: f64) -> f64 {
    (1.0 - margin).max(0.0)
}

// Dai & Wang (2019)

#[test]
fn ties_count_twice() {
    // Grades 1, 1, 0, and scores in that order.
    let (grades, scores): ([f64; 3], [f64; 3]) = ([1.0, 1.0, 0.0], [3.0, 2.0, 1.0]);
    let products = [(0, 1), (0, 2), (1, 2)]
        .map(|(i, j): (usize, usize)| (grades[i] - grades[j]) * (scores[i] - scores[j]));
    let share = |holds: fn(f64) -> bool| products.iter().filter(|p| holds(**p)).count() as f64 / 3.0;
    let (tau, printed, strict) = (share(|p| p >= 0.0), share(|p| p <= 0.0), share(|p| p < 0.0));
    assert!(is_near(tau + printed, 4.0 / 3.0) && strict.abs() < 1e-12);
    assert_shown("ties_count_twice", &[three(tau), three(printed)]);
}

#[test]
fn equal_grades_prefer_both_orders() {
    let (above, equal, below) = (0.1, 0.6, 0.3);
    let (forward, backward): (f64, f64) = (above + equal, below + equal);
    assert!(forward > 0.5 && backward > 0.5 && above < below);
    assert_shown("equal_grades_prefer_both_orders", &[format!("{forward:.1}"), format!("{backward:.1}")]);
}

#[test]
fn the_query_is_not_a_document() {
    // Pairs (j, l) of a query of three documents, meant and as printed for the queries 1 and 7.
    let pairs: Vec<(usize, usize)> = (1..=3).flat_map(|j| (1..=3).map(move |l| (j, l))).collect();
    let count = |holds: &dyn Fn(usize, usize) -> bool| pairs.iter().filter(|(j, l)| holds(*j, *l)).count();
    let (meant, first, seventh) = (count(&|j, l| j != l), count(&|j, _| j != 1), count(&|j, _| j != 7));
    let with_itself = count(&|j, l| j != 1 && j == l);
    assert_eq!((meant, first, with_itself, seventh), (6, 6, 2, 9));
    assert_shown(
        "the_query_is_not_a_document",
        &[format!("{with_itself} of {first}"), format!("{seventh} pairs")],
    );
}

#[test]
fn the_half_doubles_lambda() {
    let lambda = 1.0;
    let whole = minimizer(-5.0, 5.0, |w| hinge(w) + lambda * w * w);
    let half = minimizer(-5.0, 5.0, |w| hinge(w) + lambda / 2.0 * w * w);
    let doubled = minimizer(-5.0, 5.0, |w| hinge(w) + 2.0 * lambda / 2.0 * w * w);
    assert!(is_near(whole, doubled) && (half - 1.0).abs() < 1e-6 && (whole - 0.5).abs() < 1e-6);
    assert_shown("the_half_doubles_lambda", &[three(half), three(whole)]);
}

#[test]
fn multipliers_need_their_last_value() {
    // One pair with K = 1, lambda 1/2, rho 1: the minimum of (1 - a)_+ + a^2 / 4 is at a = 1.
    let run = |moves: f64| {
        let (lambda, rho, zeta) = (0.5, 1.0, 4.0);
        let (mut a, mut xi, mut gamma, mut u) = (0.0_f64, 0.0_f64, 0.0_f64, 0.0_f64);
        for _ in 0..20_000 {
            a = (zeta - lambda) / zeta * a - rho / zeta * (a - 1.0 + xi - gamma + u);
            xi = (1.0 - a - u - 1.0 / rho).max(0.0);
            gamma = (a - 1.0 + u).max(0.0);
            u += moves * (a - 1.0 + xi - gamma);
        }
        a
    };
    // As printed, u = u + residual: it can hold for a residual of 0 only, so u never moves.
    let (printed, meant) = (run(0.0), run(1.0));
    assert!((meant - 1.0).abs() < 1e-6 && (printed - 2.0 / 3.0).abs() < 1e-6);
    assert_shown("multipliers_need_their_last_value", &[three(printed), three(meant)]);
}

#[test]
fn the_bandwidth_to_the_power_p_is_another_lambda() {
    let (h, p) = (0.5_f64, 2);
    let factor = h.powi(-p);
    let with = minimizer(-5.0, 5.0, |w| factor * hinge(w) + 8.0 * w * w);
    let without = minimizer(-5.0, 5.0, |w| hinge(w) + 8.0 / factor * w * w);
    assert!(is_near(with, without));
    let huge = h.powi(-40);
    assert_shown("the_bandwidth_to_the_power_p_is_another_lambda", &[three(with), format!("{huge:.1e}")]);
}

// Chaudhuri & Tewari (2014)

#[test]
fn a_slack_needs_the_score_of_the_other_document() {
    // A relevant document with score 5 above one with score 0; Delta = 1, v = (1, 0).
    let (s, delta) = ([5.0_f64, 0.0], 1.0);
    let printed = (delta + s[0] - s[0]).max(0.0);
    let meant = (delta + s[1] - s[0]).max(0.0);
    assert_shown("a_slack_needs_the_score_of_the_other_document", &[three(printed), three(meant)]);
}

/// Average precision of an order, documents below `relevant` being relevant.
fn average_precision(order: &[usize], relevant: usize) -> f64 {
    let (mut found, mut sum) = (0.0, 0.0);
    for (at, document) in order.iter().enumerate() {
        if *document < relevant {
            found += 1.0;
            sum += found / (at as f64 + 1.0);
        }
    }
    sum / relevant as f64
}

#[test]
fn other_weights_bound_average_precision_too() {
    let weights = |i: usize| 1.0 / 2.0 - i as f64 / (2.0 * (2.0 + i as f64));
    let printed = [weights(1), weights(2)];
    assert!(is_near(printed[0], 1.0 / 3.0) && is_near(printed[1], 1.0 / 4.0));
    // With nearly equal scores each relevant document below an irrelevant one costs its weight: the least of the loss.
    let least_slack = |v: [f64; 2]| {
        let slack = |order: Vec<usize>| {
            let top = order.iter().position(|document| *document >= 2).expect("an irrelevant document");
            let loss: f64 = order[top..].iter().filter(|document| **document < 2).map(|i| v[*i]).sum();
            loss - (1.0 - average_precision(&order, 2))
        };
        orders(4).into_iter().map(slack).fold(f64::INFINITY, f64::min)
    };
    for v in [printed, [0.25, 1.0 / 3.0]] {
        assert!(least_slack(v).abs() < 1e-12, "{v:?}");
    }
    assert!(least_slack([0.25, 0.25]) < -0.08);
    assert_shown("other_weights_bound_average_precision_too", &["(1/3, 1/4".into(), "(1/4, 1/3".into()]);
}

#[test]
fn the_displayed_maximum_is_exceeded() {
    // Grades 2, 1, 0 in reverse order; both sides times Z.
    let gain = [3.0, 1.0, 0.0];
    let loss: f64 = (0..3).map(|i| gain[i] * (discount(i + 1) - discount(3 - i))).sum();
    // i_1 = 2 goes with m = 3, i_2 = 1 with m - 1 = 2.
    let displayed =
        (gain[1] - gain[2]) * (discount(2) - discount(3)) + (gain[0] - gain[1]) * (discount(1) - discount(2));
    // The theorem holds nevertheless: both documents count at least v_i.
    let weights: f64 = (0..3).map(|i| (gain[i] - gain[2]) * (discount(i + 1) - discount(3))).sum();
    assert!(loss > displayed && weights >= loss);
    assert_shown("the_displayed_maximum_is_exceeded", &[three(loss), three(displayed)]);
}

#[test]
fn the_factor_m_occurs_once() {
    // |z| <= 2 R sum v and |z| <= 2 R m v_max f, sum v <= 1.
    let (radius, m, ratio, f) = (1.0_f64, 3.0, 1.0, 1.0);
    let product = (2.0 * radius) * (2.0 * radius * m * ratio * f);
    let printed = 4.0 * m * radius * radius * m * ratio * f;
    assert_shown("the_factor_m_occurs_once", &[format!("{printed:.0}"), format!("{product:.0}")]);
}

type Query = (Vec<[f64; 2]>, Vec<usize>);

/// The scores of the documents of a query.
fn scores(documents: &[[f64; 2]], w: [f64; 2]) -> Vec<f64> {
    documents.iter().map(|x| dot(x, &w)).collect()
}

/// Algorithm 1 with the weights of average precision, relevant documents first: the rounds with an update, and w.
fn perceptron(stream: &[Query], eta: f64) -> (Vec<usize>, [f64; 2]) {
    let (mut w, mut updates) = ([0.0; 2], Vec::new());
    for (round, (documents, grades)) in stream.iter().enumerate() {
        let s = scores(documents, w);
        let (m, r) = (grades.len(), grades.iter().sum::<usize>());
        let best = (r..m).fold(r, |best, j| if s[j] > s[best] { j } else { best });
        if (0..r).all(|i| s[i] > s[best]) {
            continue;
        }
        updates.push(round + 1);
        let weight = |i: usize| (m - r) as f64 / (r * (m - r + i + 1)) as f64;
        for i in (0..r).filter(|i| 1.0 + s[best] - s[*i] > 0.0) {
            for (w, (mine, other)) in w.iter_mut().zip(documents[i].iter().zip(documents[best])) {
                *w += eta * weight(i) * (mine - other);
            }
        }
    }
    (updates, w)
}

#[test]
fn the_step_size_changes_the_updates() {
    let stream = [
        (vec![[0.0, 2.0], [-1.0, 1.0]], vec![1, 0]),
        (vec![[2.0, 1.0], [-1.0, 0.0], [0.0, 0.0]], vec![1, 1, 0]),
        (vec![[-1.0, -1.0], [0.0, -1.0], [-2.0, 0.0]], vec![1, 1, 0]),
    ];
    let (one, hundredth) = (perceptron(&stream, 1.0).0, perceptron(&stream, 0.01).0);
    assert_shown("the_step_size_changes_the_updates", &[format!("{one:?}"), format!("{hundredth:?}")]);
}

#[test]
fn a_round_scores_its_own_documents() {
    let first = (vec![[1.0, 0.0], [0.0, 1.0]], vec![1, 0]);
    let (_, w) = perceptron(std::slice::from_ref(&first), 1.0);
    let second = [[0.0, 1.0], [1.0, 0.0]];
    let (printed, meant) = (scores(&first.0, w), scores(&second, w));
    assert!(printed[0] > printed[1] && meant[0] < meant[1]);
    let text = |s: &[f64]| format!("({:.1}, {:.1})", s[0], s[1]);
    assert_shown("a_round_scores_its_own_documents", &[text(&printed), text(&meant)]);
}

#[test]
fn rank_svm_has_more_than_2_m() {
    let (m, r) = (10, 5);
    // All pairs active: each relevant document has -(m - r), each other document r.
    let length = r * (m - r) + (m - r) * r;
    assert_shown("rank_svm_has_more_than_2_m", &[length.to_string(), (2 * m).to_string()]);
}

#[test]
fn the_penalty_belongs_inside_the_minimum() {
    let loss = |w: f64| (w - 1.0).powi(2);
    let printed = minimizer(-5.0, 5.0, loss);
    let meant = minimizer(-5.0, 5.0, |w| w * w + loss(w));
    assert_shown("the_penalty_belongs_inside_the_minimum", &[three(printed), three(meant)]);
}

#[test]
fn lambda_of_theorem_11_depends_on_b() {
    let (lipschitz, b, n) = (1.0_f64, 10.0_f64, 100.0_f64);
    let bound = |lambda: f64| lambda * b * b / 2.0 + 4.0 * (lambda * b + lipschitz).powi(2) / (lambda * n);
    let printed = (4.0 * lipschitz * lipschitz / n).sqrt();
    let proof = printed * (b * b / 2.0 + 4.0 * b * b / n).powf(-0.5);
    let theorem = 2.0 * lipschitz * b * (8.0 / n + (2.0 / n).sqrt());
    assert!(bound(proof) <= theorem && bound(printed) > theorem);
    let shown = [three(bound(printed)), three(theorem), three(bound(proof))];
    assert_shown("lambda_of_theorem_11_depends_on_b", &shown);
}

#[test]
fn the_sum_of_30_counts_documents() {
    // k = 1, and the relevant document at rank 3.
    let printed = discount(3) / discount(1);
    assert_shown("the_sum_of_30_counts_documents", &[three(printed), three(0.0)]);
}

// Le, Smola, Chapelle & Teo

#[test]
fn one_belongs_inside_the_logarithm() {
    let printed = 1.0 / (2.0_f64.log2() + 1.0);
    assert_shown("one_belongs_inside_the_logarithm", &[three(printed), three(discount(2))]);
}

#[test]
fn two_relevant_documents_exceed_one() {
    assert_shown("two_relevant_documents_exceed_one", &[three(1.0 + 1.0 / 2.0)]);
}

/// F or M of a ranking: weights of positions, values of documents, and the position of each document.
fn value(weights: [f64; 2], values: [f64; 2], positions: [usize; 2]) -> f64 {
    (0..2).map(|i| weights[positions[i]] * values[i]).sum()
}

const BOTH: [[usize; 2]; 2] = [[0, 1], [1, 0]];

#[test]
fn the_display_below_21_lost_a_term() {
    // Discounts as a and c, gains (1, 0), scores (0.01, 0), and the reference with the documents exchanged.
    let a = [discount(1), discount(2)];
    let (b, s) = ([1.0, 0.0], [0.01, 0.0]);
    let (best, reference) = (BOTH[0], BOTH[1]);
    let left = value(a, s, best) - value(a, s, reference) + value(a, b, reference);
    let right = value(a, b, best);
    assert!(left < right);
    // Meant: the largest F - M, less F of the reference, plus the largest M, is at least the regret.
    let most = BOTH.map(|p| value(a, s, p) - value(a, b, p)).into_iter().fold(f64::NEG_INFINITY, f64::max);
    let regret = right - value(a, b, best);
    assert!(most - value(a, s, reference) + right >= regret);
    assert_shown("the_display_below_21_lost_a_term", &[three(left), three(right)]);
}

#[test]
fn the_best_ranking_uses_the_earlier_weights() {
    // Features 1 and 0; w' = 1 ranks document 1 first, w = -1 does not.
    let c = [discount(1), discount(2)];
    let scores = |w: f64| [w, 0.0];
    let most = |w: f64| BOTH.map(|p| value(c, scores(w), p)).into_iter().fold(f64::NEG_INFINITY, f64::max);
    let at_earlier = value(c, scores(-1.0), BOTH[0]);
    // With w itself both sides are the same number.
    assert!(is_near(most(-1.0), value(c, scores(-1.0), BOTH[1])) && most(-1.0) >= at_earlier);
    let shown = [three(most(-1.0)), three(at_earlier)];
    assert_shown("the_best_ranking_uses_the_earlier_weights", &shown);
}

#[test]
fn the_reference_is_replaced_and_not_the_maximizer() {
    // c of document 1, which alone has a feature: pi~ ranks it first, pibar too, pi* last.
    let c = [discount(1), discount(2)];
    let (maximizer, reference, current) = (c[0], c[0], c[1]);
    let (of_29, of_30) = (maximizer - reference, maximizer - current);
    assert!(is_near(of_30 - of_29, reference - current));
    assert_shown("the_reference_is_replaced_and_not_the_maximizer", &[three(of_29), three(of_30)]);
}

#[test]
fn a_step_needs_lambda() {
    // r(w) = lambda / 2 w^2 from w = 1, with c = 1.
    let lambda = 0.01;
    let run = |factor: f64| (1..=10_000).fold(1.0, |w, t| w - factor / (f64::from(t) + 1.0) * lambda * w);
    let (printed, meant): (f64, f64) = (run(1.0), run(1.0 / lambda));
    assert!(meant.abs() < 1e-3);
    assert_shown("a_step_needs_lambda", &[three(printed), three(meant)]);
}

#[test]
fn the_weights_have_the_other_sign() {
    // One query, features 1 and 0, a = c = (1, 0), b = (1, 0), lambda 2: the constraint is xi >= 1 - w.
    let lambda = 2.0;
    let primal = minimizer(-5.0, 5.0, |w| lambda / 2.0 * w * w + hinge(w));
    let difference = -1.0; // (c[pi] - c[pibar])' phi of the exchanged ranking
    let alpha = minimizer(0.0, 1.0 / lambda, |x| x * x * difference * difference / 2.0 - x);
    let printed = alpha * difference;
    assert!((primal - 0.5).abs() < 1e-6 && (printed + primal).abs() < 1e-6);
    assert_shown("the_weights_have_the_other_sign", &[three(printed), three(primal)]);
}

#[test]
fn a_bundle_keeps_all_planes() {
    // R(w) = |w - 1|, lambda 0.1, from w = 0: as printed only the plane at w_t counts.
    let lambda = 0.1;
    let run = |all: bool| {
        let (mut planes, mut visited) = (Vec::new(), vec![0.0_f64]);
        for _ in 0..3 {
            let w = visited[visited.len() - 1];
            let slope = if w < 1.0 { -1.0 } else { 1.0 };
            if !all {
                planes.clear();
            }
            planes.push((slope, (w - 1.0).abs() - slope * w));
            let lower = |x: f64| {
                planes.iter().map(|(slope, offset)| slope * x + offset).fold(f64::NEG_INFINITY, f64::max)
            };
            visited.push(minimizer(-20.0, 20.0, |x| lambda / 2.0 * x * x + lower(x)));
        }
        visited[1..].iter().map(|w| format!("{w:.0}")).collect::<Vec<_>>().join(", ")
    };
    let (printed, meant) = (run(false), run(true));
    assert_eq!((printed.as_str(), meant.as_str()), ("10, -10, 10", "10, 1, 1"));
    assert_shown("a_bundle_keeps_all_planes", &[printed, meant]);
}

/// The smooth score of two documents with the gains (1, 0), sigma 0.1.
fn smooth_score(s: [f64; 2], a: [f64; 2]) -> f64 {
    let sorted = if s[0] >= s[1] { s } else { [s[1], s[0]] };
    let at = |j: usize| {
        let h = s.map(|s| (-(s - sorted[j]).powi(2) / (2.0 * 0.01)).exp());
        a[j] * h[0] / (h[0] + h[1])
    };
    at(0) + at(1)
}

#[test]
fn a_smooth_score_needs_positions() {
    let (good, bad) = ([1.0, 0.0], [0.0, 1.0]);
    let printed = [smooth_score(good, [1.0, 1.0]), smooth_score(bad, [1.0, 1.0])];
    assert!(is_near(printed[0], 1.0) && is_near(printed[1], 1.0));
    let a = [discount(1), discount(2)];
    let shown = [three(smooth_score(good, a)), three(smooth_score(bad, a))];
    assert_shown("a_smooth_score_needs_positions", &shown);
}

#[test]
fn a_score_is_maximized() {
    // One feature, 1 and 0, w from -1 to 1, lambda 0.01, w_0 = 0: the minimum as printed ranks document 1 last.
    let a = [discount(1), discount(2)];
    let best = |sign: f64| {
        let objective = |w: f64| 0.01 * w * w + sign * smooth_score([w, 0.0], a);
        let steps = (-100..=100).map(|step| f64::from(step) / 100.0);
        steps.min_by(|x, y| objective(*x).total_cmp(&objective(*y))).expect("steps")
    };
    let (printed, meant) = (best(1.0), best(-1.0));
    assert!(printed < 0.0 && meant > 0.0);
    // Without the half: the minimum of lambda w^2 - w instead of lambda / 2 w^2 - w, lambda 1.
    let whole = minimizer(-5.0, 5.0, |w| w * w - w);
    let half = minimizer(-5.0, 5.0, |w| w * w / 2.0 - w);
    let shown = [format!("{printed:.2}"), format!("{meant:.2}"), three(whole), three(half)];
    assert_shown("a_score_is_maximized", &shown);
}

#[test]
fn frobenius_norms_are_twice_the_trace_norm() {
    // X = diag(3, 1), U = V = its square root.
    let singular: [f64; 2] = [3.0, 1.0];
    let trace_norm: f64 = singular.iter().sum();
    let frobenius: f64 = 2.0 * singular.iter().map(|value| value.sqrt().powi(2)).sum::<f64>();
    let shown = [format!("{frobenius:.0}"), format!("{trace_norm:.0}")];
    assert_shown("frobenius_norms_are_twice_the_trace_norm", &shown);
}

#[test]
fn a_sum_has_another_lambda_than_a_mean() {
    // Four equal queries with the hinge, lambda 2.
    let mean = minimizer(-5.0, 5.0, |w| hinge(w) + w * w);
    let sum = minimizer(-5.0, 5.0, |w| 4.0 * hinge(w) + w * w);
    let rescaled = minimizer(-5.0, 5.0, |w| 4.0 * hinge(w) + 4.0 * w * w);
    assert!(is_near(mean, rescaled));
    assert_shown("a_sum_has_another_lambda_than_a_mean", &[three(sum), three(mean)]);
}

#[test]
fn equal_gains_have_no_regret() {
    // Two documents with the same gain; the second has the score 1: the reference keeps the first above.
    let c = [discount(1), discount(2)];
    let of_20 = BOTH.map(|p| value(c, [0.0, 1.0], p)).into_iter().fold(f64::NEG_INFINITY, f64::max)
        - value(c, [0.0, 1.0], BOTH[0]);
    assert_shown("equal_gains_have_no_regret", &[three(of_20)]);
}

// Xu, Fang & Wang (2014)

#[test]
fn the_large_eigenvalues_are_kept() {
    // Linear kernel, x = y = 0, 1, 3: one eigenvalue above 0, the sum of squares around the mean over n - 1.
    let x = [0.0, 1.0, 3.0];
    let mean = x.iter().sum::<f64>() / 3.0;
    let eigenvalue = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 2.0;
    let pair_loss = |slope: f64| {
        let pairs = x.iter().flat_map(|a| x.iter().map(move |b| a - b));
        pairs.map(|d| (slope * d - d).powi(2)).sum::<f64>() / 6.0
    };
    // gamma = 1: as printed, no function with a value that differs between documents is left, so the slope is 0.
    assert!(eigenvalue > 1.0);
    let shown = [three(eigenvalue), three(pair_loss(0.0)), three(pair_loss(1.0))];
    assert_shown("the_large_eigenvalues_are_kept", &shown);
}

// Olinto & Fokoue (2018)

#[test]
fn probabilities_add_up_to_one() {
    // Three documents with equal scores, so phi = 1.
    let sum = |first: fn(usize) -> usize| {
        let one = |_: &Vec<usize>| (0..3).map(|i| 1.0 / (3 - first(i)) as f64).product::<f64>();
        orders(3).iter().map(one).sum::<f64>()
    };
    let (printed, meant) = (sum(|_| 0), sum(|i| i));
    assert_shown("probabilities_add_up_to_one", &[three(printed), three(meant)]);
}

/// A query of three documents with grades 2, 1, 0 and one feature: the kernel matrix (Gaussian), theta, and the loss
/// of document 1 with alpha = beta = 1, in natural logarithms.
struct Kernelized {
    kernel: [[f64; 3]; 3],
    theta: [f64; 3],
}

impl Kernelized {
    fn new() -> Self {
        let x = [0.0_f64, 1.0, 3.0];
        Self { kernel: x.map(|a| x.map(|b| (-(a - b).powi(2) / 2.0).exp())), theta: [0.5, -0.3, 0.2] }
    }

    /// x_t = exp(f(x_t) - f(x_1)) for the documents t below.
    fn below(&self, theta: &[f64; 3]) -> [f64; 2] {
        let f = self.kernel.map(|row| dot(&row, theta));
        [(f[1] - f[0]).exp(), (f[2] - f[0]).exp()]
    }

    fn loss(&self, theta: &[f64; 3]) -> f64 {
        (1.0 + self.below(theta).iter().sum::<f64>()).ln()
    }

    /// Derivative by theta_l, by differences.
    fn slope(&self, at: &[f64; 3], l: usize) -> f64 {
        let step = 1e-5;
        let (mut up, mut down) = (*at, *at);
        up[l] += step;
        down[l] -= step;
        (self.loss(&up) - self.loss(&down)) / (2.0 * step)
    }

    /// K(x_t, x_l) - K(x_1, x_l) of the documents t below.
    fn differences(&self, l: usize) -> [f64; 2] {
        [self.kernel[1][l] - self.kernel[0][l], self.kernel[2][l] - self.kernel[0][l]]
    }
}

#[test]
fn a_derivative_has_one_kernel() {
    let query = Kernelized::new();
    let x = query.below(&query.theta);
    let total = 1.0 + x[0] + x[1];
    let summed: Vec<f64> = (0..2).map(|t| (0..3).map(|l| query.differences(l)[t]).sum()).collect();
    let printed = dot(&x, &summed) / total;
    let meant = dot(&x, &query.differences(0)) / total;
    assert!((meant - query.slope(&query.theta, 0)).abs() < 1e-8);
    assert_shown("a_derivative_has_one_kernel", &[three(printed), three(meant)]);
}

#[test]
fn a_hessian_has_more_than_a_diagonal() {
    let query = Kernelized::new();
    let second = |k: usize, l: usize| {
        let step = 1e-4;
        let (mut up, mut down) = (query.theta, query.theta);
        up[k] += step;
        down[k] -= step;
        (query.slope(&up, l) - query.slope(&down, l)) / (2.0 * step)
    };
    let (x, d) = (query.below(&query.theta), query.differences(0));
    let total = 1.0 + x[0] + x[1];
    // Without the sum over l, as in the row above; right for one document below only.
    let printed = (x[0] * d[0] * d[0] + x[1] * d[1] * d[1]) / (total * total);
    let meant = (x[0] * d[0] * d[0] + x[1] * d[1] * d[1]) / total - (dot(&x, &d) / total).powi(2);
    assert!((meant - second(0, 0)).abs() < 1e-5);
    let shown = [three(printed), three(meant), three(second(0, 1))];
    assert_shown("a_hessian_has_more_than_a_diagonal", &shown);
}

#[test]
fn a_squared_distance_is_the_gaussian_kernel() {
    let (gamma, sigma, distance) = (0.5_f64, 1.0_f64, 2.0_f64);
    let printed = (-gamma * distance.powi(2)).exp();
    assert!(is_near(printed, (-distance.powi(2) / (2.0 * sigma * sigma)).exp()));
    let shown = [three(printed), three((-gamma * distance).exp())];
    assert_shown("a_squared_distance_is_the_gaussian_kernel", &shown);
}

#[test]
fn list_mle_exceeds_one() {
    // Two documents in the wrong order, five apart.
    let loss = (1.0 + 5.0_f64.exp()).ln();
    assert_shown("list_mle_exceeds_one", &[three(loss)]);
}

/// Every test of this file has a row.
#[test]
fn every_computation_has_a_row() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).expect("a readable file");
    let (page, code) = (read("docs/papers.md"), read("tests/docs/misprints.rs"));
    let names = |text: &str, before: &str, after: char| -> BTreeSet<String> {
        let pieces = text.split(before).skip(1);
        pieces.filter_map(|piece| piece.split_once(after)).map(|(name, _)| name.to_owned()).collect()
    };
    let mut tests = names(&code, "#[test]\nfn ", '(');
    assert!(tests.remove("every_computation_has_a_row"));
    assert_eq!(names(&page, "misprints.rs::", '`'), tests);
}
