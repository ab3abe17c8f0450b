"""First guesses of what a function is called with, so that a scaffolded port has cases to start from."""

import ast
from typing import NamedTuple

from jaxkit.port.scaffold.syntax import parameters

PICTURES = ("image", "img", "picture", "page", "frame", "photo", "line", "glyph", "mask")
COUNTS = ("n", "k", "count", "num", "size", "radius", "width", "height", "iterations", "steps", "window", "ksize")
NUMBERS = ("sigma", "alpha", "beta", "threshold", "scale", "factor", "angle", "degrees", "p", "eps", "rate", "strength")
BY_TYPE = {"int": "3", "float": "0.5", "bool": "True", "str": '"text"'}
BY_NAME = {
    **dict.fromkeys(("rng", "generator", "random_state"), "np.random.default_rng(request.seed)"),
    **dict.fromkeys(("path", "folder", "directory", "filename"), "request.input"),
    "seed": "request.seed",
    "key": "jax.random.key(request.seed)",
}


class Guess(NamedTuple):
    """An argument: its name, an expression that makes a value for a case, and its default as written, if any.

    `only_named` is true of an argument that cannot be given by position.
    """

    name: str
    value: str
    default: str = ""
    only_named: bool = False
    is_picture: bool = False


def guesses(function: ast.FunctionDef) -> list[Guess]:
    """Guess a value for each argument: from its default, its annotation, its name, then from how it is used."""
    defaults = _defaults(function)
    guessed = [_guess(argument, defaults, function) for argument in parameters(function)]
    only_named = {argument.arg for argument in function.args.kwonlyargs}
    return [guess._replace(only_named=guess.name in only_named) for guess in guessed]


def _guess(argument: ast.arg, defaults: dict[str, ast.expr], function: ast.FunctionDef) -> Guess:
    name = argument.arg
    default = defaults.get(name)
    if default is not None and _is_literal(default):
        return Guess(name, ast.unparse(default), ast.unparse(default))
    kind = ast.unparse(argument.annotation) if argument.annotation else ""
    rank = _rank(name, function)
    words = _by_words(name, kind) if rank == 0 else ""
    if words:
        return Guess(name, words)
    if any(part in PICTURES for part in name.lower().split("_")):
        shape = {3: "(32, 48, 3)"}.get(rank, "(32, 48)")
        return Guess(name, f"rng.integers(0, 256, {shape}, dtype=np.uint8)", is_picture=True)
    shape = {2: "(32, 48)", 3: "(32, 48, 3)", 4: "(2, 16, 24, 3)"}.get(rank, "(64,)")
    return Guess(name, f"rng.normal(size={shape}).astype(np.float32)")


def _by_words(name: str, kind: str) -> str:
    """Guess from the annotation or the name of an argument that is never used as an array; "" if they say nothing."""
    if name in BY_NAME:
        return BY_NAME[name]
    if kind in BY_TYPE:
        return BY_TYPE[kind]
    words = name.lower().split("_")
    if any(word in COUNTS for word in words):
        return "3"
    return "0.5" if any(word in NUMBERS for word in words) else ""


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError):
        return False
    return True


def _defaults(function: ast.FunctionDef) -> dict[str, ast.expr]:
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = list(zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True))
    pairs += [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None]
    return {argument.arg: default for argument, default in pairs}


def _rank(name: str, function: ast.FunctionDef) -> int:
    """Guess the number of axes of an argument from `h, w = x.shape`, `x[i, j]` and `x.shape[2]`; 0 if none is used."""
    ranks = [0]
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and _is_shape_of(node.value, name) and isinstance(node.targets[0], ast.Tuple):
            ranks.append(len(node.targets[0].elts))
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == name:
            ranks.append(len(node.slice.elts) if isinstance(node.slice, ast.Tuple) else 1)
        if isinstance(node, ast.Subscript) and _is_shape_of(node.value, name) and isinstance(node.slice, ast.Constant):
            ranks.append(max(1, int(node.slice.value) + 1))
        ranks.append(1 if _is_shape_of(node, name) else 0)
    return max(ranks)


def _is_shape_of(node: ast.AST, name: str) -> bool:
    is_shape = isinstance(node, ast.Attribute) and node.attr == "shape"
    return is_shape and isinstance(node.value, ast.Name) and node.value.id == name
