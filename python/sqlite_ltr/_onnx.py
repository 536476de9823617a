"""Converts a model in the format `json` of `ltr_export` to an ONNX graph."""

from __future__ import annotations

import json as json_text
from typing import Any

# Operators in this version take 64-bit floats; runtimes since 2023 support it.
_OPSET, _IR_VERSION = 18, 8
# Tree operators; in this version they take 64-bit floats.
_TREES, _TREES_OPSET = "ai.onnx.ml", 3
_FORMAT, _FORMAT_VERSION = "sqlite-ltr model", 1


def to_onnx(model: str | bytes) -> Any:
    """Convert an exported model to ONNX.

    The input `features` has the shape (documents, features), the output `score` the shape (documents,), both of 64-bit
    floats. Higher is better. With scaling within queries or the form "ranking", a run takes the documents of one
    query. NaN is a missing feature, unless the training option "missing" was "error". Trees sum their values in 32-bit
    floats.

    Args:
        model: the bytes of a model, as returned by `train`, or the text of `SELECT ltr_export(model, 'json')`.

    Returns:
        An `onnx.ModelProto`: `onnx.save(to_onnx(text), "model.onnx")` writes it. The metadata has the feature
        names.

    Raises:
        ImportError: the package onnx is not installed.
        ValueError: the text is not in this format, or the model has categories, texts that are read as numbers, or
            trees from another library.

    Example:
        >>> [output.name for output in sqlite_ltr.to_onnx(model).graph.output]
        ['score']
    """
    try:
        from onnx import TensorProto, helper
    except ImportError as error:
        raise ImportError("to_onnx needs the package onnx: pip install onnx") from error
    text = model if isinstance(model, str) else _exported(model)
    model = json_text.loads(text)
    if not isinstance(model, dict) or (model.get("format"), model.get("format_version")) != (_FORMAT, _FORMAT_VERSION):
        raise ValueError(f"not the text of ltr_export(model, 'json') of the format version {_FORMAT_VERSION}")
    if model.get("categories"):
        name = model["categories"][0]["name"]
        raise ValueError(f'the model has the category "{name}", but the input of this graph only has numbers')
    if "general_trees" in model:
        raise ValueError("models from ltr_import cannot be converted here; convert them in their own library")
    if problem := text_problem(model):
        raise ValueError(problem)
    names = model["features"]
    graph = _Graph()
    features = graph.filled("features", model["missing"], model["means"])
    scores = [_score(graph, features, term) for term in model["terms"]]
    total = scores[0] if len(scores) == 1 else graph.node("Sum", *scores)
    graph.nodes.append(helper.make_node("Identity", [total], ["score"]))
    inputs = [helper.make_tensor_value_info("features", TensorProto.DOUBLE, ["documents", len(names)])]
    outputs = [helper.make_tensor_value_info("score", TensorProto.DOUBLE, ["documents"])]
    made = helper.make_graph(graph.nodes, model["algorithm"], inputs, outputs, graph.constants)
    opsets = [helper.make_opsetid("", _OPSET)]
    if any("trees" in term for term in model["terms"]):
        opsets.append(helper.make_opsetid(_TREES, _TREES_OPSET))
    proto = helper.make_model(made, producer_name="sqlite-ltr", opset_imports=opsets, ir_version=_IR_VERSION)
    helper.set_model_props(proto, {"features": json_text.dumps(names)})
    return proto


def text_problem(model: dict[str, Any]) -> str | None:
    """Return why a JSON model that reads texts as numbers cannot be converted."""
    for name, read in model.get("quantities", {}).items():
        # Numbers in JSON objects are features, named by key.
        if not read["form"].startswith("key "):
            sql = f", as in {read['sql']}" if read["sql"] else ""
            return (
                f'the text column "{name}" is read as numbers ({read["form"]}); convert it in the source{sql}, and '
                "train again"
            )
    return None


def _exported(model: Any) -> str:
    """Return the text of `ltr_export(model, 'json')` for the bytes of a model."""
    from sqlite_ltr._call import database, scalar

    with database(None) as connection:
        return str(scalar(connection, "SELECT ltr_export(?, 'json')", bytes(model)))


