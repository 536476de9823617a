//! Training steps against direct computations, and bitwise reproducibility.

use super::histogram::{Cut, Histograms, Level};
use super::objective::QueryObjective;
use super::rows::{Packing, RandomWeights, Shard, shards};
use super::*;
use crate::base::{Control, Error, Memory, Params};
use crate::data::{Matrix, shaped};
use crate::math::Random;

const N: usize = 300;
const WIDTH: usize = 5;

/// Judged documents with missing values.
struct Set {
    features: Matrix,
    offsets: Vec<usize>,
    grades: Vec<f64>,
    query_weights: Vec<f64>,
    row_weights: Vec<f64>,
}

impl Set {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut values: Vec<f64> = (0..N * WIDTH).map(|_| random.below(40) as f64 / 8.0).collect();
        for value in values.iter_mut().step_by(7) {
            *value = f64::NAN;
        }
        let mut offsets = vec![0];
        while offsets[offsets.len() - 1] < N {
            offsets.push(N.min(offsets[offsets.len() - 1] + 1 + random.below(20)));
        }
        let queries = offsets.len() - 1;
        Self {
            features: Matrix::F64(shaped(N, WIDTH, values)),
            offsets,
            grades: (0..N).map(|_| random.below(4) as f64).collect(),
            query_weights: (0..queries).map(|_| 0.5 + random.below(3) as f64).collect(),
            row_weights: (0..N).map(|_| random.below(3) as f64).collect(),
        }
    }

    fn targets(&self) -> Targets<'_> {
        Targets {
            offsets: &self.offsets,
            grades: &self.grades,
            query_weights: &self.query_weights,
            row_weights: &self.row_weights,
            start: &[],
            loss: None,
        }
    }
}

const OPTIONS: TreeOptions = TreeOptions {
    depth: 3,
    learning_rate: Some(0.5),
    trees: 240,
    feature_fraction: Some(1.0),
    bins: 9,
    row_weights: RowWeights::Equal,
    seed: 1,
};

/// One shard with gradients, packed.
fn packed(set: &Set) -> (Shard, Packing) {
    let mut shard = shards(set.targets()).remove(0);
    let largest = shard.largest_weight();
    shard.divide_weights(largest);
    let (gradients, weights) = shard.find_gradients();
    let packing = Packing::new(N, 1.0, gradients, weights, false);
    shard.pack(packing);
    (shard, packing)
}

/// Every split of every feature of two levels, from sums of packed numbers over the rows.
#[test]
fn the_best_split_matches_brute_force() {
    for seed in 0..20 {
        let set = Set::new(seed);
        let control = Control::default();
        let prepared = Prepared::new(&set.features, OPTIONS.bins, 0, &control).unwrap();
        let (mut shard, packing) = packed(&set);
        let features: Vec<usize> = (0..WIDTH).collect();
        let mut histograms = Histograms::new(&prepared.binned, &prepared.edges, WIDTH, 2);
        let level =
            Level { number: 0, features: &features, packing, ridge: 3.0, smaller_above: &[], signs: &[] };
        let first = histograms.best(std::slice::from_ref(&shard), level, &control).unwrap();
        let expected = brute_force(&shard, &prepared, level);
        assert_eq!(first, expected, "{seed}");
        // The second level reads the rows of the smaller half only.
        let bins = histograms.column(first.feature, &Control::default()).unwrap();
        let smaller_above = histograms.smaller_above(first, level);
        shard.divide(&bins, |bin| first.is_above(bin), 0, &smaller_above);
        let level = Level { number: 1, smaller_above: &smaller_above, ..level };
        let second = histograms.best(std::slice::from_ref(&shard), level, &control).unwrap();
        assert_eq!(second, brute_force(&shard, &prepared, level), "{seed}");
    }
}

fn brute_force(shard: &Shard, prepared: &Prepared, level: Level<'_>) -> Cut {
    let mut best: Option<Cut> = None;
    for feature in 0..WIDTH {
        let of = prepared.edges.of(feature);
        for missing_above in [false, true] {
            let last = of.edges.len() + usize::from(missing_above);
            for bin in 1..=last.max(1) as u8 {
                let cut = Cut { feature, bin, missing_above, score: 0.0 };
                let mut score = 0.0;
                for leaf in 0..1 << level.number {
                    let mut sums = [0_i64; 2];
                    let bins = prepared.binned.columns[feature].bins(&Control::default()).unwrap();
                    for (row, bin) in bins.iter().enumerate() {
                        if usize::from(shard.leaves[row]) == leaf {
                            sums[usize::from(cut.is_above(*bin))] += shard.packed[row];
                        }
                    }
                    let part = |sum: i64| {
                        let (g, w) = level.packing.unpack(sum);
                        g * g / (w + level.ridge)
                    };
                    score += part(sums[0]) + part(sums[1]);
                }
                if best.is_none_or(|best| score > best.score) {
                    best = Some(Cut { score, ..cut });
                }
            }
        }
    }
    best.unwrap()
}

