//! Laws of team draft, and statistics against independent computations.

use super::*;
use crate::data::Id;
use crate::math::Random;

fn ranking(random: &mut Random, documents: usize) -> Vec<u32> {
    let mut all: Vec<u32> = (0..documents as u32).collect();
    random.shuffle(&mut all);
    all
}

fn coins(impression: i64) -> Coins {
    Coins::new(&Id::Integer(impression), &Id::text("query"))
}

/// Team draft as published, with sets and the coins of a list.
fn published(a: &[u32], b: &[u32], coins: &[bool], k: usize) -> Vec<(u32, Team)> {
    let mut list: Vec<(u32, Team)> = Vec::new();
    let mut coins = coins.iter();
    let unlisted = |list: &[(u32, Team)], ranking: &[u32]| {
        ranking.iter().copied().find(|document| list.iter().all(|(listed, _)| listed != document))
    };
    while let (Some(from_a), Some(from_b)) = (unlisted(&list, a), unlisted(&list, b)) {
        let size = |team: Team| list.iter().filter(|(_, of)| *of == team).count();
        let a_chooses =
            size(Team::A) < size(Team::B) || (size(Team::A) == size(Team::B) && *coins.next().unwrap());
        list.push(if a_chooses { (from_a, Team::A) } else { (from_b, Team::B) });
    }
    list.truncate(k);
    list
}

#[test]
fn lists_match_the_published_algorithm() {
    let mut random = Random::new(1);
    for round in 0..3000 {
        let documents = random.below(9);
        let (mut a, b) = (ranking(&mut random, documents), ranking(&mut random, documents));
        if round % 3 == 0 {
            a.extend_from_within(..);
        }
        if round % 7 == 0 {
            a.truncate(random.below(4));
        }
        let k = random.below(12);
        let list = team_draft([&a, &b], documents, coins(round), k);
        // The coins of the list: who has the odd positions.
        let mut tossed: Vec<bool> = list.iter().step_by(2).map(|(_, team)| *team == Team::A).collect();
        tossed.resize(20, true);
        assert_eq!(list, published(&a, &b, &tossed, k));
        // The sizes differ by at most 1 at every position.
        let mut lead = 0_i32;
        for (_, team) in &list {
            lead += if *team == Team::A { 1 } else { -1 };
            assert!(lead.abs() <= 1);
        }
        // No repeated documents; all documents, if both rankings have the same ones.
        let mut seen: Vec<u32> = list.iter().map(|(document, _)| *document).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), list.len());
        assert!(round % 7 == 0 || list.len() == documents.min(k));
        if let Some((first, team)) = list.first() {
            assert_eq!(*first, if *team == Team::A { a[0] } else { b[0] });
        }
    }
}

#[test]
fn coins_are_fair_and_independent() {
    // Counts of the first three coins of 8,000 impressions: each of the 8 patterns 1,000 times, standard deviation 30.
    let same = [0, 1, 2, 3, 4, 5];
    let mut counts = [0_i32; 8];
    for impression in 0..8000 {
        let list = team_draft([&same, &same], 6, coins(impression), 6);
        assert!(list.iter().map(|(document, _)| *document).eq(same));
        let pattern =
            list.iter().step_by(2).fold(0, |sum, (_, team)| 2 * sum + usize::from(*team == Team::A));
        counts[pattern] += 1;
    }
    assert!(counts.iter().all(|count| (count - 1000).abs() < 120), "{counts:?}");
}

const COINS: [u32; 3] = [0x0664_865a, 0x2926_830b, 0x562d_1aae];

