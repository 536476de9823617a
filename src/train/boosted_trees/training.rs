//! Training of boosted trees: the ensembles, their number of trees, and the model.

use super::super::algorithm::{
    AlgorithmDef, Columns, DocWeights, InBuckets, Input, OutOfFold, Trained, TrainingSet, TrainingSpec, scale,
};
use super::super::averaged;
use super::boosted::Boosted;
use super::early::{ChosenTrees, Held, ScaledRows};
use super::query_columns::{QueryColumns, Use};
use super::settings::{details, details_of_both, trees_of};
use super::spec::{DEFAULT_TREES, Joined, TreeCount, TreesSpec};
use crate::base::{Control, Error, Result, parallel};
use crate::cost::loss;
use crate::data::{Dataset, ListConstraint, QueryFeatureRule, RowOrder, Scaling, ScalingKind};
use crate::learn::space::{Function, Member, Space};
use crate::math::Random;
use crate::model::{Linear, QueryTrees, Ranker};
use crate::train::baseline::{self, BaselineSpec};
use crate::train::options::Reader;
use crate::train::select::{FOLD_OPTIONS, Validation};
use crate::trees::{Boosting, Fitted, Prepared, Targets, TreeOptions};
use serde_json::{Map, Value};

pub const DEF: AlgorithmDef = AlgorithmDef {
    name: "boosted_trees",
    summary: "boosted oblivious trees: sums of functions that are constant between thresholds of up to eight features each",
    objective: "tree by tree: sum over queries of sum_j w_j (r_j - v_j - mean of (r - v))^2 + 10 |v|^2 over the values v of its leaves, r = grade - score of the trees before; the score is a sum of trees, each times learning_rate",
    source: "Friedman 2001, algorithms 1 and 2; oblivious trees: Prokhorenkova et al. 2018; least squares within queries: Cossock & Zhang 2006",
    defaults: &[("scale", ScalingKind::None.name())],
    reads: |option| Reader::Trees.reads(option),
    parse: |params| Ok(Box::new(TreesSpec::parse(params)?)),
    resume: None,
    in_buckets: InBuckets::Passes,
};

/// The preset with the loss `lambda_rank`.
pub const LAMBDAMART: AlgorithmDef = AlgorithmDef {
    name: super::super::algorithm::LAMBDAMART,
    summary: "boosted oblivious trees whose pairs of documents weigh what swapping them changes in ndcg@k",
    objective: "none: tree by tree the Newton step of gradients g and second derivatives h of pairs: sum over queries of sum_j h_j (r_j - v_j - mean of (r - v))^2 + 50 |v|^2 over the values v of its leaves, r = -g / h, means weighted by h, h in units of its mean at the first tree",
    source: "Burges 2010, section 7; oblivious trees: Prokhorenkova et al. 2018",
    defaults: &[("scale", ScalingKind::None.name()), ("loss", loss::list::LAMBDA_RANK.name)],
    ..DEF
};

impl Boosted {
    /// The result of a training with one scale.
    pub fn trained(self, scaling: Scaling) -> Trained {
        let mut details = details(&self);
        let Self { fitted, objective, found, joined, baseline, width, .. } = self;
        let joined = joined.filter(|(_, joined)| *joined).map(|(columns, _)| columns.rule);
        let (selection, mut warnings) =
            found.map_or((None, Vec::new()), |found| (Some(found.selection), found.warnings));
        let Some(baseline) = baseline else {
            let ranker = if let Some(rule) = joined {
                Ranker::QueryTrees(Box::new(QueryTrees::new(width, rule, fitted.forest, fitted.values)))
            } else {
                let function = Function { weights: fitted.values, objective, gap: 0.0 };
                Ranker::Linear(Linear::new(Space::of_trees(width, fitted.forest), function))
            };
            return Trained { selection, warnings, details, ..Trained::new(ranker, scaling) };
        };
        let is_alone = fitted.forest.trees() == 0;
        let value = selection.as_ref().and_then(|selection| selection.curve.last()?.1);
        details.extend([baseline.report(selection.as_ref(), value, is_alone)]);
        warnings.extend(baseline.warning());
        let mut summands = vec![baseline.fitted(width)];
        if !is_alone {
            let columns = width + joined.as_ref().map_or(0, QueryFeatureRule::width);
            let member = Member { scaling: scaling.into(), space: Space::of_trees(columns, fitted.forest) };
            summands.push(averaged::Fitted { member, weights: fitted.values, factor: 1.0, objective });
        }
        let ranker = averaged::sum(width, summands, joined.filter(|_| !is_alone));
        Trained { selection, warnings, details, ..Trained::new(ranker, Scaling::None) }
    }
}