#[test]
fn packed_sums_match_gradients_and_weights() {
    let set = Set::new(3);
    let (shard, packing) = packed(&set);
    let sum: i64 = shard.packed.iter().sum();
    let (g, w) = packing.unpack(sum);
    let weights: f64 = shard.weights.iter().sum();
    assert!((w / packing.weight_scale - weights).abs() <= 0.5 * N as f64 / packing.weight_scale);
    assert!((g - packing.gradient_scale * shard.gradients.iter().sum::<f64>()).abs() <= 0.5 * N as f64);
    assert!(shard.gradients.iter().sum::<f64>().abs() < 1e-9, "gradients of a query add up to 0");
}

/// The normal equations of centered indicators, row by row, with the matrix inverted by elimination.
#[test]
fn values_of_leaves_solve_the_centered_problem() {
    for seed in 0..10 {
        let set = Set::new(seed);
        let (mut shard, _) = packed(&set);
        let mut random = Random::new(seed);
        let leaves = 8;
        shard.leaves.iter_mut().for_each(|leaf| *leaf = random.below(leaves) as u8);
        let found =
            super::leaves::values(std::slice::from_ref(&shard), leaves, 2.0, &Control::default()).unwrap();
        let (mut matrix, mut right) = (vec![vec![0.0; leaves]; leaves], vec![0.0; leaves]);
        for query in set.offsets.windows(2) {
            let rows = query[0]..query[1];
            let total: f64 = shard.weights[rows.clone()].iter().sum();
            if total <= 0.0 {
                continue;
            }
            let mean = |value: &dyn Fn(usize) -> f64| {
                rows.clone().map(|row| shard.weights[row] * value(row)).sum::<f64>() / total
            };
            let is_in = |row: usize, leaf: usize| f64::from(u8::from(usize::from(shard.leaves[row]) == leaf));
            let means: Vec<f64> = (0..leaves).map(|leaf| mean(&|row| is_in(row, leaf))).collect();
            let grade = mean(&|row| set.grades[row]);
            for row in rows.clone() {
                let weight = shard.weights[row];
                for i in 0..leaves {
                    let x = is_in(row, i) - means[i];
                    right[i] += weight * x * (set.grades[row] - grade);
                    (0..leaves).for_each(|j| matrix[i][j] += weight * x * (is_in(row, j) - means[j]));
                }
            }
        }
        matrix.iter_mut().enumerate().for_each(|(i, row)| row[i] += 2.0);
        for (i, row) in matrix.iter().enumerate() {
            let left: f64 = row.iter().zip(&found).map(|(a, v)| a * v).sum();
            assert!((left - right[i]).abs() < 1e-9, "{left} {}", right[i]);
        }
    }
}

/// Weights are query weights times second derivatives; gradients are negative and weighted by query.
#[test]
fn lambda_rank_gives_newton_steps() {
    let loss = crate::cost::loss::find("lambda_rank").unwrap().make(&Params::default()).unwrap();
    for seed in 0..5 {
        let set = Set::new(seed);
        let targets = Targets { row_weights: &[], loss: Some(&loss), ..set.targets() };
        let mut shard = shards(targets).remove(0);
        let mut random = Random::new(seed);
        for _ in 0..2 {
            shard.scores.iter_mut().for_each(|score| *score = random.symmetric());
            shard.reset_weights();
            shard.find_gradients();
            for (query, weight) in set.offsets.windows(2).zip(&set.query_weights) {
                let rows = query[0]..query[1];
                let objective = QueryObjective::new(&loss, &set.grades[rows.clone()], &[]);
                let (mut g, mut h) = (vec![0.0; rows.len()], vec![0.0; rows.len()]);
                assert!(objective.newton(&shard.scores[rows.clone()], &mut g, &mut h));
                for ((row, g), h) in rows.zip(g).zip(h) {
                    assert!((shard.gradients[row] + weight * g).abs() < 1e-12, "{seed}");
                    assert!((shard.weights[row] - weight * h).abs() < 1e-12, "{seed}");
                }
            }
        }
    }
}

fn trained(set: &Set, options: TreeOptions, trees: usize, control: &Control) -> Result<Fitted, Error> {
    let prepared = Prepared::new(&set.features, options.bins, 0, control)?;
    let mut boosting = Boosting::new(&prepared, set.targets(), options, control)?;
    let mut losses = vec![Boosting::objective(std::slice::from_ref(&boosting))];
    for _ in 0..trees {
        boosting.step(control)?;
        losses.push(Boosting::objective(std::slice::from_ref(&boosting)));
    }
    if options.row_weights == RowWeights::Equal {
        assert!(losses.windows(2).all(|pair| pair[1] <= pair[0]), "{losses:?}");
    }
    let scores = boosting.scores();
    let fitted = Boosting::mean(vec![boosting]);
    let found = fitted.forest.scores(&set.features, 0..N, &fitted.values, control)?;
    assert_eq!(scores, found, "scores of training rows");
    Ok(fitted)
}

