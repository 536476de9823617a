//! The model of a fit.

use super::super::algorithm::{Trained, entries};
use super::biases::Biases;
use super::factors::Fit;
use super::spec::{CofiRankSpec, Known, Session};
use crate::data::Scaling;
use crate::math::dot;
use crate::model::{Factored, FoldIn, Implicit, Ranker};
use serde_json::json;

/// The model of a fit, without warnings.
pub(super) fn factored_model(
    session: &Session<'_>,
    fit: Fit,
    lambda: f64,
    known: Known,
    implicit: Option<Implicit>,
) -> Trained {
    let Known { users, items, ratings } = known;
    let CofiRankSpec { loss, tolerance, .. } = session.spec;
    let fold_in = FoldIn { loss: loss.clone(), transform: session.labels, lambda, tolerance: *tolerance };
    let Biases { users: user_biases, items: item_biases, unknown, .. } = fit.biases;
    let norm = |rows: &[f64]| dot(rows, rows).sqrt();
    let details = entries(json!({
        "users": users.len(),
        "items": items.len(),
        "ratings": ratings.len(),
        "bias_scale": fit.scale,
        "norms": { "users": norm(&fit.factors.users), "items": norm(&fit.factors.items) },
    }));
    let factored = Factored {
        users,
        items,
        factors: fit.factors,
        user_biases,
        item_biases,
        unknown_bias: unknown,
        scale: fit.scale,
        rated_offsets: ratings.offsets,
        rated: ratings.items,
        fold_in,
        implicit,
    };
    Trained {
        lambda: Some(lambda),
        log: fit.log,
        unconverged: usize::from(fit.gap.is_some_and(|gap| gap > *tolerance)),
        details,
        ..Trained::new(Ranker::Factored(Box::new(factored)), Scaling::None)
    }
}
