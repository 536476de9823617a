//! The presets: names for points of the grid.

use super::checks;
use super::spec::GridSpec;
use crate::data::ScalingKind;
use crate::learn::fit::{Interaction, PenaltyKind, Prior};
use crate::learn::kernel;
use crate::learn::smoothing::SmoothingKind;
use crate::train::algorithm::{AlgorithmDef, InBuckets};
use crate::train::options::Reader;

/// Shared by the presets.
const PRESET: AlgorithmDef = AlgorithmDef {
    name: "",
    summary: "",
    objective: "",
    source: "",
    defaults: &[],
    reads: |option| Reader::Grid.reads(option),
    parse: |params| Ok(Box::new(checks::baseline(GridSpec::parse(params)?, params)?)),
    resume: None,
    in_buckets: InBuckets::Sums,
};

/// The defaults of a preset: smoothing, loss, penalty, prior and interaction. `scale` and `kernel` have the same defaults in
/// all presets.
macro_rules! defaults {
    ($smoothing:ident, $loss:literal, $penalty:ident, $prior:ident, $interaction:ident) => {
        &[
            ("smoothing", SmoothingKind::$smoothing.name()),
            ("loss", $loss),
            ("penalty", PenaltyKind::$penalty.name()),
            ("prior", Prior::$prior.name()),
            ("interaction", Interaction::$interaction.name()),
            ("scale", ScalingKind::Quantile.name()),
            ("kernel", kernel::NAMES[0]),
        ]
    };
}

