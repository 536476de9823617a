//! Splits of queries, documents and ratings. They are chosen by a hash, so they do not depend on the order of rows.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::base::{Ticks, checkpoint};
use crate::data::{Dataset, Id};
use crate::math::sort_items;

/// Up to this number of judged queries, or of numbers, all queries are held out in turn. With more, the validated value
/// has a smaller error, and the fits take longer (docs/adr/0024).
const FEW_QUERIES: usize = 200;
const FEW_NUMBERS: f64 = 8e6;

/// Whether one part of the queries is enough to choose on. `numbers`: documents times weights of a function, times the passes
/// over them of the fits of a part, relative to those of one convex function.
pub fn is_enough_data(judged: usize, numbers: f64) -> bool {
    judged > FEW_QUERIES && numbers > FEW_NUMBERS
}

/// Held-out sets of queries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folds {
    /// For each fold, true for the queries held out.
    pub held_out: Vec<Vec<bool>>,
}

impl Folds {
    /// Holds out about `fraction` (above 0, below 1) of the judged queries at a time: each query once, or the first
    /// part alone if one is enough for the `numbers` ([`is_enough_data`]).
    ///
    /// Only `judged` queries, which have documents of different relevance, are held out. There is no fold with fewer than
    /// two of them.
    pub fn by_query(ids: &[Id], judged: &[bool], fraction: f64, numbers: f64, seed: u64) -> Self {
        let candidates = shuffled(ids, judged, seed);
        if candidates.len() < 2 {
            return Self { held_out: Vec::new() };
        }
        let size =
            (fraction * candidates.len() as f64).ceil().clamp(1.0, candidates.len() as f64 - 1.0) as usize;
        let one = is_enough_data(candidates.len(), numbers);
        let folds = if one { 1 } else { candidates.len().div_ceil(size) };
        let fold = |number: usize| {
            let mut held_out = vec![false; ids.len()];
            candidates.iter().skip(number * size).take(size).for_each(|&query| held_out[query] = true);
            held_out
        };
        Self { held_out: (0..folds).map(fold).collect() }
    }

    /// Holds out each judged query once, in `folds` folds of about the same size.
    pub fn of_number(ids: &[Id], judged: &[bool], folds: usize, seed: u64) -> Self {
        let numbers = fold_numbers(ids, judged, folds, seed);
        if numbers.iter().flatten().count() < 2 {
            return Self { held_out: Vec::new() };
        }
        let fold = |fold: usize| numbers.iter().map(|number| *number == Some(fold)).collect();
        let held_out = (0..folds).map(fold).filter(|fold: &Vec<bool>| fold.contains(&true)).collect();
        Self { held_out }
    }
}

/// For each judged query the fold that holds it out; `None` for others. Fold sizes differ by at most 1.
pub fn fold_numbers(ids: &[Id], judged: &[bool], folds: usize, seed: u64) -> Vec<Option<usize>> {
    let mut numbers = vec![None; ids.len()];
    for (index, query) in shuffled(ids, judged, seed).into_iter().enumerate() {
        numbers[query] = Some(index % folds);
    }
    numbers
}

/// Parts of a sequence for forward chaining: for each position its part, from 0 to `parts` - 1. `order` gives the positions
/// that are counted; equal ones are in one part. A part begins where its share of the positions begins, or at the nearest
/// value that leaves a value for every part. With fewer different values than parts, each value is a part. `all`: positions
/// to assign.
pub fn parts_in_order(order: &[Id], all: &[Id], parts: usize) -> Vec<usize> {
    let mut sorted: Vec<&Id> = order.iter().collect();
    sort_items(&mut sorted, Ord::cmp);
    // 1. Where each value begins.
    let n = sorted.len();
    let starts: Vec<usize> =
        (0..n).filter(|index| *index == 0 || sorted[index - 1] < sorted[*index]).collect();
    let parts = parts.min(starts.len());
    // 2. The values at which parts begin, without the first part.
    let mut value = 0;
    let mut begin = |part: usize| {
        let wanted = part * n;
        let next = starts.partition_point(|start| start * parts < wanted);
        let is_nearer = |next: &usize| starts[*next] * parts - wanted < wanted - starts[next - 1] * parts;
        let nearest = Some(next).filter(|next| *next < starts.len()).filter(is_nearer).unwrap_or(next - 1);
        value = nearest.clamp(value + 1, starts.len() - (parts - part));
        sorted[starts[value]]
    };
    let begins: Vec<&Id> = (1..parts).map(&mut begin).collect();
    all.iter().map(|position| begins.partition_point(|begin| *begin <= position)).collect()
}

