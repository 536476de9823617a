//! What `ltr_rank` and `ltr_evaluate` have in common: (model, source, options) as checked arguments.

use crate::arrange::ListConstraint;
use crate::control::Control;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::evaluate::{Scored, ScoringJob, Step};
use crate::options::{self, Use};
use crate::param::Params;
use crate::sqlite::glue::state::ModelHandle;
use crate::sqlite::glue::value::{optional_text, text_argument};
use crate::sqlite::glue::vtab::{Call, Parameter};
use crate::sqlite::glue::work::RunLimits;
use crate::sqlite::source::Source;
use crate::sqlite::source::reader::{ReadSpec, SourceRows, read};
use crate::sqlite::store::model;

/// Their parameters.
pub const PARAMETERS: &[Parameter] = &[
    Parameter { name: "model", required: true },
    Parameter { name: "source", required: true },
    Parameter { name: "options", required: false },
];

/// A model that is to be used on the rows of a source.
pub struct RankingCall {
    /// The options.
    pub options: Params,
    /// How work is to be run; its time started with the call.
    pub limits: RunLimits,
    /// The model.
    pub handle: ModelHandle,
    /// The source.
    pub source: Source,
}

impl RankingCall {
    /// The request that a call makes.
    ///
    /// # Errors
    /// Params, a model or a source that are not there or not right.
    pub fn new(call: &Call<'_>, used: Use) -> Result<Self> {
        let options = optional_text("argument 'options'", call.arguments[2])?;
        let options = options::parse(options.as_deref(), used)?;
        let limits = RunLimits::new(&options);
        let handle = model(call.connection, call.argument(0), options.text("schema"), call.state)?;
        let text = text_argument("argument 'source'", call.argument(1))?;
        let source = Source::resolve(call.connection, &text)?;
        Ok(Self { options, limits, handle, source })
    }

    /// The groups of documents that the model or the option `diversify_by` asks for.
    ///
    /// # Errors
    /// Params of blocks without any, or for a model that has slots.
    pub fn constraint(&self) -> Result<ListConstraint> {
        let blocks = self.options.has("diversify_by");
        if let Some(key) =
            ["max_per_value", "allow_short"].into_iter().find(|key| !blocks && self.options.has(key))
        {
            return Err(Error::Unsupported(format!(
                "option '{key}': it has no meaning without 'diversify_by'"
            )));
        }
        match (self.handle.model.card.slots, blocks) {
            (true, true) => {
                let reason =
                    "option 'diversify_by': the model matches documents to slots, which blocks cannot bind";
                Err(Error::Unsupported(reason.to_owned()))
            }
            (true, false) => Ok(ListConstraint::Slots),
            (false, true) => Ok(ListConstraint::Diversity),
            (false, false) => Ok(ListConstraint::None),
        }
    }

    /// Reads the source.
    ///
    /// # Errors
    /// Those of [`read`].
    pub fn read_source(&self, call: &Call<'_>, spec: ReadSpec<'_>) -> Result<SourceRows> {
        read(call.connection, &self.source, spec, &self.options, &self.limits)
    }

    /// Scores of the documents of the source; functions of novel queries are fitted on the call's threads.
    ///
    /// # Errors
    /// Those of scoring; blocks of the model that cannot be read.
    pub fn scored(&self, call: &Call<'_>, data: &Dataset) -> Result<Scored> {
        let ModelHandle { model, key, .. } = &self.handle;
        let fits = &call.state.fits;
        let run = |control: &Control| ScoringJob::start(model, *key, data, fits, control);
        let mut progress = self.limits.run(call.connection, run)?;
        loop {
            progress = match progress {
                Step::Done(scored) => return Ok(scored),
                Step::NeedsFits(job, queries) => {
                    self.handle.fetch(call.connection, &job.targets(&queries))?;
                    self.limits.run(call.connection, |control| job.advance(&queries, control))?
                }
            };
        }
    }
}
