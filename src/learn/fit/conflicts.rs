//! Which choices of a training work together: the one table of conflicts.
//!
//! Training refuses a conflict before it reads a row. The decoder of models refuses the same conflicts. A combination
//! without a conflict trains, stores, reloads and ranks; the conformance tests try all of them.

use super::choices::{FitAt, HeldOut, Interaction, LambdaBy, LambdaScope, Penalty, PenaltyKind, Prior};
use crate::base::{Error, Result, named};
use crate::cost::loss::list::DIRECT;
use crate::cost::loss::{self, Loss, LossDef, Shape};
use crate::data::ListConstraint;
use crate::learn::kernel;
use crate::learn::smoothing::SmoothingKind;
use crate::learn::solve::{self, SOLVERS, SolverDef};
use crate::learn::space::Form;

/// Options of one training that can conflict.
#[derive(Debug, Clone, Copy)]
pub struct Combination<'a> {
    pub loss: &'a Loss,
    pub solver: &'static SolverDef,
    pub penalty: Penalty,
    /// The prior that the penalty shrinks to.
    pub prior: Prior,
    /// The form of the function.
    pub form: Form,
    /// Name of the kernel.
    pub kernel: &'a str,
    /// Products with query features.
    pub interaction: Interaction,
    /// Weights of the training queries.
    pub smoothing: SmoothingKind,
    /// When functions are fitted.
    pub fit_at: FitAt,
    /// Which functions have one lambda.
    pub lambda_scope: LambdaScope,
    /// Held-out data of the validation.
    pub held_out: HeldOut,
    /// The source of lambda, or of the parameter that replaces it.
    pub lambda: LambdaBy,
}

#[derive(Debug, Clone, Copy)]
enum Choice {
    Loss,
    Solver,
    Penalty,
    Prior,
    Form,
    Kernel,
    Interaction,
    Smoothing,
    FitAt,
    Lambda,
    LambdaScope,
    Validation,
}

named!(Choice {
    Loss = "loss",
    Solver = "solver",
    Penalty = "penalty",
    Prior = "prior",
    Form = "form",
    Kernel = "kernel",
    Interaction = "interaction",
    Smoothing = "smoothing",
    FitAt = "fit_at",
    Lambda = "lambda",
    LambdaScope = "lambda_scope",
    Validation = "validation",
});

