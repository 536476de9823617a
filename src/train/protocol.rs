//! Training a model from rows, for SQL functions, the Rust interface and training in buckets.
//!
//! 1. The caller reads the rows that [`Training::input`] names.
//! 2. [`check_rows`] refuses rows that cannot be learned from.
//! 3. [`Training::run`] chooses a setting if there are several ([`Search`]), fits it on all rows ([`TrainingSpec::fit`]), and
//!    collects the report and the warnings ([`Finished`]).
//! 4. [`Encoded`] holds the model's bytes.

use crate::base::{ColumnAdvice, Control, Error, Memory, Params, Reservation, Result};
use crate::data::{Dataset, Fingerprint, QueryFeatureKind, ReadReport, RowOrder, ScalingKind};
use crate::learn::fit::QueryDependence;
use crate::model::{ENCODING, LinearPrior, Model, Ranker, SMALLER_MODEL, TrainingColumns};
use crate::train::algorithm::{
    AlgorithmDef, Columns, Input, PreviousFit, ResumeFn, TrainingSet, TrainingSpec,
};
use crate::train::baseline;
use crate::train::column_report::ColumnReport;
use crate::train::column_rules::is_undetermined;
use crate::train::counters;
use crate::train::evidence::Evidence;
use crate::train::feature_checks::FeatureChecks;
use crate::train::probability;
use crate::train::report::{
    DataCounts, FeatureColumns, Finished, baseline_advice, informative_queries, rating_of_documents,
    signs_of_leakage,
};
use crate::train::role_checks::role_warnings;
use crate::train::shared_documents;
use crate::train::single_feature;
use crate::train::tuning::{Choice, Search, SearchRows};
use serde_json::json;

/// An algorithm with its options, and with the settings among which cross-validation chooses.
pub struct Training {
    pub algorithm: &'static AlgorithmDef,
    pub options: Params,
    plan: Plan,
}

/// A training or a search.
enum Plan {
    /// A setting.
    One(Box<dyn TrainingSpec>),
    /// The best of several settings.
    Best(Box<Search>),
}

/// The rows of a training.
pub struct Rows<'a> {
    /// Judged documents, in the order of [`Input::order`].
    pub data: Dataset,
    /// Facts about the rows, found when reading.
    pub read_report: ReadReport,
    /// Judged documents to validate on, with the features of `data`, if [`Input::validation`] names a source.
    pub validation: Option<Dataset>,
    /// The columns that the caller names for roles.
    pub roles: TrainingColumns,
    /// How messages propose other roles.
    pub advice: ColumnAdvice<'a>,
    /// The role of each column.
    pub column_report: ColumnReport,
}

impl Training {
    /// A training with these options.
    ///
    /// # Errors
    /// Options that the algorithm does not read or that do not work together.
    pub fn new(algorithm: &'static AlgorithmDef, options: Params) -> Result<Self> {
        let plan = match Search::of_training(algorithm, &options)? {
            Some(search) => Plan::Best(Box::new(search)),
            None => Plan::One(algorithm.spec(&options)?),
        };
        Ok(Self { algorithm, options, plan })
    }

    /// The spec; `None` if cross-validation chooses among several.
    pub fn spec(&self) -> Option<&dyn TrainingSpec> {
        match &self.plan {
            Plan::One(spec) => Some(&**spec),
            Plan::Best(_) => None,
        }
    }