class _Graph:
    """Nodes and constants of a graph."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, values: Any, dtype: str = "float64") -> str:
        """Add a constant and return its name."""
        import numpy as np
        from onnx import numpy_helper

        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(values, dtype=dtype), name))
        return name

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one output and return the name of the output."""
        from onnx import helper

        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def reduce(self, operator: str, values: str, axis: int, keep: bool = True) -> str:
        """Add a reduction over one axis."""
        return self.node(operator, values, self.constant([axis], "int64"), keepdims=int(keep))

    def filled(self, features: str, missing: str, means: list[float]) -> str:
        """Replace missing features."""
        if missing in ("error", "branch"):
            return features
        filling = self.constant([means if missing == "mean" else [0.0] * len(means)])
        return self.node("Where", self.node("IsNaN", features), filling, features)


def _score(graph: _Graph, features: str, term: dict[str, Any]) -> str:
    """Add the nodes for the score of a term."""
    scaled = _scaled(graph, features, term["scaling"])
    if "trees" in term:
        return _trees(graph, scaled, term["trees"], term["weights"])
    values = _kernel(graph, scaled, term["kernel"], term["documents"]) if "documents" in term else scaled
    score = graph.node("MatMul", values, graph.constant(term["weights"]))
    if term["form"] == "ranking":
        score = graph.node("Sub", score, graph.reduce("ReduceMean", score, 0))
    return score


def _scaled(graph: _Graph, features: str, scaling: dict[str, Any]) -> str:
    """Add the nodes for the scaled features."""
    kind = scaling["kind"]
    if kind == "none":
        return features
    if kind == "standard":
        centered = graph.node("Sub", features, graph.constant([scaling["centers"]]))
        return graph.node("Mul", centered, graph.constant([scaling["factors"]]))
    if kind == "max_norm":
        return graph.node("Mul", features, graph.constant(scaling["factor"]))
    if kind == "quantile":
        return _normal_scores(graph, features, scaling["points"])
    if kind == "query_minmax":
        return _within_query(graph, features)
    if kind == "quantile_minmax":
        parts = _normal_scores(graph, features, scaling["points"]), _within_query(graph, features)
        return graph.node("Concat", *parts, axis=1)
    raise ValueError(f"unknown scaling {kind!r}")


def _normal_scores(graph: _Graph, features: str, points: list[list[list[float]]]) -> str:
    """Add the nodes for quantile scores: linear between points, constant outside."""
    longest = max(map(len, points))
    # Pad after a feature's last point with points that no value reaches.
    padding = [float("inf")]
    ends = [[x for x, _ in feature] + padding * (longest - len(feature)) for feature in points]
    starts, scores, slopes = [], [], []
    for feature in points:
        steps = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in zip(feature, feature[1:])]
        rest = [0.0] * (longest - len(feature))
        starts += [x for x, _ in feature] + rest
        scores += [z for _, z in feature] + rest
        slopes += [*steps, 0.0, *rest]
    # The index of the last point not above the value; 0 if there is none.
    deep = graph.node("Unsqueeze", features, graph.constant([2], "int64"))
    passed = graph.node("Cast", graph.node("GreaterOrEqual", deep, graph.constant([ends])), to=7)
    count = graph.reduce("ReduceSum", passed, 2, keep=False)
    index = graph.node("Max", graph.node("Sub", count, graph.constant(1, "int64")), graph.constant(0, "int64"))
    rows = graph.constant([[feature * longest for feature in range(len(points))]], "int64")
    index = graph.node("Add", index, rows)
    start, score, slope = (graph.node("Gather", graph.constant(table), index) for table in (starts, scores, slopes))
    distance = graph.node("Max", graph.node("Sub", features, start), graph.constant(0.0))
    return graph.node("Add", score, graph.node("Mul", slope, distance))


def _within_query(graph: _Graph, features: str) -> str:
    """Add the nodes for (x - min) / (max - min) over the documents that have x; 0 if all values are equal."""
    is_missing = graph.node("IsNaN", features)
    infinity = float("inf")
    present = [graph.node("Where", is_missing, graph.constant(end), features) for end in (infinity, -infinity)]
    low = graph.reduce("ReduceMin", present[0], 0)
    width = graph.node("Sub", graph.reduce("ReduceMax", present[1], 0), low)
    zero, one = graph.constant(0.0), graph.constant(1.0)
    # x - min is 0 where max - min is 0.
    divisor = graph.node("Where", graph.node("Greater", width, zero), width, one)
    return graph.node("Div", graph.node("Sub", features, low), divisor)