#[test]
fn the_loss_falls_and_the_stored_trees_score_the_training_rows() {
    let set = Set::new(5);
    let fitted = trained(&set, OPTIONS, 20, &Control::default()).unwrap();
    assert_eq!((fitted.forest.trees(), fitted.values.len()), (20, 160));
    fitted.forest.validate(WIDTH).unwrap();
    let again = Forest::new(OPTIONS.depth, &fitted.forest.splits().collect::<Vec<Split>>());
    assert_eq!(again, fitted.forest);
    // One document alone has the bits that it has among others.
    let all = fitted.forest.scores(&set.features, 0..N, &fitted.values, &Control::default()).unwrap();
    for (row, score) in all.iter().enumerate() {
        let alone = fitted.forest.scores(&set.features, row..row + 1, &fitted.values, &Control::default());
        assert_eq!(alone.unwrap()[0].to_bits(), score.to_bits());
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    // Several shards: ids of rows repeat.
    let one = Set::new(9);
    let copies = 60;
    let mut offsets = vec![0];
    for copy in 0..copies {
        offsets.extend(one.offsets[1..].iter().map(|offset| copy * N + offset));
    }
    let repeat = |values: &[f64]| values.repeat(copies);
    let mut random = Random::new(1);
    let values: Vec<f64> = (0..copies * N * WIDTH).map(|_| random.symmetric()).collect();
    let set = Set {
        features: Matrix::F64(shaped(copies * N, WIDTH, values)),
        offsets,
        grades: repeat(&one.grades),
        query_weights: repeat(&one.query_weights),
        row_weights: repeat(&one.row_weights),
    };
    let options = TreeOptions {
        row_weights: RowWeights::Exponential,
        feature_fraction: Some(0.6),
        bins: 255,
        ..OPTIONS
    };
    let fit = || {
        let control = Control::default();
        let prepared = Prepared::new(&set.features, options.bins, 0, &control).unwrap();
        let mut boosting = Boosting::new(&prepared, set.targets(), options, &control).unwrap();
        for _ in 0..5 {
            boosting.step(&control).unwrap();
        }
        let fitted = Boosting::mean(vec![boosting]);
        (fitted.forest, fitted.values.iter().map(|value| value.to_bits()).collect::<Vec<u64>>())
    };
    assert!(shards(set.targets()).len() > 1);
    let expected = fit();
    for threads in [1, 2, 8] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(pool.install(fit), expected, "{threads} threads");
    }
}

#[test]
fn a_training_stops_wherever_it_is_interrupted() {
    let set = Set::new(2);
    let options = TreeOptions { row_weights: RowWeights::Exponential, ..OPTIONS };
    let mut checks = 0;
    while matches!(trained(&set, options, 3, &Control::canceled_after(checks)), Err(Error::Interrupted)) {
        checks += 1;
    }
    assert!(checks > 10, "{checks}");
}

#[test]
fn memory_is_reserved_first() {
    let set = Set::new(2);
    let control = Control::with_memory(Memory::limited(Some(10_000)));
    let error = trained(&set, OPTIONS, 1, &control).unwrap_err();
    assert!(matches!(error, Error::Memory { .. }), "{error}");
}

#[test]
fn constant_features_are_refused() {
    let set = Set { features: Matrix::F64(shaped(N, 1, vec![2.0; N])), ..Set::new(1) };
    let error = trained(&set, OPTIONS, 1, &Control::default()).unwrap_err().to_string();
    assert!(error.contains("nothing to split"), "{error}");
}

#[test]
fn hostile_trees_are_refused() {
    let split = |feature, threshold| Split { feature, threshold, missing_above: false };
    let refused = |depth, splits: &[Split]| Forest::new(depth, splits).validate(2).is_err();
    assert!(!refused(2, &[split(0, 1.0), split(1, 2.0)]));
    assert!(refused(2, &[]), "no tree");
    assert!(refused(0, &[split(0, 1.0)]) && refused(9, &[split(0, 1.0); 9]), "depths");
    assert!(refused(2, &[split(0, 1.0)]), "half a tree");
    assert!(refused(1, &[split(2, 1.0)]), "a feature that does not exist");
    assert!(refused(1, &[split(0, f64::NAN)]) && refused(1, &[split(0, f64::INFINITY)]), "thresholds");
    let many: Vec<Split> = (0..300).map(|threshold| split(0, f64::from(threshold))).collect();
    assert!(refused(1, &many), "too many thresholds");
    assert_eq!(Forest::new(usize::MAX, &many).trees(), 0);
}

