"""One line per preset, filter and op of `audio`, which `test_laws.py` holds to the laws."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jaxkit import audio


class Entry(NamedTuple):
    """What the laws need to know.

    Attributes:
      name: of the test.
      recipe: builds the op, or the plain function of a clip; `recipe.func` is the public factory.
      kind: `preset` makes features of a clip, `clip` keeps it a clip, `features` acts on features.
      random: whether different keys give different results.
      slack: by how much a clip alone may differ from the same clip in a padded batch.
      smooth: whether derivatives follow differences.
    """

    name: str
    recipe: Callable
    kind: str = "clip"
    random: bool = True
    slack: float = 1e-5
    smooth: bool = True


use = functools.partial


def preset(name: str, function: Callable, *, slack: float = 1e-4, **settings) -> Entry:
    """A line for a deterministic function from a clip to features."""
    return Entry(name, use(use, function, **settings), "preset", random=False, slack=slack)