/// Computed with a Python implementation of the XXH64 specification: 32 coins each, the first in the lowest bit.
#[test]
fn coins_match_another_implementation() {
    let bits = |impression: &Id, query: &Id| {
        let rounds: Vec<u32> = (0..32).collect();
        let all: Vec<u32> = (0..64).collect();
        let list = team_draft([&all, &all], 64, Coins::new(impression, query), 64);
        rounds.iter().fold(0_u32, |bits, r| bits | u32::from(list[2 * *r as usize].1 == Team::A) << r)
    };
    assert_eq!(bits(&Id::Integer(1), &Id::Integer(1)), COINS[0]);
    assert_eq!(bits(&Id::Integer(-7), &Id::text("red shoes")), COINS[1]);
    assert_eq!(bits(&Id::text("session 17"), &Id::Null), COINS[2]);
    assert_eq!(bits(&Id::Integer(1), &Id::Real(1.0)), COINS[0]);
}

/// The interval and the p-value belong to the same test: at every confidence, they agree about 0.
#[test]
fn p_values_are_significant_if_and_only_if_the_interval_excludes_0() {
    for (wins_a, wins_b) in (0..=12).flat_map(|a| (0..=40).map(move |b| (a, b))) {
        for ties in [0, 3, 1000] {
            let tally = Tally { wins_a, wins_b, ties, no_click: 1 };
            for confidence in [0.5, 0.8, 0.95, 0.99, 0.9999] {
                let outcome = tally.outcome(Target { confidence, ..TARGET });
                let (Some((low, high)), Some(p)) = (outcome.interval, outcome.p_value) else { continue };
                assert_eq!(p <= 1.0 - confidence, low > 0.0 || high < 0.0, "{tally:?} {confidence} {p}");
            }
        }
    }
    // 60 against 40 wins: z = 2. 25 against 16: z = 1.405564.
    for (wins_a, wins_b, expected) in [(40, 60, 0.045_500_264), (25, 16, 0.159_854), (7, 7, 1.0)] {
        let p = Tally { wins_a, wins_b, ties: 5, no_click: 0 }.outcome(TARGET).p_value.unwrap();
        assert!((p - expected).abs() < 1e-6, "{p} {expected}");
    }
    // Very large numbers are finite.
    let tally = |wins_a, wins_b| Tally { wins_a, wins_b, ..Tally::default() };
    assert!(tally(1 << 40, (1 << 40) + (1 << 21)).outcome(TARGET).p_value.unwrap() < 0.2);
    assert!(tally(0, u64::from(u32::MAX)).outcome(TARGET).p_value.unwrap() <= 0.0);
}

/// The largest d in the interval by a search over d and, for each, over q: log-likelihood of the three outcomes.
fn likeliest_q(tally: &Tally, d: f64) -> f64 {
    let (a, b, ties) = (tally.wins_a as f64, tally.wins_b as f64, tally.ties as f64);
    let log = |count: f64, p: f64| if count > 0.0 { count * p.max(0.0).ln() } else { 0.0 };
    let likelihood = |q: f64| log(a, q) + log(b, q + d) + log(ties, 1.0 - d - 2.0 * q);
    let (mut low, mut high) = ((-d).max(0.0), (1.0 - d) / 2.0);
    for _ in 0..200 {
        let (first, second) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if likelihood(first) < likelihood(second) { low = first } else { high = second }
    }
    f64::midpoint(low, high)
}

const TARGET: Target = Target { confidence: 0.95, power: 0.8, difference: None };

#[test]
fn intervals_end_where_the_score_test_refuses() {
    for (wins_a, wins_b, ties) in
        [(20, 35, 10), (1, 9, 0), (3, 3, 90), (0, 40, 5), (500, 400, 3000), (7, 0, 0)]
    {
        let tally = Tally { wins_a, wins_b, ties, no_click: 11 };
        let (low, high) = tally.outcome(TARGET).interval.unwrap();
        let n = (wins_a + wins_b + ties) as f64;
        for end in [low, high] {
            if end.abs() < 1.0 {
                let q = likeliest_q(&tally, end);
                let variance = n * (2.0 * q + end - end * end);
                let z = (wins_b as f64 - wins_a as f64 - n * end).abs() / variance.sqrt();
                assert!((z - 1.959_964).abs() < 1e-4, "{tally:?}: {end} {z}");
            }
        }
        let middle = tally.outcome(TARGET).difference.unwrap();
        assert!(low < middle && middle <= high || (low <= middle && middle < high));
    }
}

