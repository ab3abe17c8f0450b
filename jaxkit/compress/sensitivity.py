"""How much of the error of a quantized network comes from each of its layers, by one program for all of them."""

from collections.abc import Callable

import jax
from jax import lax

from jaxkit.compress.graph import Graph, Node, evaluate
from jaxkit.compress.quantized import PASSING, WITH_WEIGHTS, Quantized
from jaxkit.compress.simulate import computed, real_value, rounded_value

Array = jax.Array


def switchable(q: Quantized) -> list[str]:
    """The names of the nodes that compute on integers, or with integers for weights, and round something."""
    return [
        node.name
        for node in q.graph.nodes
        if node.op not in PASSING and (q.in_integers(node) or (node.op in WITH_WEIGHTS and node.name in q.layers))
    ]


def switched(graph: Graph, q: Quantized) -> Callable[[Array, Array], Array]:
    """A network of which any layers run as quantized, and the others in float.

    The switches are an argument that may be traced: one compiled program serves every choice, and runs of each layer
    only the one branch that is chosen (unless it is mapped over choices, which runs both).

    Args:
      graph: in float, with the nodes of `q.graph`.
      q: with integers.

    Returns:
      A function of float32 `[N, *shape]` and of bool `[len(switchable(q))]`, which layers are quantized, to the output,
      float32. With all of them it is `simulate(q)`, bit for bit; with none it is `graph`.
    """
    places = {name: place for place, name in enumerate(switchable(q))}

    def run(x: Array, switches: Array) -> Array:
        found = {graph.input: x}
        for node in graph.nodes:
            inputs = [found[name] for name in node.inputs]
            if node.name in places:
                found[node.name] = _either(switches[places[node.name]], node, q, inputs)
            else:
                found[node.name] = evaluate(node, inputs)
        return found[graph.output]

    return run


def _either(switch: Array, node: Node, q: Quantized, inputs: list[Array]) -> Array:
    own = next(other for other in q.graph.nodes if other.name == node.name)

    def in_integers(*inputs: Array) -> Array:
        held = [rounded_value(q, name, x) for name, x in zip(own.inputs, inputs, strict=True)]
        return real_value(q, own.name, computed(q, own, held))

    return lax.cond(switch, in_integers, lambda *inputs: evaluate(node, list(inputs)), *inputs)
