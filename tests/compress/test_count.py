"""The costs of networks, counted by hand and by what papers print."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from jaxkit.compress import Affine, Quantized, target, trace
from jaxkit.compress.count import Cost, count, total
from jaxkit.compress.rounding import quantized_layers
from jaxkit.nn import MobileNetV1, empty

LAYOUT = ("NHWC", "HWIO", "NHWC")


def small(x):
    kernel, depthwise = np.ones((3, 3, 2, 4), np.float32), np.ones((3, 3, 1, 4), np.float32)
    x = jax.lax.conv_general_dilated(x, kernel, (2, 2), "SAME", dimension_numbers=LAYOUT)
    x = jax.lax.conv_general_dilated(x, depthwise, (1, 1), "SAME", dimension_numbers=LAYOUT, feature_group_count=4)
    return jnp.mean(x, axis=(1, 2)) @ np.ones((4, 5), np.float32)


def test_each_kind_of_layer_by_hand():
    graph = trace(small, jax.ShapeDtypeStruct((1, 8, 6, 2), jnp.float32))
    plain, depthwise, mean, dense = (count(graph)[node.name] for node in graph.nodes)
    assert plain == Cost(4 * 3 * 4 * 9 * 2, 9 * 2 * 4 + 4, 4 * (9 * 2 * 4 + 4))
    assert depthwise == Cost(4 * 3 * 4 * 9, 9 * 4 + 4, 4 * (9 * 4 + 4))
    assert mean == Cost(0, 0, 0)
    assert dense == Cost(20, 25, 100)
    assert total(count(graph)) == Cost(864 + 432 + 20, 76 + 40 + 25, 4 * 141)
    assert total({}) == Cost(0, 0, 0)


def test_integers_take_a_byte_and_their_scales():
    graph = trace(small, jax.ShapeDtypeStruct((1, 8, 6, 2), jnp.float32))
    values = {name: Affine(np.float32(0.1), 0) for name in (graph.input, *(node.name for node in graph.nodes))}
    q = Quantized(graph, values, quantized_layers(graph, values, target=target("xla")), target("xla"))
    assert [cost.bytes for cost in count(q).values()] == [72 + 16 + 16, 36 + 16 + 16, 0, 20 + 20 + 20]


def test_mobilenet_costs_what_its_paper_says():
    network = empty(lambda: MobileNetV1(rngs=nnx.Rngs(0)))
    network.eval()
    cost = total(count(trace(network, jax.ShapeDtypeStruct((1, 224, 224, 3), jnp.float32))))
    # Howard et al., "MobileNets" (2017), table 4: 569 million multiply-adds, 4.2 million parameters.
    assert round(cost.macs / 1e6) == 569
    assert round(cost.parameters / 1e6, 1) == 4.2
