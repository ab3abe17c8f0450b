"""How each topic of `topics.TOPICS` is spotted: one predicate over a node of the syntax tree and its scope."""

import ast
from collections.abc import Callable

from jaxkit.port.scaffold.syntax import Scope, is_mask, is_static, mentions

GENERATORS = ("rng", "random", "generator", "rs", "prng", "random_state")
DRAWS = (
    "normal uniform integers randint random choice permutation shuffle standard_normal poisson beta gamma exponential "
    "binomial lognormal multivariate_normal rand randn sample choices gauss randrange"
).split()
NARROW = ("uint8", "int8", "uint16", "int16", "int32", "uint32")
WIDE = ("float64", "double", "complex128", "int64", "uint64", "longlong", "longdouble")
RAGGED = "nonzero argwhere flatnonzero unique compress extract delete union1d intersect1d setdiff1d trim_zeros".split()
MAKERS = ("zeros", "ones", "empty", "full", "linspace", "eye", "arange", "identity")
FILES = (
    "open read_text read_bytes write_text write_bytes imread imwrite loadtxt savetxt genfromtxt fromfile tofile savez "
    "read_csv read_parquet to_csv imsave"
).split()
FILE_CALLS = (
    *("numpy.load", "numpy.save", "torch.load", "torch.save", "json.load", "json.dump", "pickle.load", "pickle.dump"),
    *("PIL.Image.open", "soundfile.read", "soundfile.write", "librosa.load", "scipy.io.wavfile.read", "wave.open"),
)
LIBRARIES = ("scipy", "cv2", "skimage", "PIL", "librosa", "sklearn", "pandas", "numba", "torchvision", "torchaudio")
WORKERS = ("multiprocessing", "threading", "concurrent", "joblib")
WRITERS = ("copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis")
UNROLLED = 8

Rule = Callable[[ast.AST, Scope], bool]


def _is_loop(node: ast.AST, scope: Scope) -> bool:
    if isinstance(node, ast.For):
        return not _is_short(node.iter)
    if isinstance(node, ast.ListComp | ast.GeneratorExp):
        return not all(_is_short(part.iter) for part in node.generators)
    called = scope.called(node)
    return called in ("numpy.vectorize", "numpy.apply_along_axis", "numpy.fromiter", "numpy.frompyfunc", "map")


def _is_short(node: ast.AST) -> bool:
    """Tell whether a loop runs over a few constants, which may unroll."""
    if isinstance(node, ast.Tuple | ast.List):
        return len(node.elts) <= UNROLLED
    is_range = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"
    bounds = node.args if is_range else []
    return bool(bounds) and all(isinstance(bound, ast.Constant) and bound.value <= UNROLLED for bound in bounds)


def _is_write(node: ast.AST, scope: Scope) -> bool:
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
        return True
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        return node.target.id in scope.parameters
    if not isinstance(node, ast.Call):
        return False
    called = scope.called(node)
    if any(keyword.arg == "out" for keyword in node.keywords) or called.endswith((".add.at", ".subtract.at")):
        return True
    if called in [f"numpy.{name}" for name in WRITERS] or called == "numpy.random.shuffle":
        return True
    return _method(node, scope) in ("sort", "fill", "partition", "setflags", "copy_", "fill_", "add_", "mul_")


def _method(node: ast.AST, scope: Scope) -> str:
    """Name the method that a call calls on a local value; "" for functions of modules and for anything else."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not scope.is_library(node.func):
        return node.func.attr
    return ""


def _is_random(node: ast.AST, scope: Scope) -> bool:
    called = scope.called(node)
    if called.startswith(("numpy.random.", "random.", "secrets.", "torch.rand", "torch.normal", "torch.bernoulli")):
        return True
    if _method(node, scope) not in DRAWS:
        return False
    return any(name.strip("_").lower() in GENERATORS or "rng" in name for name in mentions(node.func.value))


def _is_state(node: ast.AST, scope: Scope) -> bool:
    if isinstance(node, ast.Global | ast.Nonlocal):
        return True
    return isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)


def _is_cast(node: ast.AST, scope: Scope) -> bool:
    if not isinstance(node, ast.Call):
        return False
    if scope.called(node).split(".")[-1] in (*NARROW, "byte"):
        return scope.is_library(node.func) or _method(node, scope) == "byte"
    if _method(node, scope) not in ("astype", "to", "type", "view"):
        return False
    return any(_dtype(value, scope) in NARROW for value in [*node.args, *(k.value for k in node.keywords)])


def _dtype(node: ast.AST, scope: Scope) -> str:
    """Name a dtype that is written as a string, as an attribute of NumPy or torch, or as a Python type."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    return scope.path(node).split(".")[-1]


def _is_ragged(node: ast.AST, scope: Scope) -> bool:
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        return is_mask(node.slice) or isinstance(node.slice, ast.Name) and node.slice.id in scope.masks
    if not isinstance(node, ast.Call):
        return False
    called = scope.called(node)
    if called in ("numpy.where", "torch.where"):
        return len(node.args) == 1
    if called in ("numpy.repeat", "torch.repeat_interleave"):
        return len(node.args) > 1 and not isinstance(node.args[1], ast.Constant)
    return called.split(".")[-1] in RAGGED or _method(node, scope) in ("nonzero", "masked_select", "unique")