def _trees(graph: _Graph, scaled: str, trees: dict[str, Any], values: list[float]) -> str:
    """Add the nodes for the sum of oblivious trees, in which all nodes of a level have the same split."""
    from onnx import TensorProto, helper

    depth, splits = trees["depth"], trees["splits"]
    leaves = 1 << depth
    nodes: dict[str, list[Any]] = {}
    targets: dict[str, list[int]] = {}

    def add(to: dict[str, list[Any]], **entries: Any) -> None:
        for key, entry in entries.items():
            to.setdefault(key, []).append(entry)

    for tree in range(len(splits) // depth):
        # Node i has the children 2 i + 1, for values up to the border, and 2 i + 2. The last nodes are the leaves.
        for node in range(2 * leaves - 1):
            level = (node + 1).bit_length() - 1
            add(nodes, treeids=tree, nodeids=node)
            if level < depth:
                feature, border, missing_above = splits[tree * depth + level]
                add(nodes, featureids=feature, values=border, modes="BRANCH_LEQ")
                add(nodes, truenodeids=2 * node + 1, falsenodeids=2 * node + 2)
                add(nodes, missing_value_tracks_true=int(not missing_above))
            else:
                add(nodes, featureids=0, values=0.0, modes="LEAF", truenodeids=0, falsenodeids=0)
                add(nodes, missing_value_tracks_true=0)
                add(targets, treeids=tree, nodeids=node, ids=0)
    # The path to a leaf has its first answer in the highest bit; the number of a leaf has it in the lowest.
    reversed_bits = [int(f"{leaf:0{depth}b}"[::-1], 2) for leaf in range(leaves)]
    weights = [values[start + leaf] for start in range(0, len(values), leaves) for leaf in reversed_bits]
    borders = nodes.pop("values")
    attributes: dict[str, Any] = {f"nodes_{key}": entries for key, entries in nodes.items()}
    attributes |= {f"target_{key}": entries for key, entries in targets.items()}
    attributes["nodes_values_as_tensor"] = helper.make_tensor("borders", TensorProto.DOUBLE, [len(borders)], borders)
    attributes["target_weights_as_tensor"] = helper.make_tensor("values", TensorProto.DOUBLE, [len(weights)], weights)
    sums = graph.node("TreeEnsembleRegressor", scaled, domain=_TREES, n_targets=1, **attributes)
    column = graph.node("Cast", sums, to=TensorProto.DOUBLE)
    return graph.node("Squeeze", column, graph.constant([1], "int64"))


def _kernel(graph: _Graph, scaled: str, kernel: Any, documents: list[list[float]]) -> str:
    """Add the nodes for kernel values, of shape (documents, documents of the kernel)."""
    name, parameters = next(iter(kernel.items())) if isinstance(kernel, dict) else (kernel, {})
    number = {key: graph.constant(float(value)) for key, value in parameters.items()}
    if name in ("linear", "polynomial", "tanh"):
        values = graph.node("MatMul", scaled, graph.constant([list(column) for column in zip(*documents)]))
        if name == "linear":
            return values
        values = graph.node("Add", graph.node("Mul", values, number["scale"]), number["offset"])
        return graph.node("Tanh", values) if name == "tanh" else graph.node("Pow", values, number["degree"])
    difference = graph.node(
        "Sub", graph.node("Unsqueeze", scaled, graph.constant([1], "int64")), graph.constant([documents])
    )
    if name == "laplace_l1":
        distance = graph.reduce("ReduceSum", graph.node("Abs", difference), 2, keep=False)
    else:
        distance = graph.reduce("ReduceSum", graph.node("Mul", difference, difference), 2, keep=False)
    if name == "laplace":
        distance = graph.node("Sqrt", distance)
    elif name not in ("gaussian", "laplace_l1"):
        raise ValueError(f"unknown kernel {name!r}")
    return graph.node("Exp", graph.node("Neg", graph.node("Mul", distance, number["gamma"])))
