"""Importing models of other libraries."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlite_ltr._call import as_dict, database, scalar, select, to_json
from sqlite_ltr._model import Model


def import_model(model: Any, *, options: Mapping[str, Any] | None = None) -> Model:
    """Read a model of LightGBM, XGBoost, CatBoost, RankLib or a search engine. Scores are the same as in that library.

    Args:
        model: a trained booster or ranker of LightGBM, XGBoost or CatBoost; the path of a file; or the text of a file.
            A CatBoost model with categories must be a file: `save_model(path, format="json", pool=train_pool)`.
        options: options of `ltr_import`, such as {"names": {"Column_0": "price"}}.

    Raises:
        TypeError: none of these.
        sqlite_ltr.Error: the model has an unsupported part, which the message names.

    Example:
        >>> tree = {"nodeid": 0, "split": "stars", "split_condition": 3.5, "yes": 1, "no": 2, "missing": 1}
        >>> tree["children"] = [{"nodeid": 1, "leaf": -0.5}, {"nodeid": 2, "leaf": 0.75}]
        >>> sqlite_ltr.import_model(json.dumps([tree])).predict({"stars": [2, 5]})
        array([-0.5 ,  0.75])
    """
    settings = {"name": "imported", **as_dict("options", options, {"names": {"Column_0": "price"}})}
    with database(None) as connection:
        scalar(connection, "SELECT ltr_import(?, ?)", _text(model), to_json(settings))
        ((data,),) = select(connection, "SELECT model FROM ltr_models")
    return Model(data)


def _text(model: Any) -> str | bytes:
    """Return the text of a model."""
    if isinstance(model, os.PathLike):
        return Path(model).read_bytes()
    if isinstance(model, (bytes, bytearray, memoryview)):
        return bytes(model)
    if isinstance(model, str):
        # The text of a model is longer than a path, and does not fit on one line without a brace.
        is_path = len(model) < 4096 and "\n" not in model and not model.lstrip().startswith(("{", "[", "<"))
        return Path(model).read_bytes() if is_path else model
    # LGBMRanker and XGBRanker contain a booster.
    booster = getattr(model, "booster_", None) or getattr(model, "get_booster", lambda: model)()
    if hasattr(booster, "model_to_string"):
        return str(booster.model_to_string())
    if hasattr(booster, "save_raw"):
        return bytes(booster.save_raw(raw_format="json"))
    if hasattr(booster, "save_model"):
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.json"
            booster.save_model(str(path), format="json")
            return path.read_bytes()
    kind = f"{type(model).__module__}.{type(model).__qualname__}"
    raise TypeError(
        f"import_model() takes a model of LightGBM, XGBoost or CatBoost, or the path or the text of a file, not {kind}"
    )
