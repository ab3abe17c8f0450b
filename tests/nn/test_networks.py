"""The networks: sizes as published, and padding as PyTorch pads."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from flax import nnx

from jaxkit.nn import (
    ConvNorm,
    EfficientNetLite,
    FusedMBConv,
    InvertedResidual,
    MobileNetV1,
    MobileNetV2,
    MobileNetV3,
    SqueezeExcite,
    make_divisible,
)

PUBLISHED = [
    (MobileNetV1, {}, 4_231_976),
    (MobileNetV2, {}, 3_504_872),
    (MobileNetV3, {"variant": "large"}, 5_483_032),
    (MobileNetV3, {"variant": "small"}, 2_542_856),
    (EfficientNetLite, {"variant": "lite0"}, 4_652_008),
]


@pytest.mark.parametrize("network, settings, parameters", PUBLISHED)
def test_networks_have_as_many_parameters_as_published(network, settings, parameters):
    shapes = nnx.eval_shape(lambda: network(**settings, rngs=nnx.Rngs(0)))
    assert sum(leaf.size for leaf in jax.tree.leaves(nnx.state(shapes, nnx.Param))) == parameters
    told = nnx.eval_shape(lambda: network(**settings, classes=7, rngs=nnx.Rngs(0))(jnp.zeros((2, 65, 96, 3))))
    assert told.shape == (2, 7)


@pytest.mark.parametrize("channels, expected", [(1.0, 8), (12, 16), (11, 16), (35.2, 32), (36, 40), (18, 24)])
def test_channels_are_rounded_but_not_by_more_than_a_tenth(channels, expected):
    assert make_divisible(channels) == expected


@pytest.mark.parametrize("kernel, stride, groups", [(3, 2, 1), (5, 2, 6), (1, 1, 1)])
def test_torch_padding_is_that_of_torch(rng, kernel, stride, groups):
    x = rng.normal(size=(2, 12, 9, 6)).astype(np.float32)
    layer = ConvNorm(6, 6, kernel=kernel, stride=stride, groups=groups, padding="torch", rngs=nnx.Rngs(0))
    layer.eval()
    weights = torch.tensor(np.asarray(layer.conv.kernel[...]).transpose(3, 2, 0, 1))
    settings = {"stride": stride, "padding": (kernel - 1) // 2, "groups": groups}
    expected = torch.nn.functional.conv2d(torch.tensor(x.transpose(0, 3, 1, 2)), weights, **settings)
    expected = expected.numpy().transpose(0, 2, 3, 1) / np.sqrt(1.001)
    np.testing.assert_allclose(jax.jit(layer)(x), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("block", [InvertedResidual, FusedMBConv])
def test_blocks_add_what_keeps_its_shape(rng, block):
    x = jnp.asarray(rng.normal(size=(2, 8, 8, 8)), jnp.float32)

    @jax.jit
    def only_the_shortcut(x):
        layer = block(8, 8, hidden=16, rngs=nnx.Rngs(0))
        layer.project.norm.scale[...] = jnp.zeros(8)
        return layer(x)

    np.testing.assert_array_equal(only_the_shortcut(x), x)
    smaller = nnx.eval_shape(lambda: block(8, 12, hidden=16, stride=2, rngs=nnx.Rngs(0))(x))
    assert smaller.shape == (2, 4, 4, 12)


def test_gates_scale_by_what_they_see_in_the_means(rng):
    x = rng.normal(size=(2, 8, 8, 8)).astype(np.float32)
    gate = SqueezeExcite(8, hidden=4, rngs=nnx.Rngs(0))
    hidden = np.maximum(x.mean((1, 2)) @ np.asarray(gate.reduce.kernel[...]), 0)
    scale = 1 / (1 + np.exp(-hidden @ np.asarray(gate.expand.kernel[...])))
    np.testing.assert_allclose(jax.jit(gate)(x), x * scale[:, None, None], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "build, words",
    [
        (lambda: EfficientNetLite("lite9", rngs=nnx.Rngs(0)), "lite9"),
        (lambda: MobileNetV3("huge", rngs=nnx.Rngs(0)), "huge"),
        (lambda: MobileNetV2(width=-1.0, rngs=nnx.Rngs(0)), "-1"),
        (lambda: ConvNorm(3, 8, padding="valid", rngs=nnx.Rngs(0)), "valid"),
    ],
)
def test_wrong_networks_are_refused(build, words):
    with pytest.raises(ValueError, match=words):
        build()
