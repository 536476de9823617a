//! Every method against all permutations on small problems, and against the dense method on larger ones.

use proptest::prelude::*;

use super::*;

/// The largest sum over all ways to give every row a different column.
fn brute_force(matrix: &[f64], columns: usize, row: usize, used: &mut Vec<bool>) -> f64 {
    if row * columns == matrix.len() {
        return 0.0;
    }
    let mut best = f64::NEG_INFINITY;
    for column in 0..columns {
        if !used[column] {
            used[column] = true;
            let rest = brute_force(matrix, columns, row + 1, used);
            used[column] = false;
            best = best.max(matrix[row * columns + column] + rest);
        }
    }
    best
}

/// A problem of ranking, with many ties where `tied`.
#[derive(Debug, Clone)]
struct Problem {
    a: Vec<f64>,
    b: Vec<f64>,
    c: Vec<f64>,
    scores: Vec<f64>,
}

fn decaying(mut weights: Vec<f64>, support: usize) -> Vec<f64> {
    weights.sort_by(|x, y| y.total_cmp(x));
    weights.iter_mut().skip(support).for_each(|weight| *weight = 0.0);
    weights
}

/// Numbers of a coarse grid, so that many are equal, or any.
fn numbers(low: f64, high: f64, count: usize) -> impl Strategy<Value = Vec<f64>> {
    let tied = move |steps: f64| {
        let coarse = move |x: f64| (x * steps).round() / steps;
        proptest::collection::vec((low..high).prop_map(coarse), count)
    };
    prop_oneof![tied(1.0), tied(2.0), proptest::collection::vec(low..high, count)]
}

fn problems(most: usize) -> impl Strategy<Value = Problem> {
    (1..=most).prop_flat_map(|l| {
        let b = prop_oneof![numbers(0.0, 3.0, l), numbers(-3.0, 3.0, l)];
        (numbers(0.0, 4.0, l), b, numbers(0.0, 4.0, l), numbers(-3.0, 3.0, l), 0..=l, 0..=l).prop_map(
            |(a, b, c, scores, in_a, in_c)| Problem { a: decaying(a, in_a), b, c: decaying(c, in_c), scores },
        )
    })
}

impl Problem {
    fn ranking(&self) -> Ranking {
        Ranking::new(&self.a, &self.b, &self.c)
    }

    fn matrix(&self) -> Vec<f64> {
        let rows = self.a.iter().zip(&self.c);
        rows.flat_map(|(a, c)| self.scores.iter().zip(&self.b).map(move |(s, b)| c * s - a * b)).collect()
    }

    /// Every method that is exact for this problem.
    fn methods(&self) -> Vec<Method> {
        let ranking = self.ranking();
        let (in_a, in_c) = (support(&ranking.a, usize::MAX), support(&ranking.c, usize::MAX));
        let mut methods = vec![Method::Dense, Method::Levels(Levels::new(&self.b))];
        for head in in_a..=ranking.positions() {
            methods.push(Method::ScoreTail(head));
        }
        for head in in_c..=ranking.positions() {
            methods.push(Method::LabelTail(head, self.b.iter().map(|b| -b).collect()));
        }
        if ranking.a == ranking.c {
            methods.push(Method::Sorted);
        }
        methods
    }

    fn check(&self, expected: f64) -> Result<(), TestCaseError> {
        let mut workspace = Workspace::default();
        let chosen = self.ranking().maximize(&self.scores, &mut workspace);
        prop_assert!((chosen - expected).abs() < 1e-10, "chosen: {} {}", chosen, expected);
        for method in self.methods() {
            let ranking = Ranking { method, ..self.ranking() };
            let actual = ranking.maximize(&self.scores, &mut workspace);
            prop_assert!((actual - expected).abs() < 1e-10, "{:?}: {} {}", ranking.method, actual, expected);
            let mut documents = workspace.chosen().to_vec();
            documents.sort_unstable();
            documents.dedup();
            prop_assert_eq!(documents.len(), ranking.positions());
        }
        Ok(())
    }
}

