//! Values of rankings by inverse propensity scoring against logs whose users are known.

use super::users::{Users, read};
use crate::base::{Memory, Result};
use crate::cost::metric::logarithmic;
use crate::data::Id;
use crate::search::clicks::{
    Changes, ClickSums, GROUPS, Impression, Influence, Log, LogRow, OfflineValue, Shown, TakesImpressions,
    Weights, find, group_of,
};

const QUERIES: usize = 4;
/// One for each query.
const DOCS: usize = 10;

/// Rank of a document in the ranking to evaluate, which the log does not contain: by number, descending in odd queries.
fn rank(pair: usize) -> usize {
    let doc = pair % DOCS;
    if (pair / DOCS).is_multiple_of(2) { doc } else { DOCS - 1 - doc }
}

/// DCG@5.
fn gain(rank: usize) -> f64 {
    if rank < 5 { logarithmic(rank) } else { 0.0 }
}

/// The values of IPS and SNIPS in a log without end.
fn truth(users: &Users) -> [f64; 2] {
    let sum =
        |of: &dyn Fn(usize) -> f64| users.alpha.iter().enumerate().map(|(pair, a)| a * of(pair)).sum::<f64>();
    let (gains, all) = (sum(&|pair| gain(rank(pair))), sum(&|_| 1.0));
    [gains / QUERIES as f64, gains / all]
}

/// Takes rows as the SQL function does.
struct Reader<'a> {
    influence: Option<&'a Influence>,
    sums: ClickSums,
    slopes: Vec<Vec<f64>>,
}

impl TakesImpressions for Reader<'_> {
    fn pair(&mut self, query: Id, doc: Id) -> Result<u32> {
        let (Id::Integer(query), Id::Integer(doc)) = (query, doc) else { panic!("numbers") };
        Ok(query as u32 * DOCS as u32 + doc as u32)
    }

    fn impression(&mut self, id: &Id, rows: &[Shown]) -> Result<()> {
        let group = group_of(id);
        self.sums.add_impression(group);
        for row in rows {
            if row.clicked {
                let gain = gain(rank(row.pair as usize));
                self.sums.add_click(group, row.position, std::iter::once(gain))?;
            }
            if let Some(influence) = self.influence {
                influence.add_row(row, &mut self.slopes[group]);
            }
        }
        Ok(())
    }
}

/// IPS and SNIPS with propensities from the log or the users' own.
fn values(rows: &[LogRow], is_estimated: bool, clip: f64) -> [OfflineValue; 2] {
    let influence = is_estimated.then(|| {
        let mut log = Log::new(vec![find("pbm").unwrap()], &Memory::limited(None));
        read(rows, &mut log);
        Influence::of(&log.finish().cells(0, true), QUERIES * DOCS).unwrap()
    });
    let slopes = vec![vec![0.0; DOCS]; GROUPS];
    let mut reader =
        Reader { influence: influence.as_ref(), sums: ClickSums::new(1, &Memory::limited(None)), slopes };
    let mut impression = Impression::default();
    rows.iter().for_each(|row| impression.push(row.clone(), &mut reader).unwrap());
    impression.close(&mut reader).unwrap();
    let Some(influence) = &influence else {
        let known = (1..=DOCS as u32).map(|position| (position, Users::pbm(position as usize)));
        return reader.sums.values(0, &Weights::new(known, clip), None);
    };
    let of_group = |slopes: &Vec<f64>| (1..).zip(influence.change(slopes)).collect();
    let changes: Changes = reader.slopes.iter().map(of_group).collect();
    reader.sums.values(0, &Weights::new(influence.propensities(), clip), Some(&changes))
}

/// Shares of the logs whose intervals of 95 % cover the truth.
fn coverage(is_estimated: bool, impressions: usize) -> [f64; 2] {
    let logs = if crate::is_long() { 1000 } else { 300 };
    let mut covered = [0.0; 2];
    for seed in 0..logs {
        let mut users = Users::of(seed % 10, QUERIES, DOCS);
        users.random = crate::math::random::Random::new(1000 + seed);
        let rows = users.rows("pbm", impressions);
        for ((value, truth), covered) in
            values(&rows, is_estimated, 0.01).into_iter().zip(truth(&users)).zip(&mut covered)
        {
            let error = (value.value.unwrap() - truth).abs();
            *covered += f64::from(u8::from(error <= 1.97 * value.error.unwrap()));
        }
    }
    covered.map(|covered| covered / logs as f64)
}

/// The coverage is .95, within three standard errors.
fn assert_covered(shares: [f64; 2]) {
    let allowed = if crate::is_long() { 0.93..=0.97 } else { 0.912..=0.988 };
    for share in shares {
        assert!(allowed.contains(&share), "{share}");
    }
}

#[test]
fn intervals_cover_the_truth_with_known_propensities() {
    assert_covered(coverage(false, 1000));
}

#[test]
fn intervals_cover_the_truth_with_propensities_of_the_log() {
    assert_covered(coverage(true, 1000));
}
