//! Splits of queries, documents and ratings. They are chosen by a hash, so they do not depend on the order of rows.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::report::{FoldsBy, Split};
use crate::base::{Error, Result, Ticks, checkpoint};
use crate::data::{Dataset, FoldKeys, Id};
use crate::math::sort_items;

/// Up to this number of judged queries all are held out in turn. With more, the validated value has a smaller error
/// (docs/adr/0024).
const ALL_IN_TURN: usize = 200;

/// Numbers that the fits of all folds and the last fit read together, at most, unless there is one fold.
const MOST_NUMBERS: f64 = 24e6;

/// How many of the `folds` are enough to choose on: fewer for more data, down to one. `numbers`: documents times function
/// weights, times the passes over them in a fold's fits, relative to one convex function.
pub fn enough_folds(judged: usize, numbers: f64, folds: usize) -> usize {
    let affordable = (MOST_NUMBERS / numbers).floor() - 1.0;
    if judged <= ALL_IN_TURN || affordable >= folds as f64 { folds } else { affordable.max(1.0) as usize }
}

/// Queries that the function of a fold did not see.
#[derive(Default)]
pub struct FoldScores {
    /// Query numbers in the training set.
    pub queries: Vec<usize>,
    /// The score of each of their documents.
    pub scores: Vec<f64>,
}

/// Which queries each fold of a training set trains on, and which it holds out.
///
/// Only `judged` queries, which have documents of different relevance, are held out. Queries of a group are in one fold
/// (option `group_by`). With an order (option `split_by`) a fold trains on the queries before those that it holds out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folds {
    /// The fold that holds out each query (`n_queries`); `None` for queries that are never held out.
    pub of_query: Vec<Option<usize>>,
    /// Number of folds; 0 if there are fewer than two judged queries.
    pub count: usize,
    /// The first fold that trains on each query; empty without an order.
    trained_from: Vec<usize>,
    by: FoldsBy,
}

impl Folds {
    /// Holds out about `fraction` (above 0, below 1) of the judged queries at a time: each query once, or as many folds as
    /// are enough for the `numbers` ([`enough_folds`]).
    ///
    /// # Errors
    /// A single group, or a single value of the order, among all judged queries.
    pub fn by_query(data: &Dataset, judged: &[bool], fraction: f64, numbers: f64, seed: u64) -> Result<Self> {
        let n = judged.iter().filter(|judged| **judged).count();
        let size = (fraction * n as f64).ceil().clamp(1.0, (n as f64 - 1.0).max(1.0)) as usize;
        let count = n.div_ceil(size);
        let enough = enough_folds(n, numbers, count);
        if n < 2 || !data.fold_keys.order.is_empty() || !data.fold_keys.groups.is_empty() {
            let folds = Self::of_number(data, judged, count, seed)?;
            return Ok(folds.with_last(enough));
        }
        let mut of_query = vec![None; data.n_queries()];
        for (index, query) in shuffled(&data.query_ids, judged, seed).into_iter().enumerate() {
            of_query[query] = Some(index / size).filter(|fold| *fold < enough);
        }
        Ok(Self::of_numbers(of_query))
    }

    /// Holds out each judged query once, in at most `folds` folds of about the same size. With an order the queries of the first
    /// of `folds` + 1 parts are not held out.
    ///
    /// # Errors
    /// As [`Self::by_query`].
    pub fn of_number(data: &Dataset, judged: &[bool], folds: usize, seed: u64) -> Result<Self> {
        let FoldKeys { groups, order } = &data.fold_keys;
        if judged.iter().filter(|judged| **judged).count() < 2 {
            return Ok(Self::of_part(data, &[]));
        }
        if !order.is_empty() {
            return Self::forward(order, judged, folds + 1);
        }
        let split = Self::of_numbers(numbers(data, judged, folds, seed));
        match (split.count, groups.is_empty()) {
            (_, true) => Ok(split),
            (1, false) => Err(one_value("group_by")),
            _ => Ok(Self { by: FoldsBy::Group, ..split }),
        }
    }

    /// Folds by the number of the fold that holds out each query.
    pub fn of_numbers(of_query: Vec<Option<usize>>) -> Self {
        let count = of_query.iter().flatten().max().map_or(0, |last| last + 1);
        Self { of_query, count, trained_from: Vec::new(), by: FoldsBy::Query }
    }

    /// A fold that holds out these queries, judged or not.
    pub fn of_part(data: &Dataset, queries: &[usize]) -> Self {
        let mut of_query = vec![None; data.n_queries()];
        queries.iter().for_each(|query| of_query[*query] = Some(0));
        Self::of_numbers(of_query)
    }