impl TrainingSpec for TreesSpec {
    fn input(&self) -> Input<'_> {
        let validates = self.chooses_trees() || self.query_columns == Use::Auto;
        let validation = if validates { self.validation.data.source() } else { None };
        Input {
            columns: Columns::Features,
            constraint: ListConstraint::None,
            order: RowOrder::Canonical,
            missing: self.missing,
            validation,
            doc_weights: match &self.loss {
                Some(loss) if !loss.weighs_documents() => DocWeights::RefusedByLoss(loss.def().name),
                _ => DocWeights::Taken,
            },
            prior: None,
            counts_spread: false,
        }
    }

    fn fit(&self, set: TrainingSet, control: &Control) -> Result<Trained> {
        let TrainingSet { mut data, validation, .. } = set;
        let checked = self.check(&data);
        let nothing = checked.as_ref().err().filter(|_| self.may_be_baseline());
        let nothing = nothing.map(baseline::warning);
        if nothing.is_none() {
            checked?;
        }
        if self.both_scales {
            let trained = self.fit_both(&data, validation.as_ref(), control)?;
            return Ok(Trained { out_of_fold: Some(OutOfFold::Folds(Box::new(self.clone()))), ..trained });
        }
        let (mut boosted, scaling) = self.ensemble(&mut data, validation, control)?;
        let documents = boosted.found.as_mut().map(|documents| std::mem::take(&mut documents.fold_scores));
        let trees = boosted.fitted.forest.trees();
        let out_of_fold = match documents.filter(|documents| !documents.is_empty()) {
            Some(documents) => OutOfFold::Scores(documents),
            // The baseline alone.
            None if trees == 0 => OutOfFold::Folds(Box::new(self.clone())),
            None => OutOfFold::Folds(Box::new(Self { trees: TreeCount::Fixed(trees), ..self.clone() })),
        };
        let mut trained = boosted.trained(scaling);
        trained.warnings.extend(nothing);
        trained.out_of_fold = Some(out_of_fold);
        Ok(trained)
    }

    fn fold_options(&self) -> &'static [&'static str] {
        let chooses = self.chooses_trees() || self.query_columns == Use::Auto;
        let holds_out = matches!(self.validation.data, Validation::Queries(_));
        if chooses && holds_out { FOLD_OPTIONS } else { &[] }
    }

    fn settings(&self) -> Map<String, Value> {
        super::settings::of(self)
    }
}

