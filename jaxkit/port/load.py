"""Finding ports on disk and loading each as a package of its own, from any folder."""

import hashlib
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from jaxkit.port.declare import Port
from jaxkit.port.sides import first_line, user_line

FILE = "port.py"


class LoadError(Exception):
    """A port could not be found or loaded; the message names the path and what to do."""


def find(path: str | Path) -> list[Path]:
    """Paths of the `port.py` files that `path` stands for: the file, its folder, or a folder of such folders.

    Raises:
      LoadError: if there is none.
    """
    path = Path(path)
    if path.is_file():
        return [path.resolve()]
    if (path / FILE).is_file():
        return [(path / FILE).resolve()]
    found = sorted(path.glob(f"*/{FILE}")) if path.is_dir() else []
    if not found:
        what = "does not exist" if not path.exists() else f"holds no {FILE}, nor does any folder in it"
        raise LoadError(f"{path} {what}: give a folder with a {FILE}, a folder of such folders, or the file")
    return [file.resolve() for file in found]


def load_file(file: Path) -> Port:
    """Load one `port.py`: a module with the attribute `PORT`, whose folder is its package.

    `from . import slow, fast` works from any folder; two folders of the same name do not meet, and loading again reads
    the files again.

    Raises:
      LoadError: if the module cannot be imported or has no `PORT`.
    """
    try:
        module = _import(file)
    except Exception as error:
        line = user_line(error)
        raise LoadError(f"{file} could not be loaded{f' ({line})' if line else ''}: {first_line(error)}") from error
    port = getattr(module, "PORT", None)
    if not isinstance(port, Port):
        found = "has no `PORT`" if port is None else f"has a `PORT` that is a {type(port).__name__}"
        raise LoadError(f"{file} {found}: write `PORT = Port(name=..., ...)` at module level")
    return port


def load(path: str | Path) -> list[tuple[Path, Port]]:
    """Load all ports of a path; see `find` for what a path may be. The paths returned are those of the files.

    Raises:
      LoadError: at the first port that cannot be loaded.
    """
    return [(file, load_file(file)) for file in find(path)]


def _import(file: Path) -> ModuleType:
    digest = hashlib.sha256(str(file.parent).encode()).hexdigest()[:12]
    name = f"jaxkit_port_{digest}"
    for old in [module for module in sys.modules if module == name or module.startswith(f"{name}.")]:
        del sys.modules[old]
    importlib.invalidate_caches()
    init = file.parent / "__init__.py"
    spec = importlib.util.spec_from_file_location(name, init, submodule_search_locations=[str(file.parent)])
    package = importlib.util.module_from_spec(spec)
    sys.modules[name] = package
    if init.is_file():
        spec.loader.exec_module(package)
    return importlib.import_module(f"{name}.{file.stem}")