/// Choices that do not work together.
struct Conflict {
    /// The choice that is refused, and those that it conflicts with.
    choices: &'static [Choice],
    /// Whether a combination has the conflict.
    holds: fn(&Combination<'_>) -> bool,
    /// What to use instead.
    instead: fn(&Combination<'_>) -> String,
}

/// Every conflict.
const CONFLICTS: &[Conflict] = &[
    Conflict {
        choices: &[Choice::Solver, Choice::Loss],
        holds: |c| !c.solver.takes(c.loss),
        instead: |c| {
            if c.loss.shape() == Shape::Gradients {
                return "boosted_trees: the loss has gradients, but no function to minimize".to_owned();
            }
            let solvers = SOLVERS.iter().filter(|solver| solver.takes(c.loss));
            let solvers = format!("solver {}", alternatives(solvers.map(|solver| solver.name)));
            let takes_convex = c.solver.list.is_some_and(|method| method.shapes.contains(&Shape::Convex));
            if takes_convex && c.loss.def().name == DIRECT.name {
                return format!("bound \"convex\" or {solvers}");
            }
            solvers
        },
    },
    Conflict {
        choices: &[Choice::Form, Choice::Loss],
        holds: |c| c.form == Form::Ranking && matches!(c.loss, Loss::List(_)),
        instead: |_| "form \"scoring\" or a pairwise loss".to_owned(),
    },
    Conflict {
        choices: &[Choice::Penalty, Choice::Loss],
        holds: |c| c.penalty.kind() == PenaltyKind::Spectral && c.loss.shape() != Shape::Quadratic,
        instead: |_| format!("penalty \"ridge\" or loss {}", losses(|loss| loss.shape == Shape::Quadratic)),
    },
    Conflict {
        choices: &[Choice::Penalty, Choice::Loss],
        holds: |c| c.penalty == Penalty::Ball && !c.loss.is_convex_list(),
        instead: |c| {
            if c.loss.def().name == DIRECT.name {
                return "bound \"convex\" or penalty \"ridge\"".to_owned();
            }
            "penalty \"ridge\" or a convex listwise loss such as \"slam\"".to_owned()
        },
    },
    Conflict {
        choices: &[Choice::Penalty, Choice::Loss],
        holds: |c| c.penalty == Penalty::Sphere && !c.loss.is_smooth_list(),
        instead: |_| "penalty \"ridge\" or a smooth listwise loss such as \"list_net\"".to_owned(),
    },
    Conflict {
        choices: &[Choice::Penalty, Choice::Loss],
        holds: |c| c.penalty == Penalty::L1 && !takes_l1(c.loss),
        instead: |c| {
            if c.loss.def().name == DIRECT.name {
                return "bound \"convex\" or penalty \"ridge\"".to_owned();
            }
            format!(
                "penalty \"ridge\" or loss {} or \"{}\" with bound \"convex\"",
                losses(|loss| loss.shape == Shape::Quadratic),
                DIRECT.name
            )
        },
    },
    Conflict {
        choices: &[Choice::Penalty, Choice::Kernel],
        holds: |c| c.penalty == Penalty::L1 && c.kernel != kernel::NAMES[0],
        instead: |_| "kernel \"linear\" or penalty \"ridge\"".to_owned(),
    },
    Conflict {
        choices: &[Choice::Solver, Choice::Penalty],
        holds: |c| c.penalty == Penalty::L1 && c.solver.name != SOLVERS[0].name,
        instead: |_| "solver \"auto\" or penalty \"ridge\"".to_owned(),
    },
    Conflict {
        choices: &[Choice::Prior, Choice::Penalty],
        holds: |c| c.prior != Prior::Zero && c.penalty != Penalty::Ridge,
        instead: |_| "prior \"zero\" or penalty \"ridge\"".to_owned(),
    },
    Conflict {
        choices: &[Choice::Prior, Choice::Smoothing],
        holds: |c| {
            c.prior == Prior::Global && c.smoothing == SmoothingKind::Uniform
                || c.prior == Prior::Auto && !c.smoothing.uses_distance()
        },
        instead: |_| "prior \"zero\" or \"regression\"".to_owned(),
    },
    // A stored model's weights belong to its own features.
    Conflict {
        choices: &[Choice::Prior, Choice::Kernel],
        holds: |c| c.prior == Prior::Model && c.kernel != kernel::NAMES[0],
        instead: |_| "prior \"zero\" or kernel \"linear\"".to_owned(),
    },
    // The least-squares function needs features of single documents.
    Conflict {
        choices: &[Choice::Prior, Choice::Form, Choice::Kernel],
        holds: |c| c.prior == Prior::Regression && c.form == Form::Ranking && c.kernel != kernel::NAMES[0],
        instead: |_| "prior \"zero\" or \"global\", form \"scoring\", or kernel \"linear\"".to_owned(),
    },
    // Products belong to one linear function of documents, which may be the prior of local ones.
    Conflict {
        choices: &[Choice::Interaction, Choice::Smoothing],
        holds: |c| c.interaction != Interaction::None && c.smoothing == SmoothingKind::Individual,
        instead: |_| "interaction \"none\", or smoothing \"uniform\" or \"gaussian\"".to_owned(),
    },
    Conflict {
        choices: &[Choice::Interaction, Choice::Kernel],
        holds: |c| c.interaction != Interaction::None && c.kernel != kernel::NAMES[0],
        instead: |_| "interaction \"none\" or kernel \"linear\"".to_owned(),
    },
    Conflict {
        choices: &[Choice::Interaction, Choice::Form],
        holds: |c| c.interaction != Interaction::None && c.form == Form::Ranking,
        instead: |_| "interaction \"none\" or form \"scoring\"".to_owned(),
    },
    Conflict {
        choices: &[Choice::Interaction, Choice::Smoothing, Choice::Penalty],
        holds: |c| {
            let is_local = c.smoothing != SmoothingKind::Uniform;
            c.interaction != Interaction::None && is_local && c.penalty != Penalty::Ridge
        },
        instead: |_| "interaction \"none\", smoothing \"uniform\", or penalty \"ridge\"".to_owned(),
    },
    Conflict {
        choices: &[Choice::Interaction, Choice::Prior],
        holds: |c| {
            let is_zero = c.prior == Prior::Zero && c.smoothing != SmoothingKind::Uniform;
            c.interaction != Interaction::None && (is_zero || c.prior == Prior::Model)
        },
        instead: |c| {
            let prior = if c.smoothing == SmoothingKind::Uniform { Prior::Zero } else { Prior::Global };
            format!("interaction \"none\" or prior \"{}\"", prior.name())
        },
    },
    // A held-out query has no function.
    Conflict {
        choices: &[Choice::Validation, Choice::Smoothing],
        holds: |c| c.held_out == HeldOut::Queries && c.smoothing == SmoothingKind::Individual,
        instead: |_| "validation \"documents\" or a source".to_owned(),
    },
    // A slot without its documents has no ideal arrangement.
    Conflict {
        choices: &[Choice::Validation, Choice::Loss],
        holds: |c| {
            let slots = c.loss.constraint() == ListConstraint::Slots;
            slots && c.held_out == HeldOut::Documents && c.lambda == LambdaBy::Validation
        },
        instead: |_| "a fraction of the queries, or give lambda".to_owned(),
    },
    // The lambda of a query is chosen on its own documents.
    Conflict {
        choices: &[Choice::LambdaScope, Choice::Validation],
        holds: |c| c.lambda_scope == LambdaScope::Each && c.held_out == HeldOut::Queries,
        instead: |_| "validation \"documents\" or a source".to_owned(),
    },
    // The rate is one of the number of query features.
    Conflict {
        choices: &[Choice::Lambda, Choice::Smoothing],
        holds: |c| c.lambda == LambdaBy::Rate && !c.smoothing.uses_distance(),
        instead: |_| "smoothing \"gaussian\" or \"knn\", or lambda \"auto\"".to_owned(),
    },
    Conflict {
        choices: &[Choice::Lambda, Choice::Penalty],
        holds: |c| c.lambda == LambdaBy::Rate && c.penalty != Penalty::Ridge,
        instead: |_| "penalty \"ridge\" or lambda \"auto\"".to_owned(),
    },
    Conflict {
        choices: &[Choice::FitAt, Choice::Smoothing],
        holds: |c| c.fit_at == FitAt::QueryTime && c.smoothing == SmoothingKind::Individual,
        instead: |_| "fit_at \"training\"".to_owned(),
    },
    Conflict {
        choices: &[Choice::FitAt, Choice::LambdaScope],
        holds: |c| c.fit_at == FitAt::QueryTime && c.lambda_scope == LambdaScope::Each,
        instead: |_| "fit_at \"training\"".to_owned(),
    },
];

/// An option that has no effect with some other choice.
struct Unused {
    option: &'static str,
    with: Choice,
    holds: fn(&Combination<'_>) -> bool,
    /// The alternative, with a semicolon in front; may be empty.
    instead: &'static str,
}

/// Every option that a combination can leave without effect.
const UNUSED: &[Unused] = &[
    unused("neighbors", Choice::Smoothing, |c| !c.smoothing.uses_distance()),
    unused("novel_neighbors", Choice::Smoothing, |c| !c.smoothing.uses_distance()),
    unused("bandwidth", Choice::Smoothing, |c| {
        !c.smoothing.uses_distance() || c.smoothing == SmoothingKind::Knn
    }),
    unused("query_features", Choice::Smoothing, reads_no_queries),
    unused("query_scale", Choice::Smoothing, reads_no_queries),
    unused("query_distance", Choice::Smoothing, |c| !c.smoothing.uses_distance())
        .instead("; set \"smoothing\": \"gaussian\""),
    unused("fit_at", Choice::Smoothing, |c| c.smoothing == SmoothingKind::Uniform),
    unused("lambda_scope", Choice::Smoothing, |c| c.smoothing == SmoothingKind::Uniform),
    unused("scale", Choice::Prior, |c| c.prior == Prior::Model)
        .instead("; documents are scaled as in the training of the prior"),
    unused("landmarks", Choice::Kernel, |c| c.kernel == kernel::NAMES[0]),
    unused("components", Choice::Penalty, |c| c.penalty.kind() != PenaltyKind::Spectral)
        .instead("; set \"penalty\": \"spectral\""),
    unused("radius", Choice::Penalty, |c| !c.penalty.has_radius()).instead("; set \"penalty\": \"ball\""),
    // The sign of a weight is the order of its feature only in one linear function, and only solvers of smooth convex losses keep it.
    unused("monotone", Choice::Smoothing, |c| c.smoothing != SmoothingKind::Uniform),
    unused("monotone", Choice::Kernel, |c| c.kernel != kernel::NAMES[0]),
    unused("monotone", Choice::Form, |c| c.form == Form::Ranking),
    unused("monotone", Choice::Interaction, |c| c.interaction != Interaction::None),
    unused("monotone", Choice::Prior, |c| c.prior != Prior::Zero),
    unused("monotone", Choice::Penalty, |c| c.penalty != Penalty::Ridge),
    unused("monotone", Choice::Loss, |c| !matches!(c.loss.shape(), Shape::Quadratic | Shape::Smooth))
        .instead("; use \"loss\": \"squared_hinge\", \"logistic\", \"squared\" or \"list_net\", or train boosted_trees"),
    unused("monotone", Choice::Solver, |c| c.solver.name != solve::NAMES[0]),
    // A probability belongs to one function that scores each document alone.
    unused("probability", Choice::Smoothing, |c| c.smoothing != SmoothingKind::Uniform),
    unused("probability", Choice::Form, |c| c.form == Form::Ranking),
    unused("probability", Choice::Loss, |c| c.loss.constraint() == ListConstraint::Slots),
    unused("lambda", Choice::Penalty, |c| c.penalty.has_radius()).instead("; use the option 'radius'"),
];

/// Whether a training reads no query features.
fn reads_no_queries(c: &Combination<'_>) -> bool {
    c.smoothing == SmoothingKind::Uniform && c.interaction == Interaction::None
}

const fn unused(option: &'static str, with: Choice, holds: fn(&Combination<'_>) -> bool) -> Unused {
    Unused { option, with, holds, instead: "" }
}

impl Unused {
    const fn instead(self, instead: &'static str) -> Self {
        Self { instead, ..self }
    }
}

impl Combination<'_> {
    /// Refuses choices that do not work together.
    ///
    /// # Errors
    /// The first conflict, with what to use instead.
    pub fn check(&self) -> Result<()> {
        let Some(conflict) = CONFLICTS.iter().find(|conflict| (conflict.holds)(self)) else { return Ok(()) };
        let texts: Vec<String> = conflict.choices.iter().map(|choice| self.text(*choice)).collect();
        let (refused, others) = (&texts[0], texts[1..].join(" with "));
        let instead = (conflict.instead)(self);
        Err(Error::Unsupported(format!("{refused} does not support {others}; use {instead}")))
    }

    /// Refuses options that the caller gave although they have no effect.
    ///
    /// # Errors
    /// The first such option, with the choice that makes it useless, and what to do instead.
    pub fn check_given(&self, given: impl Fn(&str) -> bool) -> Result<()> {
        let useless = UNUSED.iter().find(|unused| given(unused.option) && (unused.holds)(self));
        useless.map_or(Ok(()), |unused| {
            let (option, with, because_of) = (unused.option, self.text(unused.with), unused.with.name());
            let default = if given(because_of) { "" } else { " (the algorithm's default)" };
            let reason = format!("{with}{default}{}", unused.instead);
            Err(Error::NoEffect { option, reason, because_of })
        })
    }

    /// A choice as a caller writes it.
    fn text(&self, choice: Choice) -> String {
        let value = match choice {
            Choice::Loss => self.loss.def().name,
            Choice::Solver => self.solver.name,
            Choice::Penalty => self.penalty.kind().name(),
            Choice::Prior => self.prior.name(),
            Choice::Form => self.form.name(),
            Choice::Kernel => self.kernel,
            Choice::Interaction => self.interaction.name(),
            Choice::Smoothing => self.smoothing.name(),
            Choice::FitAt => self.fit_at.name(),
            Choice::Lambda => "rate",
            Choice::LambdaScope => self.lambda_scope.name(),
            Choice::Validation => match self.held_out {
                HeldOut::Queries => return "validation on held-out queries".to_owned(),
                HeldOut::Source => return "validation on a source".to_owned(),
                HeldOut::Documents => "documents",
            },
        };
        format!("{} \"{value}\"", choice.name())
    }
}

/// Whether a loss is least squares or the convex bound of `direct`.
fn takes_l1(loss: &Loss) -> bool {
    match loss.shape() {
        Shape::Quadratic => true,
        Shape::Convex => loss.def().name == DIRECT.name,
        _ => false,
    }
}

/// Names of the losses with a property.
fn losses(have: impl Fn(&LossDef) -> bool) -> String {
    alternatives(loss::LOSSES.iter().filter(|loss| have(loss)).map(|loss| loss.name))
}

/// Quoted names as alternatives.
fn alternatives<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(" or ")
}