/// The judged queries, shuffled by their ids and the seed.
fn shuffled(ids: &[Id], judged: &[bool], seed: u64) -> Vec<usize> {
    let mut queries: Vec<usize> = (0..ids.len()).filter(|query| judged[*query]).collect();
    sort_by_hash(&mut queries, &|query| hash(&ids[query], 0, seed));
    queries
}

/// Operations, for [`Ticks`], of a hash.
const HASH_COST: usize = 64;

/// Sorts indices by their hashes; equal hashes are ordered by index.
fn sort_by_hash(indices: &mut [usize], hash: &dyn Fn(usize) -> u64) {
    let mut ticks = Ticks::default();
    let mut keys: Vec<(u64, usize)> = Vec::with_capacity(indices.len());
    for &index in &*indices {
        ticks.add(HASH_COST);
        keys.push((hash(index), index));
    }
    sort_items(&mut keys, Ord::cmp);
    indices.iter_mut().zip(keys).for_each(|(index, (_, sorted))| *index = sorted);
}

/// Whether each document (row) is held out: about `fraction` of every query with two or more documents, at least one and
/// never all.
pub fn held_out_documents(data: &Dataset, fraction: f64, seed: u64) -> Vec<bool> {
    let mut held_out = vec![false; data.n_docs()];
    for query in 0..data.n_queries() {
        checkpoint();
        let rows = data.rows(query);
        if rows.len() < 2 {
            continue;
        }
        let size = (fraction * rows.len() as f64).ceil().min(rows.len() as f64 - 1.0) as usize;
        let mut order: Vec<usize> = rows.clone().collect();
        sort_by_hash(&mut order, &|row| hash(&data.query_ids[query], 1 + row - rows.start, seed));
        order[..size].iter().for_each(|&row| held_out[row] = true);
    }
    held_out
}

/// For each item that a user has rated the fold that holds it out. There are about `size` folds of equal size; the order of
/// items depends on both ids and the seed. A single item is not held out.
pub fn rating_folds(user: &Id, items: &[&Id], size: f64, seed: u64) -> Vec<Option<usize>> {
    checkpoint();
    let mut folds = vec![None; items.len()];
    if items.len() < 2 {
        return folds;
    }
    let mut order: Vec<usize> = (0..items.len()).collect();
    let seed = hash(user, 0, seed);
    sort_by_hash(&mut order, &|item| hash(items[item], 0, seed));
    let mut round = 0.0;
    for (index, item) in order.into_iter().enumerate() {
        // The first of each round of `size` items belongs to fold 0, the next one to fold 1, and so on.
        if index as f64 >= round + size {
            round += size;
        }
        folds[item] = Some((index as f64 - round) as usize);
    }
    folds
}

