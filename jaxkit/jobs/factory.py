"""A user's network from a function in a Python file or module, with weights from a `.npz`."""

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

MOST_NAMES = 5


class Network(NamedTuple):
    """What a factory came to.

    Attributes:
      function: of float32 `[N, *shape]`.
      shape: of one input; None if the factory does not say.
      preprocess: of one picture, float32 `[H, W, C]` in [0, 1], to what the network takes; None if there is none.
    """

    function: Callable[[Any], Any]
    shape: tuple[int, ...] | None
    preprocess: Callable[[np.ndarray], Any] | None


def load_network(name: str, weights: Path | None) -> Network:
    """Calls a factory.

    It is `factory(weights)`, which gets a dictionary of arrays, or `factory()`, whose Flax module gets them by the
    dotted paths of its state (`stem.conv.kernel`), all of them. It returns the network, a Flax module or a function of
    `[N, ...]`, or `(network, shape)` with the shape of one input. A function `preprocess` beside it is taken along.

    Args:
      name: `package.module:factory`, or `file.py:factory`.
      weights: a `.npz`. None: the factory has them.

    Raises:
      ValueError: if there is no such factory, it fails, or the weights are not those of the module.
      OSError: if the weights cannot be read.
    """
    module_name, _, attribute = name.rpartition(":")
    if not module_name or not attribute.isidentifier():
        raise ValueError(f"name the factory as MODULE:FACTORY or file.py:FACTORY, got {name!r}")
    module = _module(module_name)
    factory = getattr(module, attribute, None)
    if not callable(factory):
        raise ValueError(f"{module_name} has no function {attribute}")
    arrays = {} if weights is None else read_arrays(weights)
    takes = bool(inspect.signature(factory).parameters)
    made = _called(name, factory, (arrays,) if takes else ())
    function, shape = made if isinstance(made, tuple) and len(made) == 2 else (made, None)
    if not callable(function):
        raise ValueError(f"{name} must return a network, or (network, shape), got {type(made).__name__}")
    if weights is not None and not takes:
        _fill(name, function, arrays)
    if callable(getattr(function, "eval", None)):
        function.eval()
    return Network(function, None if shape is None else _shape(name, shape), getattr(module, "preprocess", None))


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a `.npz`, without pickles.

    Raises:
      ValueError: if it is none.
      OSError: if it cannot be read.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            return {key: file[key] for key in file.files}
    except OSError:
        raise
    except Exception as error:
        raise ValueError(f"{path} is no .npz of plain arrays: {error}") from error


def _module(name: str) -> ModuleType:
    path = Path(name)
    try:
        if path.suffix != ".py":
            return importlib.import_module(name)
        if not path.is_file():
            raise ValueError(f"there is no file {name}")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        return module
    except ValueError:
        raise
    except Exception as error:
        raise ValueError(f"{name} cannot be imported: {type(error).__name__}: {error}") from error


def _called(name: str, factory: Callable[..., Any], arguments: tuple) -> Any:
    try:
        return factory(*arguments)
    except Exception as error:
        raise ValueError(f"{name} failed: {type(error).__name__}: {error}") from error


def _shape(name: str, shape: Any) -> tuple[int, ...]:
    good = isinstance(shape, tuple | list) and shape and all(type(n) is int and n > 0 for n in shape)
    if not good:
        raise ValueError(f"{name} must give the shape of one input, such as (224, 224, 3), got {shape!r}")
    return tuple(shape)


def _fill(name: str, network: Any, arrays: Mapping[str, np.ndarray]) -> None:
    """Puts arrays into the state of a module by their dotted paths."""
    from flax import nnx

    if not isinstance(network, nnx.Module):
        raise ValueError(f"{name} takes no weights and returns no Flax module; let it take them: factory(weights)")
    wanted = {
        ".".join(map(str, path)): leaf
        for path, leaf in nnx.iter_graph(network)
        if isinstance(leaf, nnx.Param | nnx.BatchStat)
    }
    missing, strange = sorted(wanted.keys() - arrays.keys()), sorted(arrays.keys() - wanted.keys())
    if missing or strange:
        raise ValueError(f"the weights are not those of the module: missing {_few(missing)}; unknown {_few(strange)}")
    for path, leaf in wanted.items():
        if arrays[path].shape != leaf.shape:
            raise ValueError(f"{path} has shape {arrays[path].shape}, the module wants {leaf.shape}")
        leaf[...] = jnp.asarray(arrays[path], leaf.dtype)


def _few(names: list[str]) -> str:
    shown = ", ".join(names[:MOST_NAMES]) or "none"
    return f"{shown} and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else shown
