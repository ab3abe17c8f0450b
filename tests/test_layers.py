"""The house rules that a syntax tree can hold: who imports whom, who compiles, and how long a thing may be."""

import ast
import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
KIT = ROOT / "jaxkit"
RANKS = (
    ("boundary", "gate", "noise", "op", "ranges", "records"),
    ("warp", "audio", "sampling", "nn"),
    ("image", "compress", "train"),
    ("ocr", "export"),
    ("batch", "data"),
    ("interop",),
    ("port", "jobs"),
    ("cli",),
)
MAY_COMPILE = ("batch", "interop", "port", "jobs", "export", "sampling", "compress/calibrate.py", "compress/measure.py")
PARENTS = {"NamedTuple", "Protocol", "Enum", "StrEnum", "IntEnum"}
TEST_PARENTS = {"HTMLParser"}
FLAX_PARENTS = {"nnx.Module"}
TORCH_PARENTS = {"Function", "Module", "Dataset", "IterableDataset", "Sampler"}
FILE_LINES = 300
BODY_LINES = 20
VAGUE = {"utils", "util", "helpers", "helper", "base", "core", "common", "misc", "tools"}


def _python(*folders):
    paths = (path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))
    return [path for path in paths if not {".venv", "build"} & set(path.parts)]


def _files(*folders):
    """Parametrises over the Python files of folders."""
    paths = _python(*folders)
    return pytest.mark.parametrize("path", paths, ids=[str(path.relative_to(ROOT)) for path in paths])


@functools.cache
def _tree(path):
    return ast.parse(path.read_text(), str(path))


def _room(path):
    """The name in `RANKS` that a file of the package belongs to; the package's own `__init__` has none."""
    parts = path.relative_to(KIT).with_suffix("").parts
    return None if parts == ("__init__",) else parts[0]


def _rank(room):
    return next((index for index, names in enumerate(RANKS) if room in names), None)


def _imported(tree):
    """Every module that is imported, at the top or inside a function; names from `jaxkit` itself count as rooms."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from ([f"{node.module}.{a.name}" for a in node.names] if node.module == "jaxkit" else [node.module])


def _dotted(node):
    """`a.b.c` of an attribute or a name, else an empty string."""
    if isinstance(node, ast.Name):
        return node.id
    return f"{_dotted(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else ""


def _uses(tree):
    return {_dotted(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute | ast.Name)}


def _functions(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def _code_lines(function, lines):
    """Lines of the body that hold code: not the signature, the docstring, comments, or blank lines."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    if not body:
        return 0
    first = min([body[0].lineno, *(d.lineno for d in getattr(body[0], "decorator_list", []))])
    inner = [line.strip() for line in lines[first - 1 : function.end_lineno]]
    return sum(bool(line) and not line.startswith("#") for line in inner)


@pytest.mark.parametrize("path", [p for p in _python("jaxkit") if _room(p)], ids=lambda p: str(p.relative_to(KIT)))
def test_imports_go_downhill(path):
    room = _room(path)
    assert _rank(room) is not None, f"give {room} a rank in RANKS"
    assert not [node for node in ast.walk(_tree(path)) if isinstance(node, ast.ImportFrom) and node.level]
    for name in _imported(_tree(path)):
        if name.startswith("jaxkit."):
            other = name.split(".")[1]
            if _rank(other) is None:
                other = {"Op": "op", "Sample": "records", "Batch": "batch"}.get(other, other)
            uphill = other != room and _rank(other) is not None and _rank(other) > _rank(room)
            beside = other != room and _rank(other) == _rank(room) and _rank(room) > 0
            assert not uphill and not beside, f"{room} may not import {name}"


@pytest.mark.parametrize("path", [p for p in _python("jaxkit") if _room(p)], ids=lambda p: str(p.relative_to(KIT)))
def test_only_drivers_compile(path):
    found = _uses(_tree(path)) & {"jax.jit", "jax.pmap", "jit", "eqx.filter_jit", "nnx.jit"}
    assert not found or {_room(path), str(path.relative_to(KIT))} & set(MAY_COMPILE)