/// Equal ids have equal hashes, also an INTEGER and a REAL of the same value.
fn hash(id: &Id, number: usize, seed: u64) -> u64 {
    let mut bytes = match id {
        Id::Blob(bytes) => bytes.to_vec(),
        Id::Real(value) if Id::Integer(*value as i64) == *id => format!("{}", *value as i64).into_bytes(),
        _ => format!("{id}").into_bytes(),
    };
    bytes.extend((number as u64).to_le_bytes());
    xxh3_64_with_seed(&bytes, seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(n: i64) -> Vec<Id> {
        (0..n).map(Id::Integer).collect()
    }

    #[test]
    fn few_queries_are_each_held_out_once() {
        let folds = Folds::by_query(&ids(32), &[true; 32], 0.2, 1e9, 0).held_out;
        assert_eq!(folds.len(), 5);
        for query in 0..32 {
            assert_eq!(folds.iter().filter(|fold| fold[query]).count(), 1);
        }
    }

    #[test]
    fn of_much_data_one_part_is_held_out_and_the_seed_matters() {
        assert_eq!(Folds::by_query(&ids(1000), &[true; 1000], 0.2, 1e6, 0).held_out.len(), 5);
        let first = Folds::by_query(&ids(1000), &[true; 1000], 0.2, 1e9, 0).held_out;
        assert_eq!(first.len(), 1);
        assert_eq!(first[0].iter().filter(|held| **held).count(), 200);
        assert_ne!(first, Folds::by_query(&ids(1000), &[true; 1000], 0.2, 1e9, 1).held_out);
    }

    #[test]
    fn ids_of_every_class_are_told_apart_and_equal_ones_are_not() {
        let blob = |n: u8| Id::Blob([7, n].into());
        assert_ne!(hash(&blob(1), 0, 0), hash(&blob(2), 0, 0));
        assert_ne!(hash(&Id::Real(0.5), 0, 0), hash(&Id::Real(0.25), 0, 0));
        assert_eq!(hash(&Id::Real(3.0), 0, 0), hash(&Id::Integer(3), 0, 0));
    }

    /// Ids in order. Each value is repeated: `sizes` has the numbers of equal ids.
    fn positions(sizes: &[usize]) -> Vec<Id> {
        let of = |(value, size): (usize, &usize)| vec![Id::Integer(value as i64); *size];
        sizes.iter().enumerate().flat_map(of).collect()
    }

    fn sizes_of_parts(sizes: &[usize], parts: usize) -> Vec<usize> {
        let all = positions(sizes);
        let found = parts_in_order(&all, &all, parts);
        assert!(found.is_sorted(), "{sizes:?} {found:?}");
        (0..parts).map(|part| found.iter().filter(|found| **found == part).count()).collect()
    }

    /// Sizes from 1 to 4 of up to six values: every part has a value, and is larger than its share by less than a value.
    #[test]
    fn parts_in_order_have_a_value_each_and_about_the_same_size() {
        for values in 1..=6_u32 {
            for number in 0..4_usize.pow(values) {
                let sizes: Vec<usize> =
                    (0..values).map(|value| 1 + number / 4_usize.pow(value) % 4).collect();
                let (n, largest) = (sizes.iter().sum::<usize>(), sizes.iter().max().unwrap());
                for parts in 1..=sizes.len() {
                    let found = sizes_of_parts(&sizes, parts);
                    let fits = |size: &usize| *size > 0 && size * parts <= n + largest * parts;
                    assert!(found.iter().all(fits), "{sizes:?} {found:?}");
                }
            }
        }
        assert_eq!(sizes_of_parts(&[9, 10, 11, 10], 4), [9, 10, 11, 10]);
        assert_eq!(sizes_of_parts(&[1; 36], 5), [7, 7, 8, 7, 7]);
        assert_eq!(sizes_of_parts(&[50, 1, 1, 1, 50], 3), [50, 3, 50]);
        assert_eq!(sizes_of_parts(&[3, 3], 3), [3, 3, 0], "fewer values than parts");
    }

    #[test]
    fn positions_that_are_not_counted_go_with_their_neighbors() {
        let counted = [2, 4, 6].map(Id::Integer);
        let all = [1, 2, 3, 4, 5, 6, 7].map(Id::Integer);
        assert_eq!(parts_in_order(&counted, &all, 3), [0, 0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn queries_without_judgments_are_never_held_out() {
        let mut judged = [true; 10];
        judged[3] = false;
        let folds = Folds::by_query(&ids(10), &judged, 0.5, 1.0, 0).held_out;
        assert!(folds.iter().all(|fold| !fold[3]));
        assert!(Folds::by_query(&ids(1), &[true], 0.2, 1.0, 0).held_out.is_empty());
    }
}