    pub fn input(&self) -> Input<'_> {
        match &self.plan {
            Plan::One(spec) => spec.input(),
            Plan::Best(search) => search.input(),
        }
    }

    /// Makes a stored function the center of the penalty. It is the function of the model which [`Input::prior`] names.
    pub fn set_prior(&mut self, prior: LinearPrior) {
        match &mut self.plan {
            Plan::One(spec) => spec.set_prior(prior),
            Plan::Best(search) => search.set_prior(prior),
        }
    }

    /// An error of [`Self::run`]. If the time limit passed, it says how many fits of a search were finished.
    pub fn error(&self, problem: Error) -> Error {
        match &self.plan {
            Plan::One(_) => problem,
            Plan::Best(search) => search.error(problem),
        }
    }

    /// Chooses a setting if there are several, and fits it on all rows. `most_bytes`: largest size of a model that can be
    /// stored.
    ///
    /// # Errors
    /// Data that the algorithm cannot learn from; a model that is larger; a limit; an interrupt.
    pub fn run(&self, rows: Rows<'_>, most_bytes: u64, control: &Control) -> Result<Finished> {
        let means = &rows.read_report.means;
        if let Some(column) = means.iter().position(|mean| !mean.is_finite()) {
            return Err(Error::Data(format!(
                "the numbers of the feature \"{}\" are too large: their mean is infinite; divide them in the source",
                rows.data.names[column]
            )));
        }
        let search = match &self.plan {
            Plan::One(spec) => return self.fit(&**spec, rows, most_bytes, control),
            Plan::Best(search) => search,
        };
        // 1. The best setting.
        let Rows { data, mut read_report, .. } = rows;
        let folds = search.folds(&data, read_report.split.as_deref(), &self.options)?;
        let searched = SearchRows { data, folds, summaries: std::mem::take(&mut read_report.summaries) };
        let Choice { spec, report, validation, warnings } = search.best(&searched, control)?;
        let SearchRows { data, summaries, .. } = searched;
        let read_report = ReadReport { summaries, split: None, ..read_report };
        // 2. The fit.
        let rows = Rows { data, read_report, ..rows };
        let mut finished = self.fit(&*spec, rows, most_bytes, control)?.with_validation(validation);
        finished.volatile.insert("search".to_owned(), report);
        finished.warnings.extend(warnings);
        Ok(finished)
    }

    /// Fits one setting.
    fn fit(
        &self,
        spec: &dyn TrainingSpec,
        rows: Rows<'_>,
        most_bytes: u64,
        control: &Control,
    ) -> Result<Finished> {
        check_bytes(spec.bytes_kept(&rows.data), most_bytes)?;
        let advice = baseline_advice(self.algorithm, &self.options, &rows.data);
        let counts_spread = spec.input().counts_spread;
        let train =
            |rows: Rows<'_>, follow_clicks: &[String]| self.fit_rows(spec, rows, follow_clicks, control);
        let mut finished = rows.explained(counts_spread, (self.algorithm, &self.options), control, train)?;
        finished.volatile.extend(advice.map(|advice| ("advice".to_owned(), json!(advice))));
        Ok(finished)
    }

    /// `follow_clicks`: the features that follow the clicks behind the judgments.
    fn fit_rows(
        &self,
        spec: &dyn TrainingSpec,
        rows: Rows<'_>,
        follow_clicks: &[String],
        control: &Control,
    ) -> Result<Finished> {
        let Rows { data, read_report, validation, roles, advice, .. } = rows;
        // 1. What reports need of the rows, which the fit consumes.
        let fingerprint = || Fingerprint::of(&data, &read_report.missing, control);
        let fingerprint = (spec.input().order == RowOrder::Canonical).then(fingerprint).transpose()?;
        let counts = DataCounts::of(&data);
        let (names, categories, quantities) =
            (data.names.clone(), data.categories.clone(), data.quantities.clone());
        let columns = FeatureColumns { names, categories, quantities, means: read_report.means, roles };
        // 2. The fit.
        let has_query_features = !data.query_names.is_empty();
        let dependence = if has_query_features {
            QueryDependence::of(&data, Some(QueryFeatureKind::Named), &[], control)?
        } else {
            None
        };
        let queries = [informative_queries(&data), data.n_queries()];
        let from_clicks = read_report.determined.is_some();
        let undetermined = read_report.determined.is_some_and(is_undetermined);
        let is_wanted = self.options.flag(probability::KEY);
        let kept = is_wanted.then(|| {
            let (data, is_source) = validation.as_ref().map_or((&data, false), |source| (source, true));
            let memory =
                control.reserve(data.bytes(), "a copy of the rows for probabilities", "use fewer rows")?;
            let rows =
                probability::Rows { data: data.clone(), is_source, summaries: read_report.summaries.clone() };
            Ok((rows, memory))
        });
        let kept: Option<(probability::Rows, Reservation)> = kept.transpose()?;
        let set = TrainingSet { data, validation, summaries: read_report.summaries, dependence };
        let held_out = shared_documents::held_out(spec, &set, control)?;
        let mut trained = spec.fit(set, control)?;
        trained.warnings.extend(shared_documents::warning(&trained, held_out.as_ref()));
        let out_of_fold = trained.out_of_fold.take();
        let evidence = (spec.input().columns == Columns::Features)
            .then(|| Evidence::of(queries, &trained, follow_clicks, undetermined));
        if has_query_features {
            // A fit that compares queries has reported the evidence for the query features that it uses.
            let report = QueryDependence::report(dependence.as_ref());
            trained.details.entry(QueryDependence::KEY).or_insert(report);
        }
        // 3. The model and the report.
        let baseline = self.options.text(baseline::KEY);
        let may_have_baseline = {
            let options = self.options.clone().with(baseline::KEY, json!(""));
            let reads = (self.algorithm.reads)(baseline::KEY) && !options.has("missing");
            reads && baseline.is_none() && self.algorithm.spec(&options).is_ok()
        };
        let warning = |selection| single_feature::warning(selection, baseline, may_have_baseline, advice);
        let single_feature = trained.selection.as_ref().and_then(warning);
        // Clicks favor the order that was shown, and few judgments favor one by chance. Clicks in one order have a warning.
        let has_warning = undetermined && follow_clicks.is_empty();
        let is_weak = |evidence: &&Evidence| {
            !has_warning && (from_clicks || baseline.is_some() || evidence.is_little())
        };
        let doubt = evidence.as_ref().filter(is_weak).and_then(|evidence| evidence.doubt(may_have_baseline));
        let mut finished = Finished::new(self.algorithm, spec, counts, columns, trained);
        // Both are about the best column, unless there is a baseline.
        let (first, other) = if from_clicks { (doubt, single_feature) } else { (single_feature, doubt) };
        let other = other.filter(|_| first.is_none() || baseline.is_some());
        finished.warnings.extend(first.into_iter().chain(other));
        if let Some(((rows, _memory), found)) = kept.zip(out_of_fold) {
            let held = rows.held(&finished.model, found, (self.algorithm, &self.options), control)?;
            probability::learn(&held, &self.options, control)?.add_to(&mut finished);
        }
        finished.model = finished.model.with_fingerprint(fingerprint);
        finished.missing_filled = read_report.imputed;
        (finished.dependence, finished.evidence) = (dependence, evidence);
        Ok(finished)
    }
}