/// A random tally of `impressions` impressions.
fn draw(random: &mut Random, [p_a, p_b, tie]: [f64; 3], impressions: usize) -> Tally {
    let mut tally = Tally::default();
    for _ in 0..impressions {
        let u = f64::midpoint(random.symmetric(), 1.0);
        tally.add(match u {
            _ if u < p_a => [2, 1],
            _ if u < p_a + p_b => [0, 1],
            _ if u < p_a + p_b + tie => [3, 3],
            _ => [0, 0],
        });
    }
    tally
}

#[test]
fn intervals_cover_the_truth_and_equal_rankers_are_rarely_distinguished() {
    let mut random = Random::new(5);
    for (probabilities, impressions) in
        [([0.2, 0.2, 0.1], 300), ([0.1, 0.2, 0.3], 200), ([0.3, 0.5, 0.0], 100), ([0.02, 0.02, 0.2], 1000)]
    {
        let [p_a, p_b, tie] = probabilities;
        let truth = (p_b - p_a) / (p_a + p_b + tie);
        let (mut covered, mut significant) = (0, 0);
        for _ in 0..2000 {
            let outcome = draw(&mut random, probabilities, impressions).outcome(TARGET);
            let (low, high) = outcome.interval.unwrap();
            covered += usize::from(low <= truth && truth <= high);
            significant += usize::from(outcome.p_value.unwrap() <= 0.05);
        }
        // Standard error .5 %.
        assert!((1860..=1940).contains(&covered), "{probabilities:?}: {covered}");
        assert!(
            (p_b - p_a).abs() > 0.0 || (60..=140).contains(&significant),
            "{probabilities:?}: {significant}"
        );
    }
}

#[test]
fn planned_impressions_give_the_stated_power() {
    let mut random = Random::new(9);
    for (probabilities, power) in [([0.2, 0.3, 0.1], 0.8), ([0.1, 0.13, 0.4], 0.9), ([0.05, 0.15, 0.0], 0.8)]
    {
        // 1. The plan from a log with exactly these fractions.
        let [wins_a, wins_b, ties] = probabilities.map(|p: f64| (1e4 * p).round() as u64);
        let tally = Tally { wins_a, wins_b, ties, no_click: 10_000 - wins_a - wins_b - ties };
        let difference = (wins_b - wins_a) as f64 / (wins_a + wins_b + ties) as f64;
        let planned = |scale: u64| {
            let part = Tally {
                wins_a: wins_a / scale,
                wins_b: wins_b / scale,
                ties: ties / scale,
                no_click: tally.no_click / scale,
            };
            let target = Target { power, difference: Some(difference), ..TARGET };
            part.impressions() + part.outcome(target).more_impressions.unwrap()
        };
        let needed = planned(100);
        assert!(needed > 100, "{needed}");
        // 2. The power of tests with this number of impressions. Standard error 1 %.
        let found = (0..1600).filter(|_| {
            let outcome = draw(&mut random, probabilities, needed as usize).outcome(TARGET);
            outcome.p_value.unwrap() <= 0.05 && outcome.difference.unwrap() > 0.0
        });
        let found = found.count() as f64 / 1600.0;
        assert!((found - power).abs() < 0.035, "{probabilities:?}: {needed} impressions, power {found}");
    }
}

#[test]
fn tallies_without_clicks_have_no_difference() {
    let mut tally = Tally::default();
    tally.add([0, 0]);
    let outcome = tally.outcome(TARGET);
    assert_eq!(tally.impressions(), 1);
    assert_eq!(outcome, Outcome { difference: None, interval: None, p_value: None, more_impressions: None });
    // Only ties: a difference of 0, and no win.
    tally.add([1, 1]);
    let outcome = tally.outcome(TARGET);
    assert_eq!((outcome.difference, outcome.p_value, outcome.more_impressions), (Some(0.0), Some(1.0), None));
}
