//! The presets: names for points of the grid.

use super::spec::{self, GridSpec};
use crate::algorithm::AlgorithmDef;
use crate::fit::{PenaltyKind, Prior};
use crate::smoothing::SmoothingKind;

/// What the presets have in common.
const PRESET: AlgorithmDef = AlgorithmDef {
    name: "",
    summary: "",
    objective: "",
    source: "",
    defaults: &[],
    reads: spec::reads,
    parse: |params| Ok(Box::new(GridSpec::parse(params)?)),
    resume: None,
};

/// Every preset.
pub(in crate::algorithm) const PRESETS: &[AlgorithmDef] = &[
    // q-SVM: a pairwise SVM per query, smoothed over the queries around it (Dai & Wang 2019).
    AlgorithmDef {
        name: "q_svm",
        summary: "query-dependent pairwise SVM: each query's function is fitted on the judgments of the queries around it",
        objective: "(1/n) sum_i 2 pi_i / (N_i (N_i - 1)) sum over pairs y_j > y_l of L(f(x_j) - f(x_l)) + lambda |f|^2; L the loss, of f(x_j, x_l) with form ranking; |f| the norm in the space of the kernel; with prior global |f - f0|^2, f0 the function of all queries; pi_i = W(|q_i - q0| / h), n training queries",
        source: "Dai & Wang 2019, equation (3.7)",
        defaults: &[
            ("smoothing", SmoothingKind::Gaussian.name()),
            ("loss", "hinge"),
            ("penalty", PenaltyKind::Ridge.name()),
            ("prior", Prior::Zero.name()),
        ],
        ..PRESET
    },
    // kNN-SVM: a pairwise SVM per query on its nearest training queries, all alike (Geng et al. 2008).
    AlgorithmDef {
        name: "knn_svm",
        summary: "query-dependent pairwise SVM in which the nearest queries count alike",
        objective: "(1/n) sum_i 2 pi_i / (N_i (N_i - 1)) sum over pairs y_j > y_l of L(f(x_j) - f(x_l)) + lambda |f|^2; L the loss, of f(x_j, x_l) with form ranking; |f| the norm in the space of the kernel; with prior global |f - f0|^2, f0 the function of all queries; pi_i = 1 for the nearest neighbors queries, n training queries",
        source: "Geng et al. 2008; Dai & Wang 2019, section 2",
        defaults: &[
            ("smoothing", SmoothingKind::Knn.name()),
            ("loss", "hinge"),
            ("penalty", PenaltyKind::Ridge.name()),
            ("prior", Prior::Zero.name()),
        ],
        ..PRESET
    },
    // rank-SVM: one pairwise SVM for all queries (Herbrich et al. 2000).
    AlgorithmDef {
        name: "rank_svm",
        summary: "pairwise SVM: one function for all queries",
        objective: "(1/n) sum_i 2 pi_i / (N_i (N_i - 1)) sum over pairs y_j > y_l of L(f(x_j) - f(x_l)) + lambda |f|^2; L the loss, of f(x_j, x_l) with form ranking; |f| the norm in the space of the kernel; pi_i = 1, n training queries",
        source: "Herbrich et al. 2000; Dai & Wang 2019, section 2",
        defaults: &[
            ("smoothing", SmoothingKind::Uniform.name()),
            ("loss", "hinge"),
            ("penalty", PenaltyKind::Ridge.name()),
            ("prior", Prior::Zero.name()),
        ],
        ..PRESET
    },
    // indv-SVM: a pairwise SVM per training query on its own judgments; queries never seen score 0, or by the prior.
    AlgorithmDef {
        name: "indv_svm",
        summary: "pairwise SVM per observed query; novel queries score 0, or by f0 with prior global",
        objective: "2 / (N (N - 1)) sum over pairs y_j > y_l of L(f(x_j) - f(x_l)) + lambda |f|^2; L the loss, of f(x_j, x_l) with form ranking; |f| the norm in the space of the kernel; with prior global |f - f0|^2, f0 the function of all queries",
        source: "Dai & Wang 2019, equation (3.4)",
        defaults: &[
            ("smoothing", SmoothingKind::Individual.name()),
            ("loss", "hinge"),
            ("penalty", PenaltyKind::Ridge.name()),
            ("prior", Prior::Zero.name()),
        ],
        ..PRESET
    },
    // Least squares on the grades: the baseline, and the start of methods that are not convex (Cossock & Zhang 2006).
    AlgorithmDef {
        name: "regression",
        summary: "least squares on the grades, centered within queries: pairwise least squares",
        objective: "(1/n) sum_i pi_i / (2 N_i) sum_j (f(x_j) - y_j)^2 + lambda / 2 |f|^2, f and y less their means in the query unless centering is none",
        source: "Cossock & Zhang 2006",
        defaults: &[
            ("smoothing", SmoothingKind::Uniform.name()),
            ("loss", "squared"),
            ("penalty", PenaltyKind::Ridge.name()),
            ("prior", Prior::Zero.name()),
        ],
        ..PRESET
    },
    // ListNet: cross entropy of top-one probabilities (Cao et al. 2007).
    AlgorithmDef {
        name: "list_net",
        summary: "cross entropy between the top-one probabilities of grades and of scores",
        objective: "(1/n) sum_i pi_i (log sum_j exp f(x_j) - sum_j t_j f(x_j)) + lambda / 2 |f|^2, t = softmax(y)",
        source: "Cao et al. 2007; Olinto & Fokoue 2018",
        defaults: &[
            ("smoothing", SmoothingKind::Uniform.name()),
            ("loss", "list_net"),
            ("penalty", PenaltyKind::Ridge.name()),
            ("prior", Prior::Zero.name()),
        ],
        ..PRESET
    },
    // ListMLE: likelihood of the ideal order (Xia et al. 2008).
    AlgorithmDef {
        name: "list_mle",
        summary: "likelihood of the ideal order under the Plackett-Luce model",
        objective: "(1/n) sum_i pi_i sum_j (log sum over l >= j of exp f(x_(l)) - f(x_(j))) + lambda / 2 |f|^2, documents in ideal order",
        source: "Xia et al. 2008; Olinto & Fokoue 2018",
        defaults: &[
            ("smoothing", SmoothingKind::Uniform.name()),
            ("loss", "list_mle"),
            ("penalty", PenaltyKind::Ridge.name()),
            ("prior", Prior::Zero.name()),
        ],
        ..PRESET
    },
    // Cost-sensitive ListMLE, plain and kernelized (Lu et al. 2010; Olinto & Fokoue 2018).
    AlgorithmDef {
        name: "cs_list_mle",
        summary: "ListMLE whose pairs weigh what swapping them costs in NDCG@k, linear or with a kernel",
        objective: "(1/n) sum_i (pi_i / Z_k) sum_j beta_j log2(1 + sum over y_t < y_j of alpha_jt exp(f(x_t) - f(x_j))) + lambda / 2 |f|^2",
        source: "Lu et al. 2010; Olinto & Fokoue 2018",
        defaults: &[
            ("smoothing", SmoothingKind::Uniform.name()),
            ("loss", "cs_list_mle"),
            ("penalty", PenaltyKind::Ridge.name()),
            ("prior", Prior::Zero.name()),
        ],
        ..PRESET
    },
    // SLAM: a large-margin surrogate of listwise measures (Chaudhuri & Tewari 2014).
    AlgorithmDef {
        name: "slam",
        summary: "listwise large-margin surrogate of NDCG, NDCG@k or MAP, one slack per relevant document",
        objective: "(1/n) sum_i pi_i sum_j v_j max(0, max over y_l < y_j of (margin + f(x_l) - f(x_j))) + lambda / 2 |f - f0|^2, v the weights of the measure, f0 the least-squares function (prior)",
        source: "Chaudhuri & Tewari 2014, equation (4)",
        defaults: &[
            ("smoothing", SmoothingKind::Uniform.name()),
            ("loss", "slam"),
            ("penalty", PenaltyKind::Ridge.name()),
            ("prior", Prior::Regression.name()),
        ],
        ..PRESET
    },
    // Direct optimization of ranking measures by structured estimation (Le, Smola, Chapelle & Teo).
    AlgorithmDef {
        name: "direct",
        summary: "direct optimization of a measure: a bound of the regret, which a linear assignment evaluates",
        objective: "(1/n) sum_i pi_i (max over rankings p of (c[p].f - a[p].b) - c[p*].f + max M) + lambda / 2 |f|^2, M(p) = a[p].b the measure, c the decoder, p* an ideal ranking, or with bound nonconvex that of the scores; with prior regression |f - f0|^2",
        source: "Le, Smola, Chapelle & Teo, equations (20), (22)",
        defaults: &[
            ("smoothing", SmoothingKind::Uniform.name()),
            ("loss", "direct"),
            ("penalty", PenaltyKind::Ridge.name()),
            ("prior", Prior::Regression.name()),
        ],
        ..PRESET
    },
    // Gradient descent on a smoothed measure, annealed (Le et al., section 5).
    AlgorithmDef {
        name: "smooth_grad",
        summary: "ascent of smoothed NDCG, whose width is lowered step by step, from the least-squares function",
        objective: "(1/n) sum_i pi_i (max M - sum_p a_p sum_j b_j h_jp / sum_j h_jp) + lambda / 2 |f|^2, h_jp = exp(-(f(x_j) - f(x_(p)))^2 / (2 sigma^2)); with prior regression |f - f0|^2",
        source: "Le, Smola, Chapelle & Teo, section 5",
        defaults: &[
            ("smoothing", SmoothingKind::Uniform.name()),
            ("loss", "smooth_grad"),
            ("penalty", PenaltyKind::Ridge.name()),
            ("prior", Prior::Regression.name()),
        ],
        ..PRESET
    },
    // Matching: which document belongs to which slot of a page (Le, Smola, Chapelle & Teo, section 7.3).
    AlgorithmDef {
        name: "matching",
        summary: "position-dependent assignment of documents to slots; a row is a document at a slot",
        objective: "(1/n) sum_i pi_i (max over arrangements of sum_j (f + d)(x_j) - sum_j (f + d)(x*_j)) + lambda / 2 |f|^2, d = 1/slots at rows that do not belong, 0 at those that do",
        source: "Le, Smola, Chapelle & Teo, section 7.3",
        defaults: &[
            ("smoothing", SmoothingKind::Uniform.name()),
            ("loss", "matching"),
            ("penalty", PenaltyKind::Ridge.name()),
            ("prior", Prior::Zero.name()),
        ],
        ..PRESET
    },
    // Ranking by empirical eigenfunctions (Xu, Fang & Wang 2014): least squares on pairs in the span of the leading ones.
    AlgorithmDef {
        name: "eigen_rank",
        summary: "least squares on pairs in the span of the leading eigenfunctions of the empirical ranking operator",
        objective: "(1/n) sum_i pi_i / (4 N_i (N_i - 1)) sum over pairs of (f(x_j) - f(x_l) - (y_j - y_l))^2 over f in the span of eigenfunctions whose eigenvalues are at least lambda, or of the leading components",
        source: "Xu, Fang & Wang 2014, theorem 7",
        defaults: &[
            ("smoothing", SmoothingKind::Uniform.name()),
            ("loss", "pair_squared"),
            ("penalty", PenaltyKind::Spectral.name()),
            ("prior", Prior::Zero.name()),
        ],
        ..PRESET
    },
];
