"""Where a function that is to be rewritten lives, and everything in its file that it needs to run elsewhere."""

import ast
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from jaxkit.port.scaffold.syntax import mentions


class Origin(NamedTuple):
    """A function in its file. `module` and `package` are dotted names; `package` is "" outside a package."""

    path: Path
    module: str
    package: str
    source: str
    tree: ast.Module
    function: ast.FunctionDef


def locate(target: str) -> Origin:
    """Find `package.module:function` or `folder/file.py:function` without running it.

    A name that the module only imports is followed to where it is defined. Finding a module inside a package imports
    the package around it, as Python does.

    Raises:
      ValueError: if there is no such module or function, or if it is not a plain Python function.
    """
    module, _, name = target.rpartition(":")
    if not module or not name:
        raise ValueError(f"{target!r} must be MODULE:FUNCTION, such as mypackage.images:blur or images.py:blur")
    path = _file_of(module)
    module = _name_of(path) if module.endswith(".py") else module
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source, str(path))
    found = next((node for node in tree.body if getattr(node, "name", None) == name), None)
    if isinstance(found, ast.FunctionDef):
        return Origin(path, module, package, source, tree, found)
    elsewhere = _imported(name, tree, package)
    if found is None and elsewhere:
        return locate(elsewhere)
    raise ValueError(_complaint(target, name, tree, found))


def needed(origin: Origin) -> list[ast.stmt]:
    """List the statements of the module that a function needs, itself included, in their order.

    Imports, constants, classes and other functions that it names, and what those name in turn. Relative imports are
    made absolute, so that the statements run in another folder.
    """
    defined = {name: node for node in origin.tree.body for name in _bound(node)}
    wanted, queue = [], [origin.function]
    while queue:
        node = queue.pop()
        if node not in wanted:
            wanted.append(node)
            queue += [defined[name] for name in mentions(node) if name in defined]
    future = [n for n in origin.tree.body if isinstance(n, ast.ImportFrom) and n.module == "__future__"]
    chosen = {id(node) for node in (*wanted, *future)}
    return [node for node in origin.tree.body if id(node) in chosen]


def text_of(node: ast.stmt, origin: Origin) -> str:
    """Write a statement as it stands in the file, decorators included; a relative import as an absolute one."""
    if isinstance(node, ast.ImportFrom) and node.level:
        absolute = _absolute(node, origin.package)
        return ast.unparse(ast.ImportFrom(module=absolute, names=node.names, level=0))
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    return "\n".join(origin.source.splitlines()[first - 1 : node.end_lineno])


def _file_of(module: str) -> Path:
    if module.endswith(".py"):
        if not Path(module).is_file():
            raise ValueError(f"there is no file {module}")
        return Path(module)
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError) as error:
        raise ValueError(f"module {module} cannot be found ({error}); give its file: file.py:function") from error
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        raise ValueError(f"there is no Python source for module {module}; give its file: file.py:function")
    return Path(spec.origin)


def _complaint(target: str, name: str, tree: ast.Module, node: ast.stmt | None) -> str:
    if "." in name or isinstance(node, ast.ClassDef):
        return f"{target!r} is a class or method: move the arithmetic into a function of arrays, and give that"
    if node is not None:
        return f"{target!r} is a {type(node).__name__}, not a plain function (`def`)"
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    return f"there is no function {name!r} in {target.rpartition(':')[0]}; it has {', '.join(functions) or 'none'}"


def _bound(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement of a module binds, also inside its `if` and `try`."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
        return
    for part in ast.walk(node):
        if isinstance(part, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name.split(".")[0] for alias in part.names)
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id
        elif isinstance(part, ast.FunctionDef | ast.ClassDef):
            yield part.name


def _name_of(path: Path) -> str:
    """Name the module of a file by the packages around it: the folders that hold an `__init__.py`."""
    parts = [] if path.name == "__init__.py" else [path.stem]
    folder = path.resolve().parent
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts)


def _imported(name: str, tree: ast.Module, package: str) -> str:
    """Say where a module imports a name from, as `module:name`; "" if it does not."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return f"{_absolute(node, package)}:{alias.name}"
    return ""


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    return importlib.util.resolve_name("." * node.level + (node.module or ""), package)
