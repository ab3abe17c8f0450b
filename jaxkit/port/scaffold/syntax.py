"""What the scaffold reads off the syntax tree of a function: names resolved through imports, masks, loops, shapes."""

import ast
from collections.abc import Iterator, Mapping
from typing import NamedTuple

STATIC = ("shape", "ndim", "dtype", "len", "isinstance", "device")


class Scope(NamedTuple):
    """What the rules know about the function around a node.

    names: what imports are called here, `{"np": "numpy"}`. parameters: names of arguments. masks: names that hold
    the result of a comparison. looped: ids of the nodes inside a loop.
    """

    function: str
    names: Mapping[str, str]
    parameters: frozenset[str]
    masks: frozenset[str]
    looped: frozenset[int]

    def path(self, node: ast.AST) -> str:
        """Write a name or attribute with imports resolved, `np.random.normal` as `numpy.random.normal`; else ""."""
        if isinstance(node, ast.Name):
            return self.names.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            owner = self.path(node.value)
            return f"{owner}.{node.attr}" if owner else ""
        return ""

    def called(self, node: ast.AST) -> str:
        """Write the path of the function that a call calls; "" for anything else."""
        return self.path(node.func) if isinstance(node, ast.Call) else ""

    def is_library(self, node: ast.AST) -> bool:
        """Tell whether a name or attribute belongs to an imported module, as opposed to a local value."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self.names


def imported_names(tree: ast.Module) -> dict[str, str]:
    """Map the names that imports bind to what they stand for: `from numpy import random as r` gives `numpy.random`."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                root = alias.name.split(".")[0]
                names[alias.asname or root] = alias.name if alias.asname else root
        elif isinstance(node, ast.ImportFrom):
            origin = "." * node.level + (node.module or "")
            names |= {alias.asname or alias.name: f"{origin}.{alias.name}".lstrip(".") for alias in node.names}
    return names


def parameters(function: ast.FunctionDef) -> list[ast.arg]:
    """List the positional arguments of a function and those that only go by name, in order."""
    arguments = function.args
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def mentions(node: ast.AST) -> Iterator[str]:
    """Yield every name and attribute inside an expression."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.Attribute):
            yield part.attr


def is_static(node: ast.AST) -> bool:
    """Tell whether an expression is about shapes and types only, which are known while JAX traces."""
    return any(name in STATIC for name in mentions(node))


def is_mask(node: ast.AST) -> bool:
    """Tell whether an expression looks like a boolean array: a comparison, or comparisons joined by &, | and ~."""
    if isinstance(node, ast.Compare):
        by_identity = any(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in node.ops)
        return not by_identity and not is_static(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr | ast.BitXor):
        return is_mask(node.left) or is_mask(node.right)
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert) and is_mask(node.operand)


def scope_of(function: ast.FunctionDef, names: Mapping[str, str]) -> Scope:
    """Gather what the rules need to know about a function."""
    loops = [node for node in ast.walk(function) if isinstance(node, ast.For | ast.While)]
    assigned = [node for node in ast.walk(function) if isinstance(node, ast.Assign) and is_mask(node.value)]
    return Scope(
        function=function.name,
        names=names,
        parameters=frozenset(argument.arg for argument in parameters(function)),
        masks=frozenset(t.id for node in assigned for t in node.targets if isinstance(t, ast.Name)),
        looped=frozenset(id(part) for loop in loops for line in loop.body for part in ast.walk(line)),
    )
