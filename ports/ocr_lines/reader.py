"""A small text-line reader: convolutions over the picture, then along the line, trained with CTC."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

ALPHABET = "\0 ,-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
LONGEST = 64
COLUMNS = 4  # pixels of width for each position that the reader reports
ADAM = optax.adam(1e-3)  # one object, since a new one would compile the step anew


class Reader(nnx.Module):
    """`images [B, 64, W, 3]` uint8 to logits `[B, W / 4, classes]`; class 0 is CTC's blank."""

    def __init__(self, *, channels=(16, 32, 64, 96), features=160, depth=3, rngs: nnx.Rngs):
        inputs = (1, *channels[:-1])
        strides = ((2, 2), (2, 2), (2, 1), (2, 1))
        conv = partial(nnx.Conv, kernel_size=(3, 3), rngs=rngs)
        self.shrink = nnx.List([conv(i, o, strides=s) for i, o, s in zip(inputs, channels, strides, strict=True)])
        self.norms = nnx.List([nnx.LayerNorm(count, rngs=rngs) for count in channels])
        self.flatten = nnx.Linear(4 * channels[-1], features, rngs=rngs)
        self.context = nnx.List([nnx.Conv(features, features, (5,), rngs=rngs) for _ in range(depth)])
        self.classify = nnx.Linear(features, len(ALPHABET), rngs=rngs)

    def __call__(self, images: jax.Array) -> jax.Array:
        x = 1.0 - images[..., 1:2].astype(jnp.float32) / 255.0
        for shrink, norm in zip(self.shrink, self.norms, strict=True):
            x = jax.nn.relu(norm(shrink(x)))
        x = self.flatten(jnp.swapaxes(x, 1, 2).reshape(x.shape[0], x.shape[2], -1))
        for layer in self.context:
            x = x + jax.nn.relu(layer(x))
        return self.classify(x)


def new_reader(seed: int = 0) -> tuple[Reader, nnx.Optimizer]:
    """A reader with fresh weights, and Adam for it."""
    reader = Reader(rngs=nnx.Rngs(seed))
    return reader, nnx.Optimizer(reader, ADAM, wrt=nnx.Param)


def encode(text: str) -> np.ndarray:
    """Class numbers `[64]` int32, zeros behind the text.

    Raises:
      ValueError: if the text is too long or has letters outside the alphabet.
    """
    codes = [ALPHABET.find(letter) for letter in text]
    if len(text) > LONGEST or min(codes, default=1) < 1:
        raise ValueError(f"the reader takes up to {LONGEST} letters of {ALPHABET[1:]!r}, got {text!r}")
    return np.array(codes + [0] * (LONGEST - len(codes)), np.int32)


@nnx.jit
def train_step(reader: Reader, optimizer: nnx.Optimizer, images, valid, labels) -> jax.Array:
    """One step on `images [B, 64, W, 3]`, `valid [B, 2]` and `labels [B, 64]`; returns the mean CTC loss."""
    images = on_white(images, valid)

    def loss(reader: Reader) -> jax.Array:
        logits = reader(images)
        starts = COLUMNS * jnp.arange(logits.shape[1])
        beyond = (starts[None, :] >= valid[:, 1:2]).astype(jnp.float32)
        return optax.ctc_loss(logits, beyond, labels, (labels == 0).astype(jnp.float32)).mean()

    value, gradients = nnx.value_and_grad(loss)(reader)
    with jax.numpy_dtype_promotion("standard"):  # optax's Adam mixes a float with an int32 count
        optimizer.update(reader, gradients)
    return value


def on_white(images: jax.Array, valid: jax.Array) -> jax.Array:
    """Clears the padding: the reader's windows reach a little beyond the end of a line."""
    rows = jnp.arange(images.shape[1])[None, :, None, None] < valid[:, 0, None, None, None]
    columns = jnp.arange(images.shape[2])[None, None, :, None] < valid[:, 1, None, None, None]
    return jnp.where(rows & columns, images, jnp.uint8(255))
