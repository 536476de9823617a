//! The training of each algorithm in buckets.

use super::grid;
use super::training::{BucketTraining, unsupported};
use super::trees::PackTrees;
use crate::base::{Error, Params, Result};
use crate::train::algorithm::{AlgorithmDef, InBuckets};
use crate::train::boosted_trees::TreesSpec;
use crate::train::grid::GridSpec;
use crate::train::probability;

/// An algorithm's training in buckets.
///
/// # Errors
/// Options that do not fit each other; [`Error::Unsupported`] with the reason why it does not train in buckets.
pub fn training(algorithm: &AlgorithmDef, options: &Params) -> Result<Box<dyn BucketTraining>> {
    if let Some(option) = ["split_by", "group_by"].into_iter().find(|option| options.has(option)) {
        let problem = format!(
            "the option '{option}' is not supported, because buckets are held out by the ids of queries; \
             train on rows"
        );
        return Err(unsupported(&problem));
    }
    if options.flag(probability::KEY) {
        let problem =
            "the option 'probability' is not supported, because no step holds out scores; train on rows";
        return Err(unsupported(problem));
    }
    let params = algorithm.params(options)?;
    match algorithm.in_buckets {
        InBuckets::Sums => {
            let spec = GridSpec::parse(&params)?;
            grid::check(&spec, &params)?;
            Ok(Box::new(spec))
        }
        InBuckets::Passes => Ok(Box::new(PackTrees::new(TreesSpec::parse(&params)?)?)),
        InBuckets::No(problem) => Err(Error::Unsupported(format!("'{}' {problem}", algorithm.name))),
    }
}