@_files("jaxkit", "ports", "tests", "benchmarks")
def test_imports_are_public_and_named(path):
    tree = _tree(path)
    names = list(_imported(tree))
    assert not [name for name in names if "jax._src" in name or name.startswith("jaxlib")]
    assert not [use for use in _uses(tree) if use.startswith("jax._src")]
    stars = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"]
    assert not stars


@_files("jaxkit")
def test_chance_comes_from_keys(path):
    names, uses = set(_imported(_tree(path))), _uses(_tree(path))
    seeded = {"np.random.default_rng", "np.random.Generator", "np.random"} if _room(path) == "port" else set()
    assert not names & {"random", "numpy.random"}
    assert not {use for use in uses if use.startswith(("np.random", "numpy.random"))} - seeded


@_files("jaxkit")
def test_torch_stays_at_the_border(path):
    if _room(path) != "interop":
        assert not [name for name in _imported(_tree(path)) if name.split(".")[0] == "torch"]


@_files("jaxkit", "ports", "tests", "benchmarks")
def test_files_are_short(path):
    assert len(path.read_text().splitlines()) < FILE_LINES


@_files("jaxkit", "ports", "benchmarks")
def test_functions_are_short(path):
    lines = path.read_text().splitlines()
    long = {f.name: n for f in _functions(_tree(path)) if (n := _code_lines(f, lines)) > BODY_LINES}
    assert not long


@_files("jaxkit", "ports", "tests", "benchmarks")
def test_files_have_a_docstring_and_a_telling_name(path):
    assert path.stem not in VAGUE
    assert ast.get_docstring(_tree(path)) or not _tree(path).body


@_files("jaxkit", "ports", "tests", "benchmarks")
def test_classes_do_not_inherit(path):
    allowed = PARENTS | (TORCH_PARENTS if {"interop", "ports"} & set(path.parts) else set())
    allowed |= TEST_PARENTS if "tests" in path.parts else set()
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.ClassDef):
            named = {_dotted(base) for base in node.bases}
            parents = {name.rpartition(".")[2] for name in named - (FLAX_PARENTS if _has_modules(path) else set())}
            strange = {p for p in parents - allowed if not p.endswith(("Error", "Exception", "Warning"))}
            assert not strange, f"class {node.name} inherits from {strange}"


def _has_modules(path):
    return "nn" in path.parts or path == KIT / "compress/layers.py"


@_files("jaxkit")
def test_rooms_only_re_export(path):
    if path.name == "__init__.py":
        kinds = (ast.Import, ast.ImportFrom, ast.Expr, ast.Assign)
        assert all(isinstance(node, kinds) for node in _tree(path).body)


@_files("ports")
def test_ports_use_public_names(path):
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("jaxkit"):
            assert not [alias.name for alias in node.names if alias.name.startswith("_")]


def _fresh(program, **environment):
    """Runs a program in a process of its own and returns what it printed."""
    settings = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run([sys.executable, "-c", program], env=settings, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_jaxkit_loads_no_heavy_library():
    heavy = ("torch", "cv2", "matplotlib", "typer", "rich", "flax", "optax", "scipy", "skimage", "PIL")
    assert _fresh(f"import jaxkit, sys; print([name for name in {heavy} if name in sys.modules])") == "[]"


def test_building_ops_starts_no_device():
    program = (
        "import jax; from tests.catalogue import ALL; from jaxkit import batch\n"
        "made = [batch(entry.recipe()) for entry in ALL]; print(len(made) == len(ALL))\n"
        "try: jax.devices()\n"
        "except RuntimeError as error: print('nonsense' in str(error))"
    )
    assert _fresh(program, JAX_PLATFORMS="nonsense").split() == ["True", "True"]
