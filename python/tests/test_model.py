"""`Model`: the bytes of SQL with methods, files and databases, plots and reports."""

from __future__ import annotations

import copy
import pickle
import signal
import sqlite3
import sys
import threading
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from data import judgments

import sqlite_ltr
from sqlite_ltr import Model, train

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

FRAME = pd.DataFrame(judgments())
OTHERS = FRAME.assign(query_id=FRAME["query_id"] + 100)
MODEL = train(FRAME, "rank_svm")


def test_a_model_is_bytes():
    assert bytes(MODEL) == MODEL
    assert hash(MODEL) == hash(bytes(MODEL))
    assert type(bytes(MODEL)) is bytes
    connection = sqlite3.connect(":memory:")
    sqlite_ltr.load(connection)
    (algorithm,) = connection.execute("SELECT ltr_info(?) ->> 'algorithm'", (MODEL,)).fetchone()
    assert algorithm == "rank_svm"
    assert sqlite_ltr.rank(FRAME, bytes(MODEL)).equals(MODEL.rank(FRAME))
    assert Model(bytes(MODEL)).report is None


@pytest.mark.parametrize("duplicate", [lambda model: pickle.loads(pickle.dumps(model)), copy.copy, copy.deepcopy])
def test_copies_keep_the_report(duplicate):
    copied = duplicate(MODEL)
    assert type(copied) is Model
    assert copied == MODEL
    assert copied.report == MODEL.report


def test_a_line_tells_what_it_is():
    assert repr(MODEL) == str(MODEL) == "<Model rank_svm: 2 features, 20 queries, ndcg@10 0.980 ± 0.012 held out>"
    assert repr(Model(b"no model")) == "<Model: 8 bytes, not a model>"
    assert Model(b"no model")._repr_html_()
    warned = train(FRAME.assign(number=range(200)), "rank_svm")
    assert warned.warnings == warned.report["warnings"] != []
    assert "number" in warned._repr_html_()


def test_a_file_has_the_bytes(tmp_path):
    assert MODEL.save(tmp_path / "model.ltr") is MODEL
    loaded = Model.load(str(tmp_path / "model.ltr"))
    assert loaded == MODEL
    assert (loaded.report, loaded.warnings) == (None, [])
    with pytest.raises(FileNotFoundError):
        Model.load(tmp_path / "none.db")


def test_a_database_has_versions_with_reports(tmp_path):
    path = tmp_path / "shop.db"
    trees = train(FRAME, "boosted_trees", trees=5)
    MODEL.save(path, "shop")
    trees.save(path, "shop")
    stored = sqlite3.connect(path).execute("SELECT version, algorithm, active FROM ltr_models ORDER BY 1").fetchall()
    assert stored == [(1, "rank_svm", 0), (2, "boosted_trees", 1)]
    assert Model.load(path) == trees
    first = Model.load(path, "shop@1")
    assert first == MODEL
    assert first.report == {**MODEL.report, "name": "shop", "version": 1}
    connection = sqlite3.connect(path)
    sqlite_ltr.load(connection)
    FRAME.to_sql("frame", connection, index=False)
    rows = connection.execute("SELECT score FROM ltr_rank('shop', 'frame') ORDER BY query_id, doc_id").fetchall()
    assert [score for (score,) in rows] == trees.rank(FRAME)["score"].tolist()
    MODEL.save(path)
    with pytest.raises(sqlite_ltr.Error, match="has the models rank_svm, shop: name one"):
        Model.load(path)
    with pytest.raises(sqlite_ltr.Error, match="unknown model 'none'"):
        Model.load(path, "none")


def test_a_failed_save_leaves_the_database(tmp_path):
    with pytest.raises(sqlite_ltr.Error):
        Model(b"no model").save(tmp_path / "shop.db", "shop")
    tables = sqlite3.connect(tmp_path / "shop.db").execute("SELECT name FROM sqlite_master").fetchall()
    assert tables == []


@pytest.mark.parametrize(
    ("algorithm", "frame"),
    [
        ("rank_svm", FRAME),
        ("boosted_trees", FRAME),
        ("auto", FRAME),
        ("q_svm", FRAME.assign(q_length=FRAME["query_id"] % 3)),
        ("rank_svm", FRAME.assign(color=["red", "blue"] * 100)),
        ("boosted_trees", FRAME.assign(x=FRAME["x"].where(FRAME["x"] > 0.2))),
    ],
)
def test_contributions_of_all_rows_add_up(algorithm, frame):
    model = train(frame, algorithm)
    contributions = model.explain(frame)
    assert contributions.shape == (len(frame), len(model.features) + 1)
    assert contributions.sum(axis=1) == pytest.approx(model.predict(frame), abs=1e-9)
    # Vectors and documents of a source differ in the base only: means of the training, or of the query.
    one = model.explain(frame, 3)
    assert one["feature"].tolist() == ["(base)", *model.features]
    assert one["contribution"].sum() == pytest.approx(contributions[3].sum(), abs=1e-9)


