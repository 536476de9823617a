use proptest::prelude::*;

use super::bytes::BODY;
use super::replay::Replay;
use super::round::Round;
use super::sums::BucketSums;
use super::{Answer, Kind, pack};
use crate::base::Error;
use crate::data::{Dataset, DatasetBuilder, Id, NewRow, QueryValues};

fn round(number: u64, present: Option<Vec<u32>>) -> Round {
    Round { training: 7, number, buckets: 16, present }
}

/// The answer of a bucket: two numbers whose sum depends on the order of additions, and counts.
fn leaf(round: &Round, bucket: u32) -> Answer {
    let x = f64::from(bucket);
    let numbers = vec![1.0 / (1.0 + x), 1e16 * (x - 7.0)];
    let sums = BucketSums { numbers, counts: vec![(bucket / 3, 1), (100, u64::from(bucket))] };
    let outside = BucketSums::default();
    let sums = vec![sums.clone(), if bucket.is_multiple_of(2) { sums } else { outside }];
    Answer::of_bucket(round.clone(), bucket, sums).expect("no other bucket")
}

fn merged(answers: Vec<Answer>) -> Result<Answer, Error> {
    let mut answers = answers.into_iter();
    let mut first = answers.next().expect("an answer");
    answers.try_for_each(|answer| first.merge(Answer::from_bytes(&answer.to_bytes()?)?)).map(|()| first)
}

/// Merges in the order and groups that `choices` give.
fn merged_at_random(mut answers: Vec<Answer>, choices: &[usize]) -> Answer {
    for choice in choices {
        if answers.len() > 1 {
            let left = answers.swap_remove(choice % answers.len());
            let right = answers.swap_remove((choice / 16) % answers.len());
            answers.push(merged(vec![left, right]).expect("different buckets"));
        }
    }
    merged(answers).expect("different buckets")
}

proptest! {
    /// Order and grouping of merges change no bit, whichever buckets have rows, in the first round and later.
    #[test]
    fn every_tree_of_merges_gives_the_same_bytes(
        rows in proptest::collection::btree_set(0u32..16, 1..16),
        choices in proptest::collection::vec(0usize..256, 0..20),
        is_first in any::<bool>(),
    ) {
        let present: Vec<u32> = rows.into_iter().collect();
        let round = round(if is_first { 1 } else { 2 }, (!is_first).then(|| present.clone()));
        let answers = || present.iter().map(|bucket| leaf(&round, *bucket)).collect::<Vec<_>>();
        let (expected, found) = (merged(answers()).unwrap(), merged_at_random(answers(), &choices));
        prop_assert_eq!(expected.to_bytes().unwrap(), found.to_bytes().unwrap());
        let (sums, found_present) = found.total(&round).unwrap();
        prop_assert_eq!(&found_present, &present);
        // The count of every bucket, added by hand.
        prop_assert_eq!(sums[0].counts.last(), Some(&(100, present.iter().map(|b| u64::from(*b)).sum())));
        let exact: f64 = present.iter().map(|b| 1.0 / (1.0 + f64::from(*b))).sum();
        prop_assert!((sums[0].numbers[0] - exact).abs() < 1e-14);
    }

    /// Changed, shortened or random bytes are errors, never panics.
    #[test]
    fn damaged_bytes_are_errors(at in 0usize..10_000, change in 1u8.., random in proptest::collection::vec(any::<u8>(), 0..200)) {
        let answer = merged((0..5).map(|bucket| leaf(&round(1, None), bucket)).collect()).unwrap().to_bytes().unwrap();
        let pack = pack::write(&data()).unwrap();
        for bytes in [&answer, &pack] {
            let mut damaged = bytes.clone();
            let at = at % damaged.len();
            damaged[at] ^= change;
            prop_assert!(Answer::from_bytes(&damaged).is_err() && pack::read(&damaged, 0, 1).is_err());
            prop_assert!(Answer::from_bytes(&bytes[..at]).is_err() && pack::read(&bytes[..at], 0, 1).is_err());
        }
        // Bytes with a checksum that matches.
        for kind in [Kind::Answer, Kind::Pack, Kind::State] {
            let mut forged = [&answer[32..], &pack[32..]][usize::from(change % 2)].to_vec();
            let at = at % forged.len();
            forged.truncate(at.max(forged.len() / 2));
            forged.splice(at.min(forged.len())..at.min(forged.len()), random.iter().copied());
            let sealed = kind.seal([&[0; BODY], &forged[..]].concat());
            let _ = Answer::from_bytes(&sealed).map(|answer| answer.total(&round(1, None)));
            let _ = pack::read(&sealed, 0, 1);
            let _ = Kind::State.decode_body(&forged).and_then(|replay: Replay| replay.check());
        }
    }
}