impl TreesSpec {
    /// Trainings of all ensembles; the first has the seed of the options.
    pub(super) fn trainings<'a>(
        &self,
        prepared: &'a Prepared,
        targets: Targets<'_>,
        control: &Control,
    ) -> Result<Vec<Boosting<'a>>> {
        let mut random = Random::new(self.options.seed);
        let training = |number: usize| {
            let seed = if number == 0 { self.options.seed } else { random.bits() };
            Boosting::new(prepared, targets, TreeOptions { seed, ..self.options }, control)
        };
        (0..self.seeds).map(training).collect()
    }

    /// Searches the number of trees if it is not given, and whether query features improve them if that is not given. Adds
    /// the query features that are used to the bins. Returns what was found, and whether the query features of the source
    /// are used; `None` without query features.
    fn search(
        &self,
        prepared: &mut Prepared,
        rows: ScaledRows<'_>,
        held: &mut Option<Held>,
        control: &Control,
    ) -> Result<(Option<ChosenTrees>, Option<Joined>)> {
        let data = rows.data;
        let find = |prepared: &Prepared, held: &Option<Held>, searches: bool| {
            searches.then(|| super::early::find(self, prepared, rows, held.as_ref(), control)).transpose()
        };
        let chooses_trees = self.chooses_trees();
        let Some(columns) = QueryColumns::fit(self.query_columns, data)? else {
            if let (Some(option), TreeCount::Fixed(trees)) = (self.fold_option, self.trees) {
                return Err(Error::Unsupported(format!(
                    "option '{option}': there is nothing to choose with \"trees\": {trees} and no query features; leave out one \
                     of the two options"
                )));
            }
            return Ok((find(prepared, held, chooses_trees)?, None));
        };
        // 1. Without query features.
        let chooses = self.query_columns == Use::Auto;
        let without = find(prepared, held, chooses)?;
        // 2. With them.
        let width = data.features.columns();
        let added = columns.prepared(data, self.options, control)?;
        if let Some(held) = held {
            held.append(&columns, &added, control)?;
        }
        prepared.append(added);
        let with = find(prepared, held, chooses || chooses_trees)?;
        // 3. The better ones.
        let sign = self.validation.metric.def().better.sign();
        let is_better = match (&without, &with) {
            (Some(without), Some(with)) => with.is_better_than(without, sign),
            _ => true,
        };
        if !is_better {
            prepared.truncate(width);
        }
        Ok((if is_better { with } else { without }, Some((columns, is_better))))
    }

    /// Adds the trees. The features of `data` are in bins; its own are not read.
    pub fn boost(
        &self,
        mut prepared: Prepared,
        rows: ScaledRows<'_>,
        mut held: Option<Held>,
        control: &Control,
    ) -> Result<Boosted> {
        let data = rows.data;
        let width = prepared.edges.len();
        // 1. The number of trees, and whether query features are columns of theirs.
        let (found, joined) = self.search(&mut prepared, rows, &mut held, control)?;
        let trees = match self.trees {
            TreeCount::Fixed(trees) => trees,
            TreeCount::OrNone(_) | TreeCount::Auto => {
                found.as_ref().map_or(DEFAULT_TREES, |found| found.trees)
            }
        };
        let found = found.filter(|_| self.chooses_trees());
        // 2. All rows.
        let mut weights = data.weights.clone();
        let targets = self.targets(data, rows.start, &mut weights);
        let mut trainings = self.trainings(&prepared, targets, control)?;
        control.expect(trees * self.seeds);
        parallel::try_each_of(trainings.iter_mut().collect(), |_, training: &mut Boosting<'_>| {
            for _ in 0..trees {
                training.step(control)?;
                control.step();
            }
            Ok(())
        })?;
        let objective = Boosting::objective(&trainings);
        let learning_rate = self.options.learning_rate(data.n_docs());
        let fitted = Boosting::mean(trainings);
        Ok(Boosted { fitted, objective, learning_rate, found, joined, baseline: None, width })
    }

    /// Scales the documents and adds the trees.
    fn ensemble(
        &self,
        data: &mut Dataset,
        mut validation: Option<Dataset>,
        control: &Control,
    ) -> Result<(Boosted, Scaling)> {
        // 1. The first scores, then scaled features, in bins.
        let fit = |spec: &BaselineSpec| spec.fit(data, &self.minimized(), control);
        let baseline = self.baseline.as_ref().map(fit).transpose()?;
        let first = |data: &Dataset| baseline.as_ref().map_or_else(Vec::new, |of| of.scores(data));
        let (start, of_source) = (first(data), validation.as_ref().map_or_else(Vec::new, first));
        let scaling = Scaling::fit(self.scale, data, control)?;
        let _memory = scale(&scaling, self.scale, data, control)?;
        let _validation_memory = match &mut validation {
            Some(other) => Some(scale(&scaling, self.scale, other, control)?),
            None => None,
        };
        let TreeOptions { bins, seed, .. } = self.options;
        let mut prepared = Prepared::new(&data.features, bins, seed, control)?;
        prepared.signs = self.monotone.signs(data, &scaling)?;
        let held = match validation {
            Some(other) => Some(Held::new(other, of_source, &prepared, control)?),
            None => None,
        };
        // 2. The trees.
        let are_contradicting = baseline.as_ref().is_some_and(|baseline| baseline.is_contradicted);
        let rows = ScaledRows { data, scaling: &scaling, start: &start, are_contradicting };
        let boosted = self.boost(prepared, rows, held, control)?;
        Ok((Boosted { baseline, ..boosted }, scaling))
    }

    /// One ensemble for each scale, averaged.
    fn fit_both(&self, data: &Dataset, validation: Option<&Dataset>, control: &Control) -> Result<Trained> {
        // 1. An ensemble for each scale.
        let (mut parts, mut summands, mut rule) = (Vec::with_capacity(2), Vec::with_capacity(2), None);
        for scale in [ScalingKind::None, ScalingKind::QuantileMinmax] {
            let spec = Self { scale, both_scales: false, ..self.clone() };
            let bytes = data.bytes().saturating_add(validation.map_or(0, Dataset::bytes));
            let what = "a copy of the documents for each scale";
            let _memory = control.reserve(bytes, what, "use \"scale\": \"none\"")?;
            let mut copy = data.clone();
            let (boosted, scaling) = spec.ensemble(&mut copy, validation.cloned(), control)?;
            let Fitted { forest, values } = &boosted.fitted;
            let joined =
                boosted.joined.as_ref().filter(|(_, joined)| *joined).map(|(columns, _)| &columns.rule);
            summands.push(averaged::of_trees(forest.clone(), values, &scaling, &copy, joined, control)?);
            rule = rule.or_else(|| joined.cloned());
            parts.push((scale, boosted));
        }
        // 2. Validation of the sum.
        let (details, trees) = (details_of_both(&parts), trees_of(&parts));
        let choices: Vec<ChosenTrees> = parts.into_iter().filter_map(|(_, part)| part.found).collect();
        let (selection, warnings) = match <[ChosenTrees; 2]>::try_from(choices) {
            Ok(choices) => super::early::sum_selection(self, data, validation, choices, trees, control)?,
            Err(_) => (None, Vec::new()),
        };
        // 3. The sum.
        let ranker = averaged::sum(data.features.columns(), summands, rule);
        Ok(Trained { selection, warnings, details, ..Trained::new(ranker, Scaling::None) })
    }
}