impl Rows<'_> {
    /// Trains with `train`, and adds what the rows show: signs of leakage and of useless features, and
    /// what became of the columns. `counts_spread`: of [`Input::counts_spread`].
    ///
    /// # Errors
    /// Errors of `train`; an interrupt.
    pub fn explained(
        mut self,
        counts_spread: bool,
        (algorithm, options): (&AlgorithmDef, &Params),
        control: &Control,
        train: impl FnOnce(Self, &[String]) -> Result<Finished>,
    ) -> Result<Finished> {
        let signs = Signs::of(&self, counts_spread, control)?;
        let (advice, column_report) = (self.advice, std::mem::take(&mut self.column_report));
        let mut finished = train(self, &signs.follow_clicks)?;
        finished.warnings.extend(signs.warnings(&finished.model.ranker, advice));
        column_report.add_to(&mut finished, algorithm, options, advice);
        Ok(finished)
    }
}

/// Trains a model further with new rows. Returns the counts of the new rows, too.
///
/// # Errors
/// As [`Training::run`].
pub fn update(
    model: &Model,
    algorithm: &AlgorithmDef,
    resume: ResumeFn,
    rows: Rows<'_>,
    options: &Params,
    control: &Control,
) -> Result<(DataCounts, Finished)> {
    let counts_spread = model.scaling.kind() == ScalingKind::None;
    let added = DataCounts::of(&rows.data);
    let counts = added.added_to(&model.card.summary);
    let finished = rows.explained(counts_spread, (algorithm, options), control, |rows, _| {
        let Rows { data, read_report, .. } = rows;
        let set = TrainingSet { data, validation: None, summaries: read_report.summaries, dependence: None };
        let previous = PreviousFit { ranker: &model.ranker, scaling: &model.scaling };
        let trained = resume(previous, set, control)?;
        let mut finished = Finished::continued(&model.card, counts, read_report.means, trained);
        finished.missing_filled = read_report.imputed;
        Ok(finished)
    })?;
    Ok((added, finished))
}

