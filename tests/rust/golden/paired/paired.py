"""Writes paired.json: paired tests by SciPy. Needs scipy 1.17 and numpy 2.

    python tests/rust/golden/paired/paired.py > tests/rust/golden/paired/paired.json
"""

import json

import numpy
import scipy
from scipy import stats

SAMPLES = 100_000
LEVEL = 0.95


def series(rng, name, n):
    """Two series of n values that belong together."""
    if name == "normal":
        a = rng.normal(0.1, 1, n)
        return a + rng.normal(0.3, 0.7, n), a
    if name == "skewed":
        return rng.exponential(0.5, n), rng.exponential(0.4, n)
    # Precision at 5: few values, many ties.
    return rng.binomial(5, 0.55, n) / 5, rng.binomial(5, 0.45, n) / 5


def case(rng, name, n):
    a, b = (numpy.round(values, 6) for values in series(rng, name, n))
    t = stats.ttest_rel(a, b)
    t_interval = t.confidence_interval(LEVEL)
    mean = lambda x, axis: numpy.mean(x, axis=axis)
    signs = stats.permutation_test(
        (a - b,), mean, permutation_type="samples", n_resamples=SAMPLES, vectorized=True, batch=1000, rng=rng
    )
    boot = stats.bootstrap(
        (a - b,), mean, method="BCa", n_resamples=SAMPLES, confidence_level=LEVEL, vectorized=True, batch=1000, rng=rng
    ).confidence_interval
    return {
        "name": name, "a": a.tolist(), "b": b.tolist(),
        "t": {"p": float(t.pvalue), "low": float(t_interval.low), "high": float(t_interval.high)},
        "randomization": {"p": float(signs.pvalue), "exact": bool(2**n <= SAMPLES)},
        "bootstrap": {"low": float(boot.low), "high": float(boot.high)},
    }


def main():
    rng = numpy.random.default_rng(7)
    cases = [case(rng, name, n) for name in ("normal", "skewed", "ties") for n in (5, 12, 40, 150)]
    degrees = [1, 2, 3, 7, 30, 199, 1999, 2000, 2001, 50_000, 1e6]
    tails = [{"t": t, "degrees": d, "p": float(2 * stats.t.sf(t, d))} for d in degrees for t in (0.01, 0.5, 1.0, 2.5, 8.0)]
    quantiles = [{"tail": p, "degrees": d, "t": float(stats.t.isf(p / 2, d))} for d in degrees for p in (0.5, 0.05, 0.001)]
    print(json.dumps({
        "versions": {"scipy": scipy.__version__, "numpy": numpy.__version__}, "samples": SAMPLES, "level": LEVEL,
        "cases": cases, "tails": tails, "quantiles": quantiles,
    }))


main()