#[test]
fn an_answer_that_does_not_belong_is_named() {
    let all =
        |round: &Round, buckets: std::ops::Range<u32>| merged(buckets.map(|b| leaf(round, b)).collect());
    let (first, second) = (round(1, None), round(2, Some(vec![0, 1, 2, 5])));
    let problem = |result: Result<Answer, Error>| result.unwrap_err().to_string();
    // 1. Twice, also inside of a finished subtree.
    let mut twice = all(&first, 0..4).unwrap();
    assert!(twice.merge(leaf(&first, 2)).unwrap_err().to_string().starts_with("bucket 2 appears twice"));
    let mut again = leaf(&first, 3);
    assert!(
        again
            .merge(all(&first, 2..4).unwrap())
            .unwrap_err()
            .to_string()
            .starts_with("bucket 3 appears twice")
    );
    // 2. A different round, a different training.
    let mixed = merged(vec![leaf(&first, 0), leaf(&second, 1)]);
    assert!(problem(mixed).starts_with("the answer is from round 2, not round 1"));
    let other = Round { training: 8, ..first.clone() };
    assert!(
        problem(merged(vec![leaf(&first, 0), leaf(&other, 1)]))
            .starts_with("the answer is from another training")
    );
    // 3. A bucket that is missing, and one that had no rows.
    let missing = merged([0, 1, 5].map(|bucket| leaf(&second, bucket)).to_vec()).unwrap();
    let problem = missing.total(&second).unwrap_err().to_string();
    assert!(problem.starts_with("bucket 2 is missing"), "{problem}");
    let new = Answer::of_bucket(second, 9, Vec::new()).unwrap_err().to_string();
    assert!(new.starts_with("bucket 9 has no rows in the first round"), "{new}");
}

/// Two queries; one feature is missing.
fn data() -> Dataset {
    let mut builder = DatasetBuilder::new("rows", None, Vec::new());
    for (query, doc, relevance, features) in
        [("b", 2, 1.0, "[1, null]"), ("a", 1, 0.5, "[0.1, 3]"), ("b", 1, 0.0, "[2, 4]")]
    {
        let query_values = QueryValues { weight: 2.5, features: Vec::new() };
        let (query, doc) = (Id::text(query), Some(Id::Integer(doc)));
        let row = NewRow {
            query,
            doc,
            relevance: Some(relevance),
            doc_weight: Some(1.0),
            group: None,
            query_values,
        };
        builder.begin(row).unwrap();
        builder.json(features.as_bytes()).unwrap();
    }
    pack::rows(builder).unwrap()
}

#[test]
fn a_pack_has_the_rows_in_canonical_order() {
    let data = pack::read(&pack::write(&data()).unwrap(), 0, 1).unwrap();
    assert_eq!(data.query_ids, [Id::text("a"), Id::text("b")]);
    assert_eq!(data.offsets, [0, 1, 3]);
    assert_eq!((data.relevance, data.weights), (vec![0.5, 0.0, 1.0], vec![2.5, 2.5]));
    assert!(data.doc_weights.is_empty());
    let features: Vec<u64> = data.features.rows_f64(0..3).into_iter().map(f64::to_bits).collect();
    assert_eq!(features[..5], [0.1, 3.0, 2.0, 4.0, 1.0].map(f64::to_bits));
    assert!(f64::from_bits(features[5]).is_nan());
}

#[test]
fn a_pack_of_another_bucket_is_refused() {
    let packs = pack::split(&data(), 4).unwrap();
    let (bucket, bytes) = &packs[0];
    assert!(pack::read(bytes, *bucket, 4).is_ok());
    let problem = pack::read(bytes, (bucket + 1) % 4, 4).unwrap_err().to_string();
    assert!(problem.contains(&format!("belongs to bucket {bucket} of 4")), "{problem}");
}