def _is_sized_by_argument(node: ast.AST, scope: Scope) -> bool:
    called = scope.called(node)
    if not called.startswith(("numpy.", "torch.")) or called.split(".")[-1] not in MAKERS:
        return False
    size = node.args[0] if node.args else node
    return not is_static(size) and any(name in scope.parameters for name in mentions(size))


def _is_deviation(node: ast.AST, scope: Scope) -> bool:
    called = scope.called(node)
    if called in ("statistics.stdev", "statistics.pstdev", "statistics.variance"):
        return True
    return called.split(".")[-1] in ("std", "var", "nanstd", "nanvar", "std_mean", "var_mean", "cov")


def _is_wide(node: ast.AST, scope: Scope) -> bool:
    if isinstance(node, ast.Attribute):
        return scope.path(node).startswith(("numpy.", "torch.")) and node.attr in WIDE
    if isinstance(node, ast.Constant):
        return node.value in WIDE
    if not isinstance(node, ast.Call):
        return False
    types = [*(node.args[:1] if _method(node, scope) == "astype" else []), *_keyword(node, "dtype")]
    if any(isinstance(kind, ast.Name) and kind.id in ("float", "int", "complex") for kind in types):
        return True
    called = scope.called(node)
    makes = called.startswith("numpy.") and called.split(".")[-1] in ("zeros", "ones", "empty", "linspace", "eye")
    return makes and len(node.args) < 2 and not _keyword(node, "dtype")


def _keyword(node: ast.Call, name: str) -> list[ast.expr]:
    return [keyword.value for keyword in node.keywords if keyword.arg == name]


def _is_file(node: ast.AST, scope: Scope) -> bool:
    called = scope.called(node)
    return called in FILE_CALLS or called.split(".")[-1] in FILES or _method(node, scope) in FILES


def _is_told(node: ast.AST, scope: Scope) -> bool:
    called = scope.called(node)
    return called == "print" or called.split(".")[0] in ("logging", "warnings", "tqdm", "logger", "log")


def _is_torch(node: ast.AST, scope: Scope) -> bool:
    return scope.called(node).split(".")[0] == "torch"


def _is_host(node: ast.AST, scope: Scope) -> bool:
    if _method(node, scope) in ("item", "tolist", "numpy", "cpu", "tobytes"):
        return True
    if scope.called(node) not in ("float", "int", "bool") or not node.args:
        return False
    return not isinstance(node.args[0], ast.Constant) and not is_static(node.args[0])


def _is_growth(node: ast.AST, scope: Scope) -> bool:
    if scope.called(node) == "numpy.append":
        return True
    joins = scope.called(node) in [f"numpy.{name}" for name in ("concatenate", "vstack", "hstack", "stack", "r_")]
    return id(node) in scope.looped and (joins or _method(node, scope) in ("append", "extend", "insert"))


def _is_exception(node: ast.AST, scope: Scope) -> bool:
    return isinstance(node, ast.Try | ast.Raise | ast.Assert)


def _is_library(node: ast.AST, scope: Scope) -> bool:
    return scope.called(node).split(".")[0] in LIBRARIES


def _is_computed_index(node: ast.AST, scope: Scope) -> bool:
    return isinstance(node, ast.Subscript) and any(
        isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add | ast.Sub) and not is_mask(part)
        for part in _index_parts(node)
    )


def _is_computed_slice(node: ast.AST, scope: Scope) -> bool:
    if not isinstance(node, ast.Subscript):
        return False
    slices = [part for part in _index_parts(node) if isinstance(part, ast.Slice)]
    bounds = [bound for part in slices for bound in (part.lower, part.upper) if bound is not None]
    return any(not is_static(bound) and any(mentions(bound)) for bound in bounds)


def _index_parts(node: ast.Subscript) -> list[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _is_branch(node: ast.AST, scope: Scope) -> bool:
    if not isinstance(node, ast.If | ast.IfExp) or is_static(node.test):
        return False
    return any(_is_data(part, scope) for part in ast.walk(node.test))


def _is_data(node: ast.AST, scope: Scope) -> bool:
    """Tell whether a part of a test is probably the value of an array: an element, a reduction, a compared argument."""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        numeric = not any(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in node.ops)
        text = any(isinstance(side, ast.Constant) and not isinstance(side.value, int | float) for side in sides)
        return numeric and not text
    return isinstance(node, ast.Subscript) or _method(node, scope) in ("any", "all", "sum", "max", "min", "mean")


def _is_recursion(node: ast.AST, scope: Scope) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == scope.function


RULES: dict[str, Rule] = {
    "loop": _is_loop,
    "while": lambda node, scope: isinstance(node, ast.While),
    "inplace": _is_write,
    "random": _is_random,
    "state": _is_state,
    "cast": _is_cast,
    "shape": _is_ragged,
    "argument": _is_sized_by_argument,
    "ddof": _is_deviation,
    "float64": _is_wide,
    "file": _is_file,
    "print": _is_told,
    "torch": _is_torch,
    "host": _is_host,
    "append": _is_growth,
    "except": _is_exception,
    "library": _is_library,
    "index": _is_computed_index,
    "slice": _is_computed_slice,
    "branch": _is_branch,
    "recursion": _is_recursion,
    "generator": lambda node, scope: isinstance(node, ast.Yield | ast.YieldFrom),
    "workers": lambda node, scope: scope.called(node).split(".")[0] in WORKERS,
}