def test_contributions_of_imported_trees_match_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    ranker = lightgbm.LGBMRanker(n_estimators=20, min_child_samples=5, verbose=-1)
    ranker.fit(FRAME[["x", "y"]], FRAME["relevance"], group=[10] * 20)
    model = sqlite_ltr.import_model(ranker)
    theirs = ranker.predict(FRAME[["x", "y"]], pred_contrib=True)
    assert model.explain(FRAME) == pytest.approx(theirs, abs=1e-12)
    assert model.predict(FRAME[["x", "y"]].to_numpy()) == pytest.approx(ranker.predict(FRAME[["x", "y"]]), abs=1e-12)


def test_documents_that_nobody_judged():
    is_judged = OTHERS["doc_id"] % 3 > 0
    partly = OTHERS.assign(relevance=OTHERS["relevance"].where(is_judged))
    skipped, zeros = MODEL.evaluate(partly), MODEL.evaluate(partly, options={"unjudged": 0})
    assert skipped["judged@10"] == zeros["judged@10"] == pytest.approx(0.6)
    # A score does not depend on the other documents.
    assert skipped["ndcg@10"] == pytest.approx(MODEL.evaluate(OTHERS[is_judged])["ndcg@10"], abs=1e-12)
    assert zeros["ndcg@10"] == pytest.approx(MODEL.evaluate(partly.fillna({"relevance": 0}))["ndcg@10"], abs=1e-12)
    assert skipped["ndcg@10"] != zeros["ndcg@10"]
    compared = sqlite_ltr.compare(partly, MODEL, train(FRAME, "regression"), options={"unjudged": "skip"})
    assert "judged@10" in list(compared["metric"])
    with pytest.raises(sqlite_ltr.Error, match="relevance"):
        sqlite_ltr.train(partly, "rank_svm")


@pytest.mark.parametrize("kind", ["validation", "training", "learning", "weights"])
def test_plots_of_the_model(kind, tmp_path):
    plot = MODEL.plot(kind)
    assert plot._repr_svg_().startswith("<svg")
    assert plot.save(tmp_path / "plot.svg") is plot
    assert (tmp_path / "plot.svg").read_text(encoding="utf-8") == plot
    assert repr(plot).startswith("<Plot: ")


@pytest.mark.parametrize("kind", ["importance", "calibration", "scores", "comparison"])
def test_plots_of_judged_documents(kind):
    other = train(FRAME, "boosted_trees", trees=5)
    assert MODEL.plot(kind, OTHERS, other=other).startswith("<svg")
    with pytest.raises(ValueError, match="held_out"):
        MODEL.plot(kind)


def test_a_plot_of_the_effect_of_a_feature():
    plot = MODEL.plot("effect", OTHERS, feature="x")
    assert plot.startswith("<svg")
    # Documents without grades, and another feature.
    assert MODEL.plot("effect", OTHERS.drop(columns="relevance"), feature="x") == plot
    assert MODEL.plot("effect", OTHERS, feature="y") != plot
    with pytest.raises(ValueError, match=r'model\.plot\("effect", df, feature="x"\)'):
        MODEL.plot("effect", OTHERS)
    with pytest.raises(sqlite_ltr.Error, match="unknown feature 'z'"):
        MODEL.plot("effect", OTHERS, feature="z")


def test_a_report_has_the_warnings_of_the_training(monkeypatch):
    frame = FRAME.assign(number=range(200))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = train(frame, "rank_svm")
    assert caught
    page = sqlite_ltr.report(frame.assign(query_id=frame["query_id"] + 100), model)
    assert "Training: features with a different value in every row" in page
    assert page._repr_html_().startswith("<iframe srcdoc=")
    assert "Training: warnings are stored in ltr_models" in sqlite_ltr.report(OTHERS.assign(number=1), bytes(model))
    shown = []
    monkeypatch.setattr("webbrowser.open", shown.append)
    page.open()
    assert shown[0].startswith("file:")


def slow(**options):
    chance = np.random.default_rng(0)
    frame = {f"x{i}": chance.random(4000) for i in range(20)}
    judged = {**frame, "query_id": np.arange(4000) // 20, "relevance": chance.integers(0, 4, 4000)}
    return train(judged, "auto", options={"effort": 1, **options})


def test_progress_is_a_bar_of_tqdm(capsys):
    assert slow(progress=True) == slow()
    shown = capsys.readouterr().err
    assert "fit" in shown
    assert "100%" in shown


def test_without_tqdm_the_library_shows_progress(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    assert train(FRAME, "rank_svm", progress=True) == MODEL
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("progress", [False, True])
def test_control_c_stops_soon(progress, request):
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, previous))
    sent = []

    def stop():
        sent.append(time.monotonic())
        signal.raise_signal(signal.SIGINT)

    timer = threading.Timer(0.7, stop)
    request.addfinalizer(timer.cancel)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        slow(progress=progress, effort=5)
    # 0.1 s on an idle machine.
    assert time.monotonic() - sent[0] < 1
