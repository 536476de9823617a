//! Trains and measures in SQL. A model that several parts need is trained once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::Outcome;
use crate::data::{Set, Split};
use crate::methods::Method;

/// What is measured on test queries.
const METRICS: [&str; 12] = [
    "ndcg@1", "ndcg@2", "ndcg@3", "ndcg@4", "ndcg@5", "ndcg@6", "ndcg@7", "ndcg@8", "ndcg@9", "ndcg@10",
    "map", "err",
];

/// What validation maximizes and tests compare.
pub const CHOICE: &str = "ndcg@10";

/// Candidates for lambda with `--quick`.
const QUICK_LAMBDAS: [f64; 5] = [1.0, 0.1, 0.01, 0.001, 0.0001];

/// A database with the extension, and what was trained in it.
pub struct Lab {
    pub connection: Connection,
    pub quick: bool,
    fitted: RefCell<HashMap<String, Rc<Fit>>>,
    bar: ProgressBar,
}

/// A model's measures.
pub struct Fit {
    /// NDCG@10 of the validation part.
    pub validated: f64,
    /// Training time of all candidates, in seconds.
    pub seconds: f64,
    /// The options that were chosen by validation.
    pub options: Value,
    /// What the training reported.
    pub report: Value,
    /// Means over the test queries by metric.
    means: HashMap<String, f64>,
    /// NDCG@10 of each test query, in the order of their ids.
    pub queries: Vec<f64>,
}

impl Fit {
    /// The mean of a metric over the test queries.
    ///
    /// # Errors
    /// A metric that is not among those measured.
    pub fn mean(&self, metric: &str) -> Outcome<f64> {
        Ok(*self.means.get(metric).ok_or_else(|| format!("{metric} was not measured"))?)
    }
}

/// The mean over folds of what each has.
///
/// # Errors
/// The errors of `value`.
pub fn mean(fits: &[Rc<Fit>], value: impl Fn(&Fit) -> Outcome<f64>) -> Outcome<f64> {
    let values = fits.iter().map(|fit| value(fit)).collect::<Outcome<Vec<f64>>>()?;
    Ok(values.iter().sum::<f64>() / values.len() as f64)
}

impl Lab {
    /// An empty database.
    ///
    /// # Errors
    /// A database that cannot be opened.
    pub fn new(quick: bool) -> Outcome<Self> {
        let connection = Connection::open_in_memory()?;
        sqlite_ltr::register(&connection)?;
        let bar = ProgressBar::new(0);
        bar.set_style(ProgressStyle::with_template("{bar:40} {pos}/{len}  {elapsed}  {msg}")?);
        bar.enable_steady_tick(Duration::from_millis(500));
        Ok(Self { connection, quick, fitted: RefCell::default(), bar })
    }

    /// Says how many steps of work come.
    pub fn expect(&self, steps: usize) {
        self.bar.inc_length(steps as u64);
    }

    /// A step of work begins.
    pub fn begin(&self, what: String) {
        self.bar.set_message(what);
    }

    /// A step of work is done.
    pub fn step(&self) {
        self.bar.inc(1);
    }

    /// Prints something while no bar is drawn.
    pub fn pause(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }

    /// The bar goes away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// Trains a method on every split of a set, and measures it.
    ///
    /// # Errors
    /// What SQL answers with.
    pub fn fits(&self, method: &Method, set: &Set) -> Outcome<Vec<Rc<Fit>>> {
        set.splits.iter().map(|split| self.fit(method, set, split)).collect()
    }

    fn fit(&self, method: &Method, set: &Set, split: &Split) -> Outcome<Rc<Fit>> {
        self.begin(format!("{}: {}, test on {}", set.name, method.label, split.test));
        let key = format!("{} {} {}", method.algorithm, split.test, json!(method.candidates));
        let known = self.fitted.borrow().get(&key).cloned();
        let fit = match known {
            Some(fit) => fit,
            None => Rc::new(
                self.best(method, set, split)
                    .map_err(|error| format!("{} on {}: {error}", method.label, set.name))?,
            ),
        };
        self.fitted.borrow_mut().insert(key, Rc::clone(&fit));
        self.step();
        Ok(fit)
    }

    /// The candidate with the highest validated measure, the first of equal ones.
    fn best(&self, method: &Method, set: &Set, split: &Split) -> Outcome<Fit> {
        let mut best: Option<(f64, Value, Value)> = None;
        let mut seconds = 0.0;
        for (place, candidate) in method.candidates.iter().enumerate() {
            let mut options = candidate.clone();
            options["name"] = json!(format!("candidate {place}"));
            if method.has_lambda {
                self.add_choice(&mut options, set, split);
            }
            let started = Instant::now();
            let report = self.train(method.algorithm, &split.train, &options)?;
            seconds += started.elapsed().as_secs_f64();
            let validated = match report.pointer("/validation/best").and_then(Value::as_f64) {
                Some(validated) => validated,
                None => self.evaluate(&options["name"], &split.validation, set, &[CHOICE])?.0[CHOICE],
            };
            if best.as_ref().is_none_or(|(value, ..)| validated > *value) {
                best = Some((validated, options, report));
            }
        }
        let (validated, options, report) = best.ok_or("a method without candidates")?;
        let (means, queries) = self.evaluate(&options["name"], &split.test, set, &METRICS)?;
        Ok(Fit { validated, seconds, options, report, means, queries })
    }

    /// Lambda is chosen on the validation part.
    fn add_choice(&self, options: &mut Value, set: &Set, split: &Split) {
        options["scale"] = set.scale.clone();
        options["validation"] = json!(split.validation);
        options["metric"] = json!(CHOICE);
        options["undefined"] = json!("zero");
        if self.quick && options.get("lambda").is_none() {
            options["lambda"] = json!(QUICK_LAMBDAS);
        }
    }

    /// Trains and returns the report.
    ///
    /// # Errors
    /// What SQL answers with.
    pub fn train(&self, algorithm: &str, source: &str, options: &Value) -> Outcome<Value> {
        let arguments = (algorithm, source, options.to_string());
        let sql = "SELECT ltr_train(?1, ?2, ?3)";
        let report: String = self.connection.query_row(sql, arguments, |row| row.get(0))?;
        Ok(serde_json::from_str(&report)?)
    }

    /// Means by metric, and NDCG@10 of each query.
    fn evaluate(
        &self,
        model: &Value,
        source: &str,
        set: &Set,
        metrics: &[&str],
    ) -> Outcome<(HashMap<String, f64>, Vec<f64>)> {
        let options = json!({ "metric": metrics, "undefined": "zero", "max_grade": set.max_grade });
        let sql = "SELECT query_id IS NULL, metric, coalesce(value, 0) FROM ltr_evaluate(?1, ?2, ?3)";
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query((model.as_str(), source, options.to_string()))?;
        let (mut means, mut queries) = (HashMap::new(), Vec::new());
        while let Some(row) = rows.next()? {
            let (is_mean, metric, value): (bool, String, f64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            if is_mean {
                means.insert(metric, value);
            } else if metric == CHOICE {
                queries.push(value);
            }
        }
        Ok((means, queries))
    }
}
