"""Pytrees leaf by leaf, with the path of the leaf in every error."""

from collections.abc import Callable
from typing import Any

import jax


class LeafRefused(Exception):
    """What a leaf was refused for, on its way to where the leaf's name is known."""

    def __init__(self, index: int, cause: Exception):
        super().__init__(index, cause)
        self.index, self.cause = index, cause


def map_leaves(convert: Callable[[Any], Any], tree: Any) -> Any:
    """`jax.tree.map(convert, tree)`, whose errors begin with the path of the leaf in `tree`, its dtype and shape."""
    leaves, structure = jax.tree.flatten(tree)
    try:
        return structure.unflatten(convert_all(convert, leaves))
    except LeafRefused as refused:
        raise named_error(refused, tree, "tree") from refused.cause


def convert_all(convert: Callable[[Any], Any], leaves: list) -> list:
    """`[convert(leaf) for leaf in leaves]`; errors carry the index of the leaf."""
    converted = []
    for index, leaf in enumerate(leaves):
        try:
            converted.append(convert(leaf))
        except (TypeError, ValueError, RuntimeError, BufferError) as error:
            raise LeafRefused(index, error) from error
    return converted


def named_error(refused: LeafRefused, tree: Any, root: str) -> Exception:
    """A TypeError where the cause was one, else a ValueError, that says which leaf of `tree` was refused and why."""
    path, leaf = jax.tree_util.tree_leaves_with_path(tree)[refused.index]
    kind = TypeError if isinstance(refused.cause, TypeError) else ValueError
    return kind(f"{root}{jax.tree_util.keystr(path)} ({describe(leaf)}): {refused.cause}")


def describe(leaf: Any) -> str:
    """`torch.int64 [4, 2]`, or the type of what has no dtype."""
    if not hasattr(leaf, "dtype"):
        return type(leaf).__name__
    return f"{leaf.dtype} {list(leaf.shape)}"