proptest! {
    #[test]
    fn every_method_finds_the_maximum_over_permutations(problem in problems(6)) {
        let columns = problem.b.len();
        problem.check(brute_force(&problem.matrix(), columns, 0, &mut vec![false; columns]))?;
    }

    #[test]
    fn equal_weights_are_sorted(problem in problems(7)) {
        let problem = Problem { c: problem.a.clone(), ..problem };
        let columns = problem.b.len();
        problem.check(brute_force(&problem.matrix(), columns, 0, &mut vec![false; columns]))?;
    }

    #[test]
    fn every_method_agrees_on_larger_problems(problem in problems(40)) {
        let columns = problem.b.len();
        problem.check(maximize(&problem.matrix(), columns, columns, &mut Workspace::default()))?;
    }

    #[test]
    fn any_matrix_is_maximized((columns, rows, entries) in (1usize..=7).prop_flat_map(|columns| {
        (Just(columns), 1..=columns, numbers(-3.0, 3.0, columns * columns))
    })) {
        let matrix = &entries[..rows * columns];
        let actual = maximize(matrix, rows, columns, &mut Workspace::default());
        let expected = brute_force(matrix, columns, 0, &mut vec![false; columns]);
        prop_assert!((actual - expected).abs() < 1e-12, "{} {}", actual, expected);
    }

    #[test]
    fn a_workspace_carries_nothing_over(problem in problems(12), other in problems(12)) {
        let mut fresh = Workspace::default();
        let value = problem.ranking().maximize(&problem.scores, &mut fresh);
        let mut used = Workspace::default();
        for method in other.methods() {
            Ranking { method, ..other.ranking() }.maximize(&other.scores, &mut used);
        }
        let again = problem.ranking().maximize(&problem.scores, &mut used);
        prop_assert_eq!(value.to_bits(), again.to_bits());
        prop_assert_eq!(fresh.chosen(), used.chosen());
    }

    #[test]
    fn the_best_are_the_first_of_the_stable_order(values in numbers(-2.0, 2.0, 20), count in 0usize..25) {
        let mut actual = Vec::new();
        best(&values, count, &mut actual);
        let expected: Vec<u32> = order::descending(&values).into_iter().take(count).map(|j| j as u32).collect();
        prop_assert_eq!(actual, expected);
    }
}

#[test]
fn weights_that_rise_are_left_to_the_dense_method() {
    let ranking = Ranking::new(&[1.0, 1.0], &[0.0, 1.0], &[0.0, 1.0]);
    assert!(matches!(ranking.method, Method::Dense));
    assert!((ranking.maximize(&[2.0, 1.0], &mut Workspace::default()) - 1.0).abs() < 1e-15);
}

#[test]
fn the_method_follows_the_weights() {
    let b: Vec<f64> = (0..200).map(|j| f64::from(j % 5)).collect();
    let falling =
        |count: u32| -> Vec<f64> { (0..200).map(|p| 1.0 / f64::from(p + 1)).take(count as usize).collect() };
    let linear = |count: u32| -> Vec<f64> { (0..count).map(|p| f64::from(count - p)).collect() };
    let method = |a: &[f64], c: &[f64]| Ranking::new(a, &b, c).method;
    assert!(matches!(method(&falling(10), &linear(10)), Method::Levels(_)));
    assert!(matches!(method(&falling(10), &falling(200)), Method::ScoreTail(10)));
    assert!(matches!(method(&falling(200), &linear(10)), Method::LabelTail(10, _)));
    assert!(matches!(method(&falling(10), &falling(10)), Method::Sorted));
}

#[test]
fn more_positions_than_documents_leave_positions_out() {
    let ranking = Ranking::new(&[1.0; 5], &[1.0, 0.0], &[3.0, 2.0, 1.0]);
    let mut workspace = Workspace::default();
    assert!((ranking.maximize(&[1.0, 1.0], &mut workspace) - 4.0).abs() < 1e-15);
    assert_eq!(workspace.chosen().len(), 2);
    assert!(Ranking::new(&[0.0; 3], &[1.0], &[]).maximize(&[1.0], &mut workspace).abs() < 1e-15);
    assert!(workspace.chosen().is_empty());
}