    /// Fold i trains on parts 1 to i, and holds out part i + 1.
    fn forward(order: &[Id], judged: &[bool], parts: usize) -> Result<Self> {
        let counted: Vec<Id> =
            order.iter().zip(judged).filter(|(_, judged)| **judged).map(|(place, _)| place.clone()).collect();
        let trained_from = parts_in_order(&counted, order, parts);
        let count = trained_from.iter().max().copied().unwrap_or_default();
        if count == 0 {
            return Err(one_value("split_by"));
        }
        let fold = |(part, judged): (&usize, &bool)| part.checked_sub(1).filter(|_| *judged);
        let of_query = trained_from.iter().zip(judged).map(fold).collect();
        Ok(Self { of_query, count, trained_from, by: FoldsBy::Order })
    }

    /// The last `count` folds, or all of fewer.
    fn with_last(mut self, count: usize) -> Self {
        let first = self.count.saturating_sub(count);
        self.of_query.iter_mut().for_each(|fold| *fold = fold.and_then(|fold| fold.checked_sub(first)));
        self.trained_from.iter_mut().for_each(|from| *from = from.saturating_sub(first));
        self.count -= first;
        self
    }

    /// Whether a fold trains on a query.
    pub fn trains(&self, fold: usize, query: usize) -> bool {
        match self.trained_from.get(query) {
            Some(from) => *from <= fold,
            None => self.of_query[query] != Some(fold),
        }
    }

    /// The queries that a fold holds out.
    pub fn held_out(&self, fold: usize) -> Vec<usize> {
        (0..self.of_query.len()).filter(|query| self.of_query[*query] == Some(fold)).collect()
    }

    /// For each query whether a fold does not train on it.
    pub fn left_out(&self, fold: usize) -> Vec<bool> {
        (0..self.of_query.len()).map(|query| !self.trains(fold, query)).collect()
    }

    /// Whether folds follow an order.
    pub fn is_forward(&self) -> bool {
        !self.trained_from.is_empty()
    }

    /// The kind of split, for reports.
    pub fn split(&self) -> Split {
        let held_out = self.of_query.iter().flatten().count();
        match self.count {
            0 => Split::Nothing,
            folds => Split::Queries { held_out, all: self.of_query.len(), folds, by: self.by },
        }
    }
}

fn one_value(option: &str) -> Error {
    Error::Data(format!(
        "option '{option}': the queries with documents of different relevance have one value in the column, so none can be held \
         out; leave the option out"
    ))
}

/// For each query the number of its part, below `parts`: parts of about the same size, by hashes of ids or groups. `None` for
/// queries that are not `counted`.
pub fn numbers(data: &Dataset, counted: &[bool], parts: usize, seed: u64) -> Vec<Option<usize>> {
    let groups = &data.fold_keys.groups;
    if groups.is_empty() {
        return fold_numbers(&data.query_ids, counted, parts, seed);
    }
    let mut members: BTreeMap<&Id, Vec<usize>> = BTreeMap::new();
    let queries = (0..groups.len()).filter(|query| counted[*query]);
    queries.for_each(|query| members.entry(&groups[query]).or_default().push(query));
    let members: Vec<(&Id, Vec<usize>)> = members.into_iter().collect();
    let mut order: Vec<usize> = (0..members.len()).collect();
    sort_by_hash(&mut order, &|group| hash(members[group].0, 0, seed));
    let (mut sizes, mut numbers) = (vec![0; parts], vec![None; groups.len()]);
    for group in order {
        // The smallest part so far.
        let part = (0..parts).min_by_key(|part| sizes[*part]).unwrap_or_default();
        members[group].1.iter().for_each(|query| numbers[*query] = Some(part));
        sizes[part] += members[group].1.len();
    }
    numbers
}

/// For each judged query the fold that holds it out; `None` for the others. Fold sizes differ by at most 1.
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

