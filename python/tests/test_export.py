"""Exported models: ONNX by onnxruntime, and the models of search engines computed with their 32-bit floats."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
import pytest

import sqlite_ltr

SCALES = ["quantile", "standard", "none", "query_minmax", "quantile_minmax", "max_norm"]
KERNELS = ["polynomial", "gaussian", "laplace", "laplace_l1", "tanh"]
ALGORITHMS = [
    "rank_svm",
    "regression",
    "list_net",
    "list_mle",
    "cs_list_mle",
    "slam",
    "direct",
    "eigen_rank",
    "perceptron",
]


@pytest.fixture(scope="module")
def connection():
    """Return 30 queries with 12 documents each; the features have different units."""
    connection = sqlite3.connect(":memory:")
    sqlite_ltr.load(connection)
    random = np.random.default_rng(5)
    connection.execute("CREATE TABLE judged(query_id, doc_id, relevance, x REAL, y REAL, z REAL)")
    for query in range(30):
        a, b, c = random.random((3, 12))
        rows = zip([query] * 12, range(12), map(int, (a + b > 0.7) * 1 + (a + c > 1.2)), a / 50, b * b * 40, 9 - c)
        rows = [tuple(float(value) if isinstance(value, np.floating) else value for value in row) for row in rows]
        connection.executemany("INSERT INTO judged VALUES (?, ?, ?, ?, ?, ?)", rows)
    return connection


def fit(connection, algorithm="rank_svm", **options):
    if algorithm not in ("auto", "boosted_trees", "slam", "eigen_rank", "perceptron"):
        options.setdefault("lambda", 0.01)  # no validation
    sql = "SELECT ltr_fit(?, 'judged', ?)"
    return connection.execute(sql, (algorithm, json.dumps(options))).fetchone()[0]


def exported(connection, model, form):
    return connection.execute("SELECT ltr_export(?, ?)", (model, form)).fetchone()[0]


def features(connection, query):
    sql = "SELECT x, y, z FROM judged WHERE query_id = ? ORDER BY doc_id"
    return np.array(connection.execute(sql, (query,)).fetchall(), dtype=np.float64)


def check_onnx(connection, model):
    """Compare each query's scores by onnxruntime and by ltr_rank."""
    proto = sqlite_ltr.to_onnx(exported(connection, model, "json"))
    assert sqlite_ltr.to_onnx(model) == proto
    onnx.checker.check_model(proto, full_check=True)
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    assert json.loads(session.get_modelmeta().custom_metadata_map["features"]) == ["x", "y", "z"]
    for query in (0, 17, 29):
        found = session.run(["score"], {"features": features(connection, query)})[0]
        sql = "SELECT score FROM ltr_rank(?, 'judged') WHERE query_id = ? ORDER BY doc_id"
        scores = [score for (score,) in connection.execute(sql, (model, query))]
        np.testing.assert_allclose(found, scores, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_onnx_of_algorithms_and_scalings(connection, algorithm, scale):
    check_onnx(connection, fit(connection, algorithm, scale=scale))


@pytest.mark.parametrize("scale", ["quantile", "quantile_minmax"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_onnx_of_kernels(connection, kernel, scale):
    check_onnx(connection, fit(connection, scale=scale, kernel=kernel, landmarks=30))


@pytest.mark.parametrize(("scale", "depth"), [("none", 1), ("none", 8), ("quantile_minmax", 6)])
def test_onnx_of_trees(connection, scale, depth):
    check_onnx(connection, fit(connection, "boosted_trees", scale=scale, depth=depth, trees=40))


@pytest.mark.parametrize("scale", ["none", "quantile", "query_minmax", "quantile_minmax"])
def test_onnx_of_trees_with_missing_features(connection, scale):
    source = "SELECT query_id, doc_id, relevance, CASE WHEN doc_id % 3 THEN x END AS x, y, z FROM judged"
    options = json.dumps({"trees": 40, "scale": scale})
    model = connection.execute("SELECT ltr_fit('boosted_trees', ?, ?)", (source, options)).fetchone()[0]
    session = onnxruntime.InferenceSession(sqlite_ltr.to_onnx(exported(connection, model, "json")).SerializeToString())
    given = features(connection, 3)
    given[::3, 0] = np.nan
    found = session.run(["score"], {"features": given})[0]
    sql = "SELECT score FROM ltr_rank(?, ?) WHERE query_id = 3 ORDER BY doc_id"
    scores = [score for (score,) in connection.execute(sql, (model, source))]
    np.testing.assert_allclose(found, scores, rtol=1e-6, atol=1e-6)


def test_onnx_of_sums_and_of_the_form_ranking(connection):
    check_onnx(connection, fit(connection, "auto"))
    check_onnx(connection, fit(connection, form="ranking"))


@pytest.mark.parametrize(("missing", "value"), [("zero", 0.0), ("mean", None)])
def test_onnx_replaces_missing_features(connection, missing, value):
    model = fit(connection, missing=missing, scale="standard")
    text = exported(connection, model, "json")
    session = onnxruntime.InferenceSession(sqlite_ltr.to_onnx(text).SerializeToString())
    given = features(connection, 0)
    filled = given.copy()
    filled[:, 1] = json.loads(text)["means"][1] if value is None else value
    given[:, 1] = np.nan
    found, expected = (session.run(None, {"features": rows})[0] for rows in (given, filled))
    np.testing.assert_array_equal(found, expected)


def test_onnx_refuses_other_texts():
    for text in ["[]", "{}", '{"format": "sqlite-ltr model", "format_version": 2}']:
        with pytest.raises(ValueError, match="not the text of ltr_export"):
            sqlite_ltr.to_onnx(text)


def test_no_graph_and_no_file_of_lightgbm_reads_texts_as_numbers(connection):
    source = "SELECT query_id, doc_id, relevance, printf('$%.9f', x) AS price, y FROM judged"
    fitted = 'SELECT ltr_fit(\'boosted_trees\', ?, \'{"trees": 2, "scale": "none"}\')'
    (model,) = connection.execute(fitted, [source]).fetchone()
    read = r'text column "price" is read as numbers \(number \$ 1234.56\)'
    message = read + r'.*as in CAST\(replace\("price", \'\$\', \'\'\) AS REAL\)'
    with pytest.raises(ValueError, match=message):
        sqlite_ltr.to_onnx(model)
    with pytest.raises(sqlite_ltr.Error, match=message):
        sqlite_ltr.Model(model).export("lightgbm")


def test_onnx_is_imported_when_it_is_used():
    code = "import sys, sqlite_ltr; sqlite_ltr.to_onnx; sys.exit('onnx' in sys.modules)"
    assert subprocess.run([sys.executable, "-P", "-c", code], check=False).returncode == 0
    code = "import sys; sys.modules['onnx'] = None\nimport sqlite_ltr\nsqlite_ltr.to_onnx('{}')"
    found = subprocess.run([sys.executable, "-P", "-c", code], check=False, capture_output=True, text=True)
    assert found.stderr.endswith("ImportError: to_onnx needs the package onnx: pip install onnx\n")


def elasticsearch(definition):
    """Return weights and moments of the request `_createmodel`."""
    model = json.loads(definition)["model"]["model"]
    assert model["type"] == "model/linear"
    norms = {name: norm["standard"] for name, norm in model.get("feature_normalizers", {}).items()}
    moments = {name: (norm["mean"], norm["standard_deviation"]) for name, norm in norms.items()}
    return json.loads(model["definition"]), moments


def solr(definition):
    """Return weights and moments of a `LinearModel`."""
    model = json.loads(definition)
    assert model["class"] == "org.apache.solr.ltr.model.LinearModel"
    norms = {feature["name"]: feature["norm"]["params"] for feature in model["features"] if "norm" in feature}
    moments = {name: (float(norm["avg"]), float(norm["std"])) for name, norm in norms.items()}
    assert [feature["name"] for feature in model["features"]] == list(model["params"]["weights"])
    return model["params"]["weights"], moments


@pytest.mark.parametrize("read", [elasticsearch, solr])
@pytest.mark.parametrize("scale", ["standard", "none", "max_norm"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_search_engines(connection, algorithm, scale, read):
    model = fit(connection, algorithm, scale=scale)
    weights, moments = read(exported(connection, model, read.__name__))
    for dtype, tolerance in ((np.float64, 1e-6), (np.float32, 1e-4)):
        rows = features(connection, 3).astype(dtype)
        found = np.zeros(len(rows), dtype)
        size = np.ones(len(rows))
        for name, weight in weights.items():
            mean, deviation = map(dtype, moments.get(name, (0, 1)))
            part = dtype(weight) * ((rows[:, "xyz".index(name)] - mean) / deviation)
            found, size = found + part, size + np.abs(part)
        sql = "SELECT score FROM ltr_rank(?, 'judged') WHERE query_id = 3 ORDER BY doc_id"
        scores = np.array([score for (score,) in connection.execute(sql, (model,))])
        assert np.all(np.abs(found - scores) <= tolerance * size)
