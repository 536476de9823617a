//! The fit of V to U in `cofi_rank` for losses with corners, against independent solvers.

use crate::support::{database, random_ratings, real_data, value};
use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettingsBuilder, DefaultSolver, IPSolver, NonnegativeConeT};
use rusqlite::Connection;
use sqlite_ltr::internals::base::control::Control;
use sqlite_ltr::internals::cost::loss::list::QueryLoss;
use sqlite_ltr::internals::cost::loss::{self, Loss};
use sqlite_ltr::internals::data::Ratings;
use sqlite_ltr::internals::learn::solve::{Factorization, Factors, HalfStep};
use sqlite_ltr::internals::math::random::Random;

/// min over V of lambda / 2 |V|^2 + sum_u l_u(V_u u + b_u).
struct Problem {
    ratings: Ratings,
    offsets: Vec<f64>,
    /// U, row by row.
    users: Vec<f64>,
    rank: usize,
    lambda: f64,
    losses: Vec<Option<Box<dyn QueryLoss>>>,
}

/// A plane slopes.s + offset below the loss of a user.
struct Plane {
    user: usize,
    slopes: Vec<f64>,
    offset: f64,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

impl Problem {
    fn new(
        loss: &Loss,
        ratings: Ratings,
        offsets: Vec<f64>,
        users: Vec<f64>,
        rank: usize,
        lambda: f64,
    ) -> Self {
        let Loss::List(list) = loss else { panic!("a listwise loss") };
        let of_user = |user: usize| {
            let labels = &ratings.values[ratings.of_user(user)];
            (labels.len() > 1 && loss.is_informative(labels, &[])).then(|| list.prepare(labels, &[]))
        };
        let losses = (0..ratings.n_users()).map(of_user).collect();
        Self { ratings, offsets, users, rank, lambda, losses }
    }

    fn row(&self, user: usize) -> &[f64] {
        &self.users[user * self.rank..][..self.rank]
    }

    fn scores(&self, items: &[f64], user: usize) -> Vec<f64> {
        let score = |rating: usize| {
            let item = self.ratings.items[rating] as usize;
            self.offsets[rating] + dot(self.row(user), &items[item * self.rank..][..self.rank])
        };
        self.ratings.of_user(user).map(score).collect()
    }

    /// The loss of a user at V, and the plane that touches it there.
    fn touch(&self, items: &[f64], user: usize) -> Option<(f64, Plane)> {
        let loss = self.losses[user].as_ref()?;
        let scores = self.scores(items, user);
        let mut slopes = vec![0.0; scores.len()];
        let value = loss.value_and_subgradient(&scores, &mut slopes);
        Some((value, Plane { user, offset: value - dot(&slopes, &scores), slopes }))
    }

    fn objective(&self, items: &[f64]) -> f64 {
        let losses = (0..self.losses.len()).filter_map(|user| self.touch(items, user));
        0.5 * self.lambda * dot(items, items) + losses.map(|(value, _)| value).sum::<f64>()
    }

    /// V and the minimum of the objective with these planes instead of the losses, by Clarabel.
    fn minimum_of(&self, planes: &[Plane]) -> (Vec<f64>, f64) {
        let (n, users) = (self.ratings.n_items * self.rank, self.losses.len());
        let penalty: Vec<f64> = (0..n + users).map(|i| if i < n { self.lambda } else { 0.0 }).collect();
        let diagonal: Vec<usize> = (0..n + users).collect();
        let p = CscMatrix::new_from_triplets(n + users, n + users, diagonal.clone(), diagonal, penalty);
        let q: Vec<f64> = (0..n + users).map(|i| if i < n { 0.0 } else { 1.0 }).collect();
        let (mut rows, mut columns, mut values, mut b) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (number, plane) in planes.iter().enumerate() {
            let range = self.ratings.of_user(plane.user);
            b.push(-plane.offset - dot(&plane.slopes, &self.offsets[range.clone()]));
            for (rating, slope) in range.zip(&plane.slopes) {
                for (factor, u) in self.row(plane.user).iter().enumerate() {
                    rows.push(number);
                    columns.push(self.ratings.items[rating] as usize * self.rank + factor);
                    values.push(slope * u);
                }
            }
            rows.push(number);
            columns.push(n + plane.user);
            values.push(-1.0);
        }
        let a = CscMatrix::new_from_triplets(planes.len(), n + users, rows, columns, values);
        let settings = DefaultSettingsBuilder::default().verbose(false).build().unwrap();
        let cones = [NonnegativeConeT(planes.len())];
        let mut solver = DefaultSolver::new(&p, &q, &a, &b, &cones, settings).unwrap();
        solver.solve();
        (solver.solution.x[..n].to_vec(), solver.solution.obj_val)
    }

