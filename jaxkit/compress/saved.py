"""Quantized networks in files: one `.npz` of arrays, with a manifest in JSON among them. Nothing is ever executed."""

import dataclasses
import json
import os
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxkit.compress.graph import Graph, Node
from jaxkit.compress.qarray import QArray
from jaxkit.compress.quantized import Affine, Layer, Quantized
from jaxkit.compress.target import Target

FORMAT = "jaxkit quantized network"
VERSION = 1
Arrays = Mapping[str, np.ndarray]


def save_quantized(q: Quantized, path: str | os.PathLike[str]) -> None:
    """Writes a quantized network.

    Args:
      q: the network.
      path: of the file, taken as it is; one that exists is replaced.

    Raises:
      ValueError: if a setting of a node has no place in JSON.
    """
    arrays: dict[str, np.ndarray] = {}
    manifest = {"format": FORMAT, "version": VERSION, **_described(q, arrays)}
    arrays["manifest"] = np.frombuffer(json.dumps(manifest, default=_plain).encode(), np.uint8)
    with open(path, "wb") as file:
        np.savez(file, **arrays)


def load_quantized(path: str | os.PathLike[str]) -> Quantized:
    """Reads what `save_quantized` wrote, bit for bit.

    Args:
      path: of the file.

    Raises:
      FileNotFoundError: if there is no such file.
      ValueError: if the file is broken, of another kind, or of a newer version.
    """
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as parts:
            arrays = {name: parts[name] for name in parts.files}
    except (ValueError, EOFError, zipfile.BadZipFile, AttributeError) as error:
        raise ValueError(f"{path} is no quantized network: {error}") from error
    try:
        manifest = json.loads(bytes(arrays["manifest"]))
        kind, version = manifest["format"], manifest["version"]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is no quantized network: it has no manifest") from error
    if kind != FORMAT or type(version) is not int or version > VERSION:
        raise ValueError(f"{path} holds {kind!r} of version {version!r}; this reads {FORMAT!r} up to version {VERSION}")
    try:
        return _restored(manifest, arrays)
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(f"{path} is broken: its manifest lacks or misplaces {error}") from error


def _described(q: Quantized, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """The manifest of a network, whose arrays it puts beside the others."""
    graph = q.graph
    for node in graph.nodes:
        arrays |= {f"{node.name}/{name}": np.asarray(value) for name, value in node.weights.items()}
    for name, (kernel, bias) in q.layers.items():
        parts = {"integers": kernel.stored, "scale": kernel.scale, "integer_bias": bias}
        arrays |= {f"{name}/{part}": np.asarray(value) for part, value in parts.items()}
    arrays["scales"] = np.array([at.scale for at in q.values.values()], np.float32)
    return {
        "graph": {"input": graph.input, "output": graph.output, "shape": graph.shape},
        "nodes": [{**_fields(node), "weights": list(node.weights)} for node in graph.nodes],
        "values": {name: int(at.zero_point) for name, at in q.values.items()},
        "layers": {name: {"shape": k.shape, "bits": k.bits} for name, (k, _) in q.layers.items()},
        "target": dataclasses.asdict(q.target),
    }


def _fields(node: Node) -> dict[str, Any]:
    return {"name": node.name, "op": node.op, "inputs": node.inputs, "settings": dict(node.settings)}


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise ValueError(f"a setting of a node is {value!r}, a {type(value).__name__}, which JSON does not know")


def _restored(manifest: Mapping[str, Any], arrays: Arrays) -> Quantized:
    nodes = tuple(_node(fields, arrays) for fields in manifest["nodes"])
    about = manifest["graph"]
    graph = Graph(nodes, about["input"], about["output"], tuple(about["shape"]))
    scales = arrays["scales"]
    values = {name: Affine(scales[i], zero) for i, (name, zero) in enumerate(manifest["values"].items())}
    layers = {name: _layer(name, about, arrays) for name, about in manifest["layers"].items()}
    return Quantized(graph, values, layers, Target(**manifest["target"]))


def _node(fields: Mapping[str, Any], arrays: Arrays) -> Node:
    name = fields["name"]
    weights = {key: arrays[f"{name}/{key}"] for key in fields["weights"]}
    settings = {key: _tuples(value) for key, value in fields["settings"].items()}
    return Node(name, fields["op"], tuple(fields["inputs"]), weights, settings)


def _layer(name: str, about: Mapping[str, Any], arrays: Arrays) -> Layer:
    integers, scale = arrays[f"{name}/integers"], arrays[f"{name}/scale"]
    return Layer(QArray(integers, scale, tuple(about["shape"]), about["bits"]), arrays[f"{name}/integer_bias"])


def _tuples(value: Any) -> Any:
    """Lists, as JSON has them, as the tuples that they were."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