/// Every preset.
pub(in crate::train) const PRESETS: &[AlgorithmDef] = &[
    AlgorithmDef {
        name: "q_svm",
        summary: "query-dependent pairwise SVM: each query's function is fitted on the judgments of the queries around it",
        objective: "(1/n) sum_i 2 pi_i / (N_i (N_i - 1)) sum over pairs y_j > y_l of L(f(x_j) - f(x_l)) + lambda |f|^2, with a listwise loss + lambda / 2 |f|^2; L the loss, of f(x_j, x_l) with form ranking; |f| the norm in the space of the kernel; with prior global |f - f0|^2, f0 the function of all queries; pi_i = W(|q_i - q0| / h), n training queries",
        source: "Dai & Wang 2019, equation (3.7)",
        defaults: defaults!(Gaussian, "hinge", Ridge, Auto, Auto),
        ..PRESET
    },
    AlgorithmDef {
        name: "knn_svm",
        summary: "query-dependent pairwise SVM in which the nearest queries have equal weight",
        objective: "(1/n) sum_i 2 pi_i / (N_i (N_i - 1)) sum over pairs y_j > y_l of L(f(x_j) - f(x_l)) + lambda |f|^2, with a listwise loss + lambda / 2 |f|^2; L the loss, of f(x_j, x_l) with form ranking; |f| the norm in the space of the kernel; with prior global |f - f0|^2, f0 the function of all queries; pi_i = 1 for the `neighbors` nearest queries, n training queries",
        source: "Geng et al. 2008; Dai & Wang 2019, section 2",
        defaults: defaults!(Knn, "hinge", Ridge, Auto, Auto),
        ..PRESET
    },
    AlgorithmDef {
        name: "rank_svm",
        summary: "pairwise SVM: one function for all queries",
        objective: "(1/n) sum_i 2 pi_i / (N_i (N_i - 1)) sum over pairs y_j > y_l of L(f(x_j) - f(x_l)) + lambda |f|^2, with a listwise loss + lambda / 2 |f|^2; L the loss, of f(x_j, x_l) with form ranking; |f| the norm in the space of the kernel; pi_i = 1, n training queries",
        source: "Herbrich et al. 2000; Dai & Wang 2019, section 2",
        defaults: defaults!(Uniform, "hinge", Ridge, Zero, None),
        ..PRESET
    },
    AlgorithmDef {
        name: "indv_svm",
        summary: "pairwise SVM per training query; new queries score 0, or by f0 with prior global",
        objective: "2 / (N (N - 1)) sum over pairs y_j > y_l of L(f(x_j) - f(x_l)) + lambda |f|^2, with a listwise loss + lambda / 2 |f|^2; L the loss, of f(x_j, x_l) with form ranking; |f| the norm in the space of the kernel; with prior global |f - f0|^2, f0 the function of all queries",
        source: "Dai & Wang 2019, equation (3.4)",
        defaults: defaults!(Individual, "hinge", Ridge, Zero, None),
        ..PRESET
    },
    AlgorithmDef {
        name: "regression",
        summary: "least squares on the grades, centered within queries: pairwise least squares",
        objective: "(1/n) sum_i pi_i / (2 N_i) sum_j (f(x_j) - y_j)^2 + lambda / 2 |f|^2, f and y less their means in the query unless centering is none",
        source: "Cossock & Zhang 2006",
        defaults: defaults!(Uniform, "squared", Ridge, Zero, None),
        ..PRESET
    },
    AlgorithmDef {
        name: "list_net",
        summary: "cross entropy between the top-one probabilities of grades and of scores",
        objective: "(1/n) sum_i pi_i (log sum_j exp f(x_j) - sum_j t_j f(x_j)) + lambda / 2 |f|^2, t = softmax(y)",
        source: "Cao et al. 2007; Olinto & Fokoue 2018",
        defaults: defaults!(Uniform, "list_net", Ridge, Zero, None),
        ..PRESET
    },
    AlgorithmDef {
        name: "list_mle",
        summary: "likelihood of the ideal order under the Plackett-Luce model",
        objective: "(1/n) sum_i pi_i sum_j (log sum over l >= j of exp f(x_(l)) - f(x_(j))) + lambda / 2 |f|^2, documents in ideal order",
        source: "Xia et al. 2008; Olinto & Fokoue 2018",
        defaults: defaults!(Uniform, "list_mle", Ridge, Zero, None),
        ..PRESET
    },
    AlgorithmDef {
        name: "cs_list_mle",
        summary: "ListMLE whose pairs weigh what swapping them costs in NDCG@k, linear or with a kernel",
        objective: "(1/n) sum_i (pi_i / Z_k) sum_j beta_j log2(1 + sum over y_t < y_j of alpha_jt exp(f(x_t) - f(x_j))) + lambda / 2 |f|^2",
        source: "Lu et al. 2010; Olinto & Fokoue 2018",
        defaults: defaults!(Uniform, "cs_list_mle", Ridge, Zero, None),
        ..PRESET
    },
    AlgorithmDef {
        name: "slam",
        summary: "listwise large-margin surrogate of NDCG, NDCG@k or MAP, one slack per relevant document",
        objective: "(1/n) sum_i pi_i sum_j v_j max(0, max over y_l < y_j of (margin + f(x_l) - f(x_j))) + lambda / 2 |f - f0|^2, v the weights of the measure, f0 the least-squares function (prior)",
        source: "Chaudhuri & Tewari 2014, equation (4)",
        defaults: defaults!(Uniform, "slam", Ridge, Regression, None),
        ..PRESET
    },
    AlgorithmDef {
        name: "direct",
        summary: "direct optimization of a measure: a bound of the regret, which a linear assignment evaluates",
        objective: "(1/n) sum_i pi_i (max over rankings p of (F(p) - M(p)) - F(p*) + max M) + lambda / 2 |f|^2; F(p) = sum_j c_p(j) f(x_j), M(p) = sum_j a_p(j) b_j, p(j) the position of document j; a the discounts and b the gains of the measure, c the weights of the decoder; p* the ideal ranking, with bound minimum the one with the largest F of all ideal rankings, with bound nonconvex the ranking by f; with prior regression |f - f0|^2, f0 the least-squares function",
        source: "Le, Smola, Chapelle & Teo, equations (20) to (22)",
        defaults: defaults!(Uniform, "direct", Ridge, Regression, None),
        ..PRESET
    },
    AlgorithmDef {
        name: "smooth_grad",
        summary: "ascent of smoothed NDCG, whose width is lowered step by step, from the least-squares function",
        objective: "(1/n) sum_i pi_i (max M - sum_p a_p sum_j b_j h_jp / sum_j h_jp) + lambda / 2 |f|^2; h_jp = exp(-(f(x_j) - f(x_(p)))^2 / (2 sigma^2)), x_(p) the document at position p, sigma decreases step by step; a the discounts and b the gains of the measure M; with prior regression |f - f0|^2, f0 the least-squares function",
        source: "Le, Smola, Chapelle & Teo, section 5",
        defaults: defaults!(Uniform, "smooth_grad", Ridge, Regression, None),
        ..PRESET
    },
    AlgorithmDef {
        name: "matching",
        summary: "position-dependent assignment of documents to slots; a row is a document at a slot",
        objective: "(1/n) sum_i pi_i (max over arrangements of sum_j (f + d)(x_j) - sum_j (f + d)(x*_j)) + lambda / 2 |f|^2, d = 1/slots, or the cost of the slot, at rows that do not belong, 0 at those that do",
        source: "Le, Smola, Chapelle & Teo, section 7.3",
        defaults: defaults!(Uniform, "matching", Ridge, Zero, None),
        ..PRESET
    },
    AlgorithmDef {
        name: "eigen_rank",
        summary: "least squares on pairs in the span of the leading eigenfunctions of the empirical ranking operator",
        objective: "(1/n) sum_i pi_i / (4 N_i (N_i - 1)) sum over pairs of (f(x_j) - f(x_l) - (y_j - y_l))^2 over f in the span of eigenfunctions whose eigenvalues are at least lambda, or of the leading components",
        source: "Xu, Fang & Wang 2014, theorem 7",
        defaults: defaults!(Uniform, "pair_squared", Spectral, Zero, None),
        ..PRESET
    },
];