#[test]
fn random_weights_have_the_mean_1() {
    let table = RandomWeights::exponential();
    let mut shard = shards(Set::new(1).targets()).remove(0);
    let given: f64 = shard.weights.iter().sum();
    let drawn: f64 = (0..1000)
        .map(|seed| {
            shard.draw_weights(&table, seed);
            assert!(shard.weights.iter().all(|weight| *weight <= table.largest() * shard.largest_weight()));
            shard.weights.iter().sum::<f64>()
        })
        .sum();
    assert!((drawn / 1000.0 / given - 1.0).abs() < 0.01, "{drawn} {given}");
}

/// All sets of three features, each of which the trees see twice, with repeated splits and missing values.
#[test]
fn contributions_match_a_sum_over_all_feature_sets() {
    let (features, copies) = (3, 2);
    let mut random = Random::new(5);
    for depth in 1..=MAX_DEPTH {
        let trees = 20;
        let splits: Vec<Split> = (0..trees * depth)
            .map(|_| Split {
                feature: random.below(features * copies),
                threshold: random.below(8) as f64,
                missing_above: random.below(2) == 1,
            })
            .collect();
        let forest = Forest::new(depth, &splits);
        let values: Vec<f64> = (0..trees << depth).map(|_| random.symmetric()).collect();
        let mut row = || -> Vec<f64> {
            let value = |_| if random.below(4) == 0 { f64::NAN } else { random.below(9) as f64 };
            (0..features * copies).map(value).collect()
        };
        let (document, base) = (row(), row());
        let actual = forest.contributions(&values, &document, &base, features);
        let score = |set: usize| {
            let of = |column: usize| if set >> (column % features) & 1 == 1 { &document } else { &base };
            let mixed: Vec<f64> = (0..document.len()).map(|column| of(column)[column]).collect();
            forest.score_of(&mixed, &values)
        };
        for (feature, actual) in actual.iter().enumerate() {
            let without = (0..1_usize << features).filter(|set| set >> feature & 1 == 0);
            // s! (n - 1 - s)! / n! for n = 3.
            let weight = |set: usize| [1.0 / 3.0, 1.0 / 6.0, 1.0 / 3.0][set.count_ones() as usize];
            let expected: f64 =
                without.map(|set| weight(set) * (score(set | 1 << feature) - score(set))).sum();
            assert!((actual - expected).abs() < 1e-12, "depth {depth}: {actual} {expected}");
        }
    }
}

/// Boosting lowers every smooth loss, also with query and document weights.
#[test]
fn every_smooth_loss_falls() {
    let set = Set::new(8);
    let names = ["logistic", "squared_hinge", "list_net", "list_mle", "cs_list_mle"];
    for name in names {
        let loss =
            crate::cost::loss::find(name).unwrap().make(&crate::base::param::Params::default()).unwrap();
        let row_weights: &[f64] = if loss.weighs_documents() { &set.row_weights } else { &[] };
        let targets = Targets { loss: Some(&loss), row_weights, ..set.targets() };
        let control = Control::default();
        let prepared = Prepared::new(&set.features, 9, 0, &control).unwrap();
        let mut boosting = Boosting::new(&prepared, targets, OPTIONS, &control).unwrap();
        let objective = |boosting: &Boosting<'_>| Boosting::objective(std::slice::from_ref(boosting));
        let first = objective(&boosting);
        let mut last = first;
        for _ in 0..30 {
            boosting.step(&control).unwrap();
            let next = objective(&boosting);
            assert!(next <= last * (1.0 + 1e-12), "{name}: {next} after {last}");
            last = next;
        }
        assert!(last < 0.9 * first, "{name}: {last} after {first}");
    }
}

/// A loss depends on differences within the query, so gradients with random row weights sum to 0 there.
#[test]
fn gradients_of_losses_are_centered_in_the_query() {
    let set = Set::new(2);
    for name in ["logistic", "list_net", "cs_list_mle"] {
        let loss =
            crate::cost::loss::find(name).unwrap().make(&crate::base::param::Params::default()).unwrap();
        let targets = Targets { loss: Some(&loss), row_weights: &[], ..set.targets() };
        let mut shard = shards(targets).remove(0);
        shard.draw_weights(&RandomWeights::exponential(), 3);
        let (sum, _) = shard.find_gradients();
        assert!(sum > 0.0);
        for query in shard.offsets.windows(2) {
            let of_query = shard.gradients[query[0]..query[1]].iter().sum::<f64>();
            assert!(of_query.abs() < 1e-12 * sum, "{name}: {of_query}");
        }
    }
}