    /// The minimum by cutting planes, to a relative gap of 1e-7.
    fn minimum(&self) -> f64 {
        let zero = |user| Plane { user, slopes: vec![0.0; self.ratings.of_user(user).len()], offset: 0.0 };
        let mut planes: Vec<Plane> = (0..self.losses.len()).map(zero).collect();
        let (mut items, mut least) = (vec![0.0; self.ratings.n_items * self.rank], f64::INFINITY);
        for _ in 0..200 {
            least = least.min(self.objective(&items));
            planes.extend((0..self.losses.len()).filter_map(|user| Some(self.touch(&items, user)?.1)));
            let (next, bound) = self.minimum_of(&planes);
            if least - bound <= 1e-7 * least {
                return least;
            }
            items = next;
        }
        panic!("no minimum: {least}");
    }

    /// The least value of a block-coordinate Frank-Wolfe run without memory (Lacoste-Julien et al. 2013).
    fn long_run(&self, passes: usize) -> f64 {
        let mut items = vec![0.0; self.ratings.n_items * self.rank];
        let (mut slopes, mut offsets) = (vec![0.0; self.ratings.len()], vec![0.0; self.losses.len()]);
        let mut least = f64::INFINITY;
        for pass in 0..passes {
            for (user, offset) in offsets.iter_mut().enumerate() {
                let Some((_, plane)) = self.touch(&items, user) else { continue };
                let range = self.ratings.of_user(user);
                let step: Vec<f64> =
                    plane.slopes.iter().zip(&slopes[range.clone()]).map(|(a, b)| a - b).collect();
                let gap = dot(&step, &self.scores(&items, user)) + plane.offset - *offset;
                let square = dot(&step, &step) * dot(self.row(user), self.row(user));
                let t = if square > 0.0 { (self.lambda * gap / square).clamp(0.0, 1.0) } else { 1.0 };
                *offset += t * (plane.offset - *offset);
                for (rating, step) in range.zip(&step) {
                    slopes[rating] += t * step;
                    let item = self.ratings.items[rating] as usize * self.rank;
                    for factor in 0..self.rank {
                        items[item + factor] -= t * step * self.row(user)[factor] / self.lambda;
                    }
                }
            }
            if pass % 20 == 19 {
                least = least.min(self.objective(&items));
            }
        }
        least
    }
}

/// 12 users with 6 of 14 items each, rank 2.
fn small(loss: &Loss, lambda: f64) -> Problem {
    let mut random = Random::new(3);
    let ratings = random_ratings(&mut random, (12, 6, 14), |random, _, _| 1.0 + random.below(5) as f64);
    let offsets = (0..ratings.len()).map(|_| random.symmetric()).collect();
    let users = (0..2 * ratings.n_users()).map(|_| 2.0 * random.symmetric()).collect();
    Problem::new(loss, ratings, offsets, users, 2, lambda)
}

#[test]
fn the_fit_of_items_reaches_the_minimum_of_an_interior_point_solver() {
    for (name, options) in [
        ("direct", r#"{"bound": "convex", "decoder": "power", "measure": "ndcg@5"}"#),
        ("direct", r#"{"bound": "convex", "decoder": "power", "measure": "neru", "half_life": 3}"#),
        ("slam", "{}"),
    ] {
        let options: serde_json::Map<_, _> = serde_json::from_str(options).unwrap();
        let loss = loss::find(name).unwrap().make(&options.into()).unwrap();
        for lambda in [0.03, 0.3, 3.0] {
            let problem = small(&loss, lambda);
            let minimum = problem.minimum();
            let Problem { ratings, offsets, users, .. } = &problem;
            let mut factorization = Factorization::new(ratings, &loss, &ratings.values, offsets.clone());
            let items = vec![0.1; ratings.n_items * 2];
            let mut factors = Factors { rank: 2, users: users.clone(), items };
            // The gap is true after few passes too.
            for (most, largest) in [(1, 1.0), (4, 1.0), (1000, 1e-5)] {
                let step = HalfStep { lambda, tolerance: 1e-5, most };
                let gap = factorization.fit_items(&mut factors, step, &Control::default()).unwrap().unwrap();
                let found = problem.objective(&factors.items);
                let above = (found - minimum) / found;
                assert!(gap <= largest && above <= gap + 1e-7, "{name}, {lambda}: gap {gap}, {above} above");
                assert!(above > -2e-7, "{name}, {lambda}: {found} below the minimum {minimum}");
            }
        }
    }
}

/// A model of the first users of MovieLens-100k, as the problem of its items.
fn trained(users: usize, lambda: f64) -> Option<(Problem, Vec<f64>, serde_json::Value)> {
    let text = std::fs::read_to_string(real_data("ml-100k")?.join("u.data")).ok()?;
    let connection = database();
    connection.execute_batch("CREATE TABLE ratings(user_id INTEGER, item_id INTEGER, rating REAL)").unwrap();
    let sql = "INSERT INTO ratings SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?1) WHERE value ->> 0 <= ?2";
    let rows: Vec<Vec<u32>> =
        text.lines().map(|line| line.split('\t').take(3).map(|x| x.parse().unwrap()).collect()).collect();
    connection.execute(sql, (serde_json::to_string(&rows).unwrap(), users as i64)).unwrap();
    let options = format!(r#"{{"loss": "direct", "lambda": {lambda}}}"#);
    let report: String = value(&connection, "SELECT ltr_train('cofi_rank', 'ratings', ?1)", [options]);
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let (problem, items) = problem_of(&connection, report["bias_scale"].as_f64().unwrap(), lambda);
    Some((problem, items, report))
}

fn problem_of(connection: &Connection, scale: f64, lambda: f64) -> (Problem, Vec<f64>) {
    let factors = |kind: &str| -> (Vec<f64>, Vec<f64>) {
        let sql = "SELECT json_group_array(bias), json_group_array(json(factors))
                     FROM (SELECT * FROM ltr_factors('cofi_rank') WHERE kind = ?1 ORDER BY id)";
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let (biases, rows): (String, String) = connection.query_row(sql, [kind], read).unwrap();
        let rows: Vec<Vec<f64>> = serde_json::from_str(&rows).unwrap();
        (serde_json::from_str(&biases).unwrap(), rows.concat())
    };
    let ((_, users), (biases, items)) = (factors("user"), factors("item"));
    let mut ratings =
        Ratings { offsets: vec![0], items: Vec::new(), values: Vec::new(), n_items: biases.len() };
    let sql =
        "SELECT dense_rank() OVER (ORDER BY user_id) - 1, dense_rank() OVER (ORDER BY item_id) - 1, rating
                 FROM ratings ORDER BY user_id, item_id";
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    for row in rows {
        let (user, item, rating): (u32, u32, f64) = row.unwrap();
        if user as usize == ratings.offsets.len() - 1 {
            ratings.offsets.push(ratings.items.len());
        }
        ratings.items.push(item);
        ratings.values.push(rating);
        *ratings.offsets.last_mut().unwrap() = ratings.items.len();
    }
    let offsets = ratings.items.iter().map(|&item| scale * biases[item as usize]).collect();
    let rank = users.len() / ratings.n_users();
    let options = serde_json::json!({"bound": "convex", "decoder": "power"});
    let loss = loss::find("direct").unwrap().make(&options.as_object().unwrap().clone().into()).unwrap();
    (Problem::new(&loss, ratings, offsets, users, rank, lambda), items)
}

/// With `LTR_LONG=1` for 15, 150 and 943 users.
#[test]
fn a_model_has_the_minimum_of_the_items_for_its_users() {
    let sizes: &[usize] = if crate::support::is_long() { &[15, 150, 943] } else { &[15] };
    for &users in sizes {
        let Some((problem, items, report)) = trained(users, 0.5) else { return };
        assert_eq!(report["unconverged"], 0, "{users} users: {report}");
        assert!(report["largest_relative_gap"].as_f64().unwrap() <= 1e-3, "{users} users: {report}");
        let (found, other) = (problem.objective(&items), problem.long_run(200));
        assert!(found <= 1.001 * other, "{users} users: {found}, {other} by a long run");
    }
}

#[test]
fn fits_that_end_above_the_tolerance_are_counted() {
    let connection = database();
    connection
        .execute_batch(
            "CREATE TABLE ratings AS
             WITH RECURSIVE users(u) AS (VALUES (0) UNION ALL SELECT u + 1 FROM users WHERE u < 19),
                            items(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM items WHERE i < 14)
             SELECT u AS user_id, i AS item_id, 1 + (u * u * 31 + i * i * 17 + u * i) % 5 AS rating FROM users, items",
        )
        .unwrap();
    let train = |tolerance: f64| -> serde_json::Value {
        let options = format!(
            r#"{{"loss": "direct", "lambda": 0.1, "factors": 3, "max_rounds": 2, "tolerance": {tolerance}}}"#
        );
        let report: String = value(&connection, "SELECT ltr_train('cofi_rank', 'ratings', ?1)", [options]);
        serde_json::from_str(&report).unwrap()
    };
    for tolerance in [1e-2, 1e-3, 1e-12] {
        let report = train(tolerance);
        let gap = report["largest_relative_gap"].as_f64().unwrap();
        assert_eq!(report["unconverged"], i32::from(gap > tolerance), "{report}");
        assert!(gap <= 1e-2 && (tolerance < 1e-3 || gap <= tolerance), "{report}");
    }
}

/// Least squares of a user around its means is least squares on its pairs, so one name is refused.
#[test]
fn squared_is_pair_squared() {
    let connection = database();
    connection
        .execute_batch("CREATE TABLE ratings AS SELECT 1 AS user_id, 1 AS item_id, 1 AS rating")
        .unwrap();
    let sql = r#"SELECT ltr_fit('cofi_rank', 'ratings', '{"loss": "squared"}')"#;
    let error = connection.query_row(sql, (), |row| row.get::<_, Vec<u8>>(0)).unwrap_err().to_string();
    assert!(error.contains("summed over the ratings of a user it is \"pair_squared\"; use that"), "{error}");
    // Any scores: the losses of a user differ by the factor (n - 1) / n, which the weights of the sums remove.
    let (mut g, mut h) = ([0.0; 4], [0.0; 4]);
    let of = |name: &str, slopes: &mut [f64]| {
        let Loss::List(loss) =
            loss::find(name).unwrap().make(&sqlite_ltr::internals::base::param::Params::default()).unwrap()
        else {
            panic!("a listwise loss")
        };
        loss.prepare(&[1.0, 4.0, 2.0, 5.0], &[]).value_and_subgradient(&[0.3, -1.0, 2.0, 0.7], slopes)
    };
    let (squared, pairs) = (of("squared", &mut g), of("pair_squared", &mut h));
    assert!((4.0 * squared - 3.0 * pairs).abs() < 1e-12);
    assert!(g.iter().zip(h).all(|(g, h)| (4.0 * g - 3.0 * h).abs() < 1e-12));
}