/// For each fold queries that no choice holds out, because nothing is learned from them: as large a part of them as of the `judged`
/// queries, of which the folds hold out `held`. Empty with groups or an order, which have folds of their own.
pub fn unjudged(data: &Dataset, judged: &[bool], held: usize, folds: usize, seed: u64) -> Vec<Vec<usize>> {
    if folds == 0 || !data.fold_keys.groups.is_empty() || !data.fold_keys.order.is_empty() {
        return Vec::new();
    }
    let others: Vec<bool> = judged.iter().map(|judged| !judged).collect();
    let parts = folds * ((judged.len() - others.iter().filter(|other| **other).count()) / held.max(1)).max(1);
    let numbers = fold_numbers(&data.query_ids, &others, parts, seed);
    let of_fold = |fold| (0..numbers.len()).filter(|query| numbers[*query] == Some(fold)).collect();
    (0..folds).map(of_fold).collect()
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

    fn queries(n: i64) -> Dataset {
        Dataset { query_ids: (0..n).map(Id::Integer).collect(), ..Dataset::default() }
    }

    #[test]
    fn few_queries_are_each_held_out_once() {
        let folds = Folds::by_query(&queries(32), &[true; 32], 0.2, 1e9, 0).unwrap();
        assert_eq!((folds.count, folds.of_query.iter().flatten().count()), (5, 32));
    }

    #[test]
    fn of_more_data_fewer_parts_are_held_out_and_the_seed_matters() {
        let folds =
            |numbers, seed| Folds::by_query(&queries(1000), &[true; 1000], 0.2, numbers, seed).unwrap();
        for (numbers, count) in [(4e6, 5), (4.1e6, 4), (5e6, 3), (8e6, 2), (8.1e6, 1), (1e9, 1)] {
            let found = folds(numbers, 0);
            assert_eq!((found.count, found.held_out(count - 1).len()), (count, 200));
        }
        let first = folds(1e9, 0);
        assert_eq!((first.count, first.held_out(0).len()), (1, 200));
        assert_ne!(first, folds(1e9, 1));
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
        assert_eq!(Folds::by_query(&queries(10), &judged, 0.5, 1.0, 0).unwrap().of_query[3], None);
        assert_eq!(Folds::by_query(&queries(1), &[true], 0.2, 1.0, 0).unwrap().split(), Split::Nothing);
    }

    /// 40 queries in groups of 1 to 7 and in an order of their own; query 3 is not judged.
    fn with_keys(has_groups: bool, has_order: bool) -> (Dataset, Vec<bool>) {
        let mut data = queries(40);
        data.offsets = (0..=40).collect();
        let group = |query: i64| Id::Integer((query * query) % 11);
        let groups: Vec<Id> = (0..40).map(group).collect();
        let order: Vec<Id> = (0..40).map(|query| Id::Integer(query * 7 % 40)).collect();
        data.set_fold_keys(has_order.then_some(&order[..]), has_groups.then_some(&groups[..])).unwrap();
        (data, (0..40).map(|query| query != 3).collect())
    }

    #[test]
    fn a_group_is_in_one_fold_and_an_order_trains_on_earlier_queries() {
        for (has_groups, has_order) in [(true, false), (false, true), (true, true)] {
            let (data, judged) = with_keys(has_groups, has_order);
            for numbers in [1.0, 1e9] {
                let by_query = Folds::by_query(&data, &judged, 0.2, numbers, 0).unwrap();
                for folds in [by_query, Folds::of_number(&data, &judged, 3, 0).unwrap()] {
                    let keys = &data.fold_keys;
                    for (held, trained) in (0..40 * 40).map(|pair| (pair / 40, pair % 40)) {
                        let Some(fold) = folds.of_query[held] else { continue };
                        assert!(judged[held]);
                        let is_together = has_groups && keys.groups[held] == keys.groups[trained];
                        let is_later = has_order && keys.order[held] <= keys.order[trained];
                        let must_not = judged[trained] && (is_together || is_later);
                        assert!(!(must_not && folds.trains(fold, trained)), "{folds:?} {held} {trained}");
                    }
                    let trains = |fold| (0..40).any(|query| folds.trains(fold, query) && judged[query]);
                    assert!((0..folds.count).all(|fold| !folds.held_out(fold).is_empty() && trains(fold)));
                }
            }
        }
    }

    #[test]
    fn one_group_or_place_is_refused_and_few_make_fewer_folds() {
        let values = |n: i64| -> Vec<Id> { (0..12).map(|query| Id::Integer(query % n)).collect() };
        let folds = |order: Option<&[Id]>, groups: Option<&[Id]>| {
            let mut data = queries(12);
            data.offsets = (0..=12).collect();
            data.set_fold_keys(order, groups).unwrap();
            Folds::of_number(&data, &[true; 12], 5, 0).map(|folds| folds.count)
        };
        for (option, order, groups) in [("split_by", true, false), ("group_by", false, true)] {
            let of = |n| {
                let values = values(n);
                folds(order.then_some(&values[..]), groups.then_some(&values[..]))
            };
            assert_eq!(of(3).unwrap(), if order { 2 } else { 3 });
            assert!(of(1).unwrap_err().to_string().starts_with(&format!("option '{option}': ")));
        }
    }
}
