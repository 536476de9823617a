"""Learning to rank in SQLite.

    import sqlite3, sqlite_ltr

    connection = sqlite3.connect("shop.db")
    sqlite_ltr.load(connection)
    connection.execute("SELECT ltr_train('auto', 'judgments')")

The other functions do the same for data frames. `sqlite_ltr.sklearn` has a scikit-learn estimator.
`sqlite_ltr.spark`, `sqlite_ltr.ray` and `sqlite_ltr.dask` run on the workers of an engine.
"""

from __future__ import annotations

from sqlite_ltr._error import Error
from sqlite_ltr._load import load, load_async, loadable_path
from sqlite_ltr._version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sqlite_ltr._import import import_model
    from sqlite_ltr._inspect import explain, importance, report
    from sqlite_ltr._model import Model
    from sqlite_ltr._onnx import to_onnx
    from sqlite_ltr._rank import compare, cross_validate, evaluate, info, rank, train
    from sqlite_ltr._search import fts_features, judgments, search
    from sqlite_ltr._show import Plot, Report

__all__ = [
    "Error",
    "Model",
    "Plot",
    "Report",
    "__version__",
    "compare",
    "cross_validate",
    "evaluate",
    "explain",
    "fts_features",
    "import_model",
    "importance",
    "info",
    "judgments",
    "load",
    "load_async",
    "loadable_path",
    "rank",
    "report",
    "search",
    "to_onnx",
    "train",
]

# Imported on first use, so that `load` stays fast.
_ELSEWHERE = {
    **dict.fromkeys(["explain", "importance", "report"], "_inspect"),
    **dict.fromkeys(["fts_features", "judgments", "search"], "_search"),
    **dict.fromkeys(["Plot", "Report"], "_show"),
    "Model": "_model",
    "import_model": "_import",
    "to_onnx": "_onnx",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'sqlite_ltr' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(f"sqlite_ltr.{_ELSEWHERE.get(name, '_rank')}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