/// Facts about the rows before they are consumed: signs of leakage and of useless features.
#[derive(Debug, Default)]
struct Signs {
    features: FeatureChecks,
    /// Features that follow the clicks behind the judgments.
    follow_clicks: Vec<String>,
    warnings: Vec<String>,
}

impl Signs {
    /// The signs in the rows. `counts_spread`: of [`Input::counts_spread`].
    ///
    /// # Errors
    /// An interrupt.
    fn of(rows: &Rows<'_>, counts_spread: bool, control: &Control) -> Result<Self> {
        let mut warnings = signs_of_leakage(&rows.data, rows.advice);
        warnings.extend(rating_of_documents(&rows.data, rows.roles.relevance.as_deref(), rows.advice));
        warnings.extend(role_warnings(&rows.data, &rows.roles, rows.advice));
        let repeated = rows.validation.as_ref().map_or(0, |other| other.documents_also_in(&rows.data));
        if repeated > 0 {
            warnings.push(format!(
                "{repeated} documents of the validation source are in the training too, so the validation value is too good"
            ));
        }
        let from_clicks = rows.read_report.determined.is_some();
        let follow_clicks = if from_clicks { counters::names(&rows.data, control)? } else { Vec::new() };
        warnings.extend(counters::warning(&follow_clicks, rows.advice));
        let features = FeatureChecks::of(&rows.data, &rows.read_report, counts_spread, control)?;
        Ok(Self { features, follow_clicks, warnings })
    }

    /// The warnings; warnings about features are worded for this ranker.
    fn warnings(self, ranker: &Ranker, advice: ColumnAdvice<'_>) -> Vec<String> {
        let query_features = ranker.query_rule().map_or(&[][..], |rule| &rule.names);
        let mut warnings = self.features.warnings(ranker.capabilities().linear, query_features, advice);
        warnings.extend(self.warnings);
        warnings
    }
}

/// Prepares rows that were read for a training.
///
/// # Errors
/// Data without rows.
pub fn check_rows(data: &mut Dataset, input: Input<'_>) -> std::result::Result<(), &'static str> {
    if input.columns == Columns::Pairs {
        data.duplicates = 0; // Each row of a pair counts.
    }
    if data.n_docs() == 0 { Err("0 rows; training needs judged documents") } else { Ok(()) }
}

/// A model in its stored form.
pub struct Encoded {
    pub bytes: Vec<u8>,
    /// Counts them until they are stored.
    _memory: Reservation,
}

impl Encoded {
    /// `most_bytes`: largest number of bytes that can be stored.
    ///
    /// # Errors
    /// Errors of [`Model::to_bytes`]; too much memory; too many bytes.
    pub fn new(model: Model, most_bytes: u64, memory: &Memory) -> Result<Self> {
        let mut memory = memory.nothing();
        let bytes = model.encode(&mut memory)?;
        drop(model);
        memory.resize(bytes.len() as u64, ENCODING, SMALLER_MODEL)?;
        check_bytes(bytes.len() as u64, most_bytes)?;
        Ok(Self { bytes, _memory: memory })
    }
}

/// Refuses a model that is too long for one value of the database.
fn check_bytes(bytes: u64, most: u64) -> Result<()> {
    if bytes <= most {
        return Ok(());
    }
    Err(Error::Unsupported(format!(
        "the model would take {bytes} bytes, but a value in this database has at most {most} \
         (SQLITE_LIMIT_LENGTH). A query-dependent model keeps the documents of all training queries and, unless \
         \"fit_at\" is \"query_time\", a function for each: give features as BLOBs of ltr_vec, which take half of REAL \
         columns; leave out features or less relevant documents; or use rank_svm, which keeps neither"
    )))
}
