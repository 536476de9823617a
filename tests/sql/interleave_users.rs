//! Simulated users of MQ2008 choose between two rankers whose NDCG@10 differs by .02: the plan of `ltr_interleave_result` has its
//! power (rule 18.8), and equal rankers differ significantly in at most 5 % of the comparisons.
//!
//! Users look at rank p with probability 1 / p, and click on what they look at with probability .1, .5 or .9 by its grade. With
//! `LTR_LONG=1` ten times as many comparisons; `--nocapture` shows the figures of `docs/guide/interleaving.md`.
#![allow(clippy::print_stdout, reason = "figures of a page")]

use rusqlite::Connection;
use sqlite_ltr::Id;
use sqlite_ltr::internals::math::random::Random;
use sqlite_ltr::internals::search::interleave::{Coins, Tally, Target, Team, team_draft};

use crate::support::{database, real_data, value};

/// Documents that users see.
const SHOWN: usize = 10;
/// The better ranker's NDCG@10 minus the worse one's.
const APART: f64 = 0.02;

/// A query: its documents by number, their grades, and the rankings of the better and of the worse ranker.
struct Query {
    id: i64,
    docs: Vec<String>,
    grades: Vec<f64>,
    rankings: [Vec<u32>; 2],
}

/// Four parts of MQ2008 with a model trained on the fifth, and a worse ranker's score: the model's with
/// noise. Queries without a relevant document are left out.
fn database_of_rankers() -> Option<Connection> {
    let folder = real_data("mq2008")?;
    let connection = database();
    let part = |number: usize| {
        format!("ltr_letor('{}/S{number}.txt', '{{\"feature_count\": 46}}')", folder.display())
    };
    let tests: Vec<String> = (2..=5).map(|number| format!("SELECT * FROM {}", part(number))).collect();
    let noise = |connection: &Connection| {
        let mut random = Random::new(11);
        let mut normal = move || (0..12).map(|_| random.symmetric()).sum::<f64>() / 2.0;
        let rows: Vec<i64> = connection
            .prepare("SELECT rowid FROM c")
            .and_then(|mut rows| rows.query_map([], |row| row.get(0))?.collect())
            .unwrap();
        let mut update = connection.prepare("UPDATE c SET noise = ?2 WHERE rowid = ?1").unwrap();
        for row in rows {
            update.execute((row, normal())).unwrap();
        }
    };
    connection
        .execute_batch(&format!(
            "SELECT ltr_train('rank_svm', 'SELECT * FROM {}', '{{\"name\": \"m\", \"lambda\": 0.01}}');
             CREATE TABLE c AS SELECT query_id, doc_id, relevance, features, 0.0 AS noise, 0.0 AS better FROM ({});
             DELETE FROM c WHERE query_id IN (SELECT query_id FROM c GROUP BY 1 HAVING max(relevance) = 0);
             CREATE TABLE scores AS SELECT query_id, doc_id, score FROM ltr_rank('m', 'c');
             CREATE UNIQUE INDEX scores_by_id ON scores(query_id, doc_id);
             UPDATE c SET better = (SELECT score FROM scores AS s WHERE s.query_id = c.query_id AND s.doc_id = c.doc_id);",
            part(1).replace('\'', "''"),
            tests.join(" UNION ALL ")
        ))
        .unwrap();
    noise(&connection);
    // How much noise costs .02.
    let ndcg = |scale: f64| -> f64 {
        let sql = "SELECT avg(n) FROM (SELECT ltr_ndcg(relevance, better + ?1 * noise, 10) AS n FROM c GROUP BY query_id)";
        value(&connection, sql, [scale])
    };
    let (best, mut low, mut high) = (ndcg(0.0), 0.0, 10.0);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if best - ndcg(middle) < APART { low = middle } else { high = middle }
    }
    let worse = ndcg(high);
    println!("NDCG@10 {best:.4} and {worse:.4}");
    assert!((best - worse - APART).abs() < 0.001, "{best} {worse}");
    connection
        .execute_batch(&format!(
            "ALTER TABLE c ADD COLUMN score; UPDATE c SET score = better + {high} * noise;"
        ))
        .unwrap();
    Some(connection)
}

/// The numbers of the documents of a query, the best first.
fn ranked(docs: &[String], scores: &[f64]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..docs.len() as u32).collect();
    order.sort_by(|a, b| {
        let (a, b) = (*a as usize, *b as usize);
        scores[b].total_cmp(&scores[a]).then_with(|| docs[a].cmp(&docs[b]))
    });
    order
}

fn queries(connection: &Connection) -> Vec<Query> {
    let sql = "SELECT query_id, doc_id, relevance, better, score FROM c ORDER BY query_id, doc_id";
    let mut statement = connection.prepare(sql).unwrap();
    let (mut rows, mut all) = (statement.query([]).unwrap(), Vec::<(Query, [Vec<f64>; 2])>::new());
    while let Some(row) = rows.next().unwrap() {
        let id = row.get(0).unwrap();
        if all.last().is_none_or(|(query, _)| query.id != id) {
            let query = Query { id, docs: Vec::new(), grades: Vec::new(), rankings: Default::default() };
            all.push((query, Default::default()));
        }
        let (query, scores) = all.last_mut().unwrap();
        query.docs.push(row.get(1).unwrap());
        query.grades.push(row.get(2).unwrap());
        scores[0].push(row.get(3).unwrap());
        scores[1].push(row.get(4).unwrap());
    }
    let of_query = |(query, scores): (Query, [Vec<f64>; 2])| Query {
        rankings: scores.map(|scores| ranked(&query.docs, &scores)),
        ..query
    };
    all.into_iter().map(of_query).collect()
}

