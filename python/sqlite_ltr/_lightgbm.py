"""Converts trees in the format `json` of `ltr_export` to the text of a LightGBM model."""

from __future__ import annotations

import json
from typing import Any

from sqlite_ltr._error import Error
from sqlite_ltr._onnx import text_problem

# Split on a number: greater values go right, and so does NaN unless the bit for the left side is set.
_NAN, _NAN_LEFT = 8, 10


def to_lightgbm(text: str) -> str:
    """Return the text of a LightGBM model with the same scores.

    Raises:
        sqlite_ltr.Error: the model is not a sum of trees over unscaled numbers.
    """
    model = json.loads(text)
    terms, names = model["terms"], model["features"]
    if not terms or not all("trees" in term and term["scaling"]["kind"] == "none" for term in terms):
        raise Error(f"Model.export(): a model of {model['algorithm']} is not a sum of trees over unscaled features")
    if model.get("categories") or model["missing"] not in ("branch", "error"):
        raise Error("Model.export(): categories and filled missing values cannot be written to LightGBM's format")
    if problem := text_problem(model):
        raise Error(f"Model.export(): {problem}")
    if any(set(name) & set(' ,:"[]{}') for name in names):
        raise Error("Model.export(): LightGBM does not allow spaces, quotes, brackets, commas or colons in names")
    trees = [tree for term in terms for tree in _trees(term["trees"], term["weights"])]
    head = {
        "version": "v4",
        "num_class": 1,
        "num_tree_per_iteration": 1,
        "label_index": 0,
        "max_feature_idx": len(names) - 1,
        "objective": "lambdarank",
        "feature_names": " ".join(names),
        "feature_infos": " ".join(["[-1e300:1e300]"] * len(names)),
    }
    blocks = [_block(f"Tree={number}", tree) for number, tree in enumerate(trees)]
    head["tree_sizes"] = " ".join(str(len(block.encode())) for block in blocks)
    return _block("tree", head) + "".join(blocks) + "end of trees\n"


def _block(title: str, entries: dict[str, Any]) -> str:
    lines = (
        f"{key}={' '.join(map(repr, value)) if isinstance(value, list) else value}" for key, value in entries.items()
    )
    return "\n".join([title, *lines, "", ""]) + ("\n" if title != "tree" else "")


def _trees(trees: dict[str, Any], values: list[float]) -> list[dict[str, Any]]:
    """Return each oblivious tree, in which all nodes of a level have the same split."""
    depth, splits = trees["depth"], trees["splits"]
    leaves = 1 << depth
    # Node i has the children 2 i + 1 and 2 i + 2. Leaves have the numbers -1, -2, ... from the left.
    inner = leaves - 1
    children = [at if at < inner else -(at - inner) - 1 for at in range(1, 2 * leaves - 1)]
    # The path to a leaf has its first answer in the highest bit; the number of a leaf has it in the lowest.
    order = [int(f"{leaf:0{depth}b}"[::-1], 2) for leaf in range(leaves)]
    found = []
    for tree in range(len(splits) // depth):
        levels = [splits[tree * depth + (node + 1).bit_length() - 1] for node in range(inner)]
        found.append(
            {
                "num_leaves": leaves,
                "num_cat": 0,
                "split_feature": [feature for feature, _, _ in levels],
                "split_gain": [0] * inner,
                "threshold": [threshold for _, threshold, _ in levels],
                "decision_type": [_NAN if missing_above else _NAN_LEFT for _, _, missing_above in levels],
                "left_child": children[::2],
                "right_child": children[1::2],
                "leaf_value": [values[tree * leaves + leaf] for leaf in order],
                "is_linear": 0,
                "shrinkage": 1,
            }
        )
    return found
