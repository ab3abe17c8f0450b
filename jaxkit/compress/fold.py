"""Fewer operations that compute the same: what every runtime wants folded before it quantizes."""

import dataclasses
from collections.abc import Callable

import numpy as np

from jaxkit.compress.graph import Graph, Node

LINEAR = ("conv", "dense")
CLIPPED = ("conv", "dense", "add")
CLOSE = 1e-6


def folded(graph: Graph) -> Graph:
    """The same function: hard sigmoids named, affine steps in the weights before them, clips in what they follow."""
    for rule in (_two_clips, _hard_sigmoid, _two_affines, _no_affine, _affine_after, _clip_after):
        graph = _exhausted(graph, rule)
    return graph


def _exhausted(graph: Graph, rule: Callable[[Graph, Node, Node], Node | None]) -> Graph:
    """Applies a rule to pairs of a node and its only user until no pair is left that it fits."""
    while True:
        pair = next(((a, b, new) for a, b in _pairs(graph) if (new := rule(graph, a, b)) is not None), None)
        if pair is None:
            return graph
        graph = _merged(graph, *pair)


def _pairs(graph: Graph):
    by_name = {node.name: node for node in graph.nodes}
    for user in graph.nodes:
        before = by_name.get(user.inputs[0], Node(graph.input, "input", ()))
        yield before, user


def _merged(graph: Graph, before: Node, user: Node, new: Node) -> Graph:
    """The graph with `new` instead of `user`, and instead of `before` too where nothing else uses that."""
    gone = {before.name} if _only_user(graph, before, user) and before.op != "input" else set()
    nodes = [new if node.name == user.name else node for node in graph.nodes if node.name not in gone]
    return dataclasses.replace(graph, nodes=tuple(nodes))


def _only_user(graph: Graph, before: Node, user: Node) -> bool:
    return graph.users(before.name) == [user] and user.inputs.count(before.name) == 1 and before.name != graph.output


def _hard_sigmoid(graph: Graph, clip: Node, user: Node) -> Node | None:
    """`clip(x + 3, 0, 6) / 6`, three nodes of which this sees the last two, then the first."""
    if user.op == "affine" and clip.op == "clip" and _only_user(graph, clip, user):
        sixth = _is(user.weights["scale"], 1 / 6) and _is(user.weights["shift"], 0)
        if sixth and (clip.settings["low"], clip.settings["high"]) == (0.0, 6.0):
            return Node(user.name, "hard_sigmoid", clip.inputs, {}, {"shifted": True})
    if user.op == "hard_sigmoid" and user.settings.get("shifted"):
        plain = clip.op == "affine" and _is(clip.weights["scale"], 1) and _is(clip.weights["shift"], 3)
        return Node(user.name, "hard_sigmoid", clip.inputs) if plain else None
    return None


def _two_affines(graph: Graph, first: Node, second: Node) -> Node | None:
    if first.op != "affine" or second.op != "affine" or not _only_user(graph, first, second):
        return None
    scale = first.weights["scale"].astype(np.float64) * second.weights["scale"]
    shift = first.weights["shift"].astype(np.float64) * second.weights["scale"] + second.weights["shift"]
    return Node(second.name, "affine", first.inputs, {"scale": np.float32(scale), "shift": np.float32(shift)})


def _no_affine(graph: Graph, before: Node, affine: Node) -> Node | None:
    """An affine step that changes nothing, and what comes before it, as one node."""
    if affine.op != "affine" or before.op == "input" or not _only_user(graph, before, affine):
        return None
    same = _is(affine.weights["scale"], 1) and _is(affine.weights["shift"], 0)
    return before.replace(name=affine.name) if same else None


def _affine_after(graph: Graph, layer: Node, affine: Node) -> Node | None:
    """A layer with an affine step in its weights, in float64."""
    if layer.op not in LINEAR or affine.op != "affine" or "clip" in layer.settings:
        return None
    if not _only_user(graph, layer, affine):
        return None
    scale, shift = (affine.weights[name].astype(np.float64) for name in ("scale", "shift"))
    kernel, bias = (layer.weights[name].astype(np.float64) for name in ("kernel", "bias"))
    weights = {"kernel": np.float32(kernel * scale), "bias": np.float32(bias * scale + shift)}
    return layer.replace(name=affine.name, weights=weights)


def _two_clips(graph: Graph, first: Node, second: Node) -> Node | None:
    if first.op != "clip" or second.op != "clip" or not _only_user(graph, first, second):
        return None
    low, high = (_bounds(node) for node in (first, second))
    # The second clip has the last word where the two do not overlap.
    ends = np.clip(low, *high)
    limits = {k: None if np.isinf(v) else float(v) for k, v in zip(("low", "high"), ends, strict=True)}
    return Node(second.name, "clip", first.inputs, {}, limits)


def _bounds(clip: Node) -> tuple[float, float]:
    low, high = clip.settings["low"], clip.settings["high"]
    return -np.inf if low is None else low, np.inf if high is None else high


def _clip_after(graph: Graph, layer: Node, clip: Node) -> Node | None:
    if layer.op not in CLIPPED or clip.op != "clip" or "clip" in layer.settings:
        return None
    if not _only_user(graph, layer, clip):
        return None
    limits = (clip.settings["low"], clip.settings["high"])
    return layer.replace(name=clip.name, settings={**layer.settings, "clip": limits})


def _is(values: np.ndarray, wanted: float) -> bool:
    return bool(np.all(np.abs(values - wanted) <= CLOSE * max(1.0, abs(wanted))))