/// Users with different ids.
struct Users<'a> {
    queries: &'a [Query],
    random: Random,
    impression: i64,
}

impl Users<'_> {
    fn happens(&mut self, probability: f64) -> bool {
        f64::midpoint(self.random.symmetric(), 1.0) < probability
    }

    /// A user sees the list of two rankings (0 better, 1 worse) for a random query: query, list, clicks.
    fn look(&mut self, rankings: [usize; 2]) -> (usize, Vec<(u32, Team)>, Vec<bool>) {
        self.impression += 1;
        let number = self.random.below(self.queries.len());
        let query = &self.queries[number];
        let coins = Coins::new(&Id::Integer(self.impression), &Id::Integer(query.id));
        let list =
            team_draft(rankings.map(|ranking| &query.rankings[ranking][..]), query.docs.len(), coins, SHOWN);
        let appeal = |doc: u32| [0.1, 0.5, 0.9][query.grades[doc as usize] as usize];
        let clicks = list
            .iter()
            .zip(1..)
            .map(|((doc, _), rank)| self.happens(appeal(*doc) / f64::from(rank)))
            .collect();
        (number, list, clicks)
    }

    fn compare(&mut self, rankings: [usize; 2], impressions: u64) -> Tally {
        let mut tally = Tally::default();
        for _ in 0..impressions {
            let (_, list, clicks) = self.look(rankings);
            let mut votes = [0; 2];
            list.iter()
                .zip(clicks)
                .for_each(|((_, team), clicked)| votes[*team as usize] += u64::from(clicked));
            tally.add(votes);
        }
        tally
    }

    /// The share of comparisons in which the second ranking wins, and of those in which the first one does, with p <= .05.
    fn significant(&mut self, rankings: [usize; 2], impressions: u64, comparisons: usize) -> [f64; 2] {
        let target = Target { confidence: 0.95, power: 0.8, difference: None };
        let mut found = [0.0; 2];
        for _ in 0..comparisons {
            let outcome = self.compare(rankings, impressions).outcome(target);
            if outcome.p_value.unwrap() <= 0.05 {
                found[usize::from(outcome.difference.unwrap() < 0.0)] += 1.0 / comparisons as f64;
            }
        }
        found
    }
}

#[test]
fn planned_comparisons_find_the_better_ranker_with_the_stated_power() {
    let Some(connection) = database_of_rankers() else { return };
    let comparisons = if crate::support::is_long() { 2000 } else { 200 };
    let queries = queries(&connection);
    let mut users = Users { queries: &queries, random: Random::new(3), impression: 0 };
    // 1. The truth: many users, the worse ranker first.
    let truth = users.compare([1, 0], 400_000);
    let difference =
        truth.outcome(Target { confidence: 0.95, power: 0.8, difference: None }).difference.unwrap();
    println!("{} queries, true difference {difference:.4}, {truth:?}", queries.len());
    // 2. A log of 1,000 impressions in SQL, with lists of `ltr_interleave`, plans the comparison.
    connection.execute_batch("CREATE TABLE log(impression, query_id, doc_id, rank, team, clicked)").unwrap();
    let serve = "INSERT INTO log SELECT impression, query_id, doc_id, rank, team, 0
         FROM ltr_interleave(NULL, 'm', 'SELECT * FROM c WHERE query_id = ?1', json_object('seed', ?2, 'k', 10), ?1)";
    connection
        .execute_batch(
            "CREATE INDEX c_by_query ON c(query_id); CREATE INDEX log_by_row ON log(impression, rank)",
        )
        .unwrap();
    let mut insert = connection.prepare(serve).unwrap();
    let mut served =
        connection.prepare("SELECT doc_id, team FROM log WHERE impression = ? ORDER BY rank").unwrap();
    let mut click =
        connection.prepare("UPDATE log SET clicked = 1 WHERE impression = ? AND rank = ?").unwrap();
    for _ in 0..1000 {
        let (number, list, clicks) = users.look([1, 0]);
        let query = &queries[number];
        insert.execute((query.id, users.impression)).unwrap();
        let served = served.query_map([users.impression], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let served: Vec<(String, String)> = served.collect::<Result<_, _>>().unwrap();
        let expected =
            list.iter().map(|(doc, team)| (query.docs[*doc as usize].clone(), team.name().to_owned()));
        assert!(served.into_iter().eq(expected), "query {}", query.id);
        let ranks = clicks.iter().zip(1..).filter(|(clicked, _)| **clicked);
        for (_, rank) in ranks {
            click.execute((users.impression, rank)).unwrap();
        }
    }
    let plan = "SELECT impressions + more_impressions FROM ltr_interleave_result('log', json_object('min_difference', ?1, 'power', ?2))";
    for power in [0.8, 0.9] {
        let needed = value::<i64>(&connection, plan, [difference, power]) as u64;
        // 3. Comparisons of this size. The plan has an error too: 1,000 impressions determine the share of ties.
        let [found, wrong] = users.significant([1, 0], needed, comparisons);
        println!("power {power}: {needed} impressions, found {found:.3}, wrong {wrong:.4}, of {comparisons}");
        let error = 3.3 * (power * (1.0 - power) / comparisons as f64).sqrt();
        assert!((found - power).abs() < error + 0.03 && wrong < 0.01, "{power}: {needed} {found} {wrong}");
    }
    // 4. Equal rankers.
    for ranking in [0, 1] {
        let found: f64 = users.significant([ranking; 2], 500, 4 * comparisons).iter().sum();
        println!("equal rankers: {found:.4} significant, of {}", 4 * comparisons);
        let error = 3.3 * (0.05 * 0.95 / (4 * comparisons) as f64).sqrt();
        assert!(found < 0.05 + error && found > 0.035 - error, "{found}");
    }
}
