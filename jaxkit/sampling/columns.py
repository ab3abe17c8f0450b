"""The names that the columns and arrays of a file may have, and what kind of cloud they make."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from jaxkit.sampling import arguments
from jaxkit.sampling.rows import Parts, Rows

COLUMNS = {
    "center": ("x", "y", "z"),
    "semi_axes": ("a", "b", "c"),
    "radius": ("radius",),
    "quaternion": ("qw", "qx", "qy", "qz"),
    "covariance": ("cxx", "cxy", "cxz", "cyy", "cyz", "czz"),
    "log_scale": ("scale_0", "scale_1", "scale_2"),
    "rot": ("rot_0", "rot_1", "rot_2", "rot_3"),
    "opacity": ("opacity",),
}
SHAPES = {
    "center": ((3,),),
    "semi_axes": ((3,),),
    "radius": ((), (1,)),
    "quaternion": ((4,),),
    "rotation": ((3, 3),),
    "covariance": ((3, 3), (6,)),
}
TURNS = ("columns qw, qx, qy, qz", "an array quaternion [N, 4]", "an array rotation [N, 3, 3]")


class Reading(NamedTuple):
    """How the parts of a file become rows; see `open_cloud` for the settings."""

    scale: float = 1.0
    quaternion_order: str = "wxyz"
    k: float = 1.0
    k_sigma: float | None = None
    iso_opacity: float | None = None
    min_opacity: float = 0.0


def conversion(path: str, names: Iterable[str], reading: Reading) -> tuple[tuple[str, ...], Callable[[Parts], Rows]]:
    """Which parts to read, and what makes rows of them.

    Args:
      path: for the messages.
      names: the parts that the file holds, named as in `COLUMNS` or `SHAPES`, and whatever else it holds.
      reading: settings of the user.

    Raises:
      ValueError: if the parts do not make a cloud, or more than one.
    """
    held = set(names)
    sizes = [name for name in ("semi_axes", "radius", "covariance", "log_scale") if name in held]
    if "center" not in held or len(sizes) != 1:
        raise ValueError(f"{path} holds {sorted(held) or 'nothing that is known'}; {_needed()}")
    if sizes == ["covariance"]:
        return ("center", "covariance"), arguments.of_covariance(reading.k)
    if sizes == ["log_scale"]:
        return _splats(path, held, reading)
    turns = _turns(path, held, sizes == ["semi_axes"])
    return ("center", *sizes, *turns), arguments.of_axes(reading.scale, reading.quaternion_order)


def _turns(path: str, held: set[str], matters: bool) -> tuple[str, ...]:
    turns = tuple(name for name in ("quaternion", "rotation") if name in held)
    if len(turns) > 1:
        raise ValueError(f"{path} holds both a quaternion and a rotation; one of them is right")
    strange = sorted(name for name in held if name.startswith(("q", "rot")))
    if matters and strange and not turns:
        raise ValueError(f"{path} holds {', '.join(strange)}; orientations are read from {', '.join(TURNS)}")
    return turns


def _needed() -> str:
    return (
        "a cloud needs a center (columns x, y, z) and exactly one of semi_axes (a, b, c), radius, "
        "covariance (cxx, cxy, cxz, cyy, cyz, czz) and the splats' scale_0, scale_1, scale_2; with semi_axes, "
        "a quaternion (qw, qx, qy, qz) or a rotation (arrays only) may come"
    )


def _splats(path: str, held: set[str], reading: Reading) -> tuple[tuple[str, ...], Callable[[Parts], Rows]]:
    faint = reading.iso_opacity is not None or reading.min_opacity > 0
    needed = ("center", "log_scale", "rot", *(("opacity",) if faint else ()))
    if missing := set(needed) - held:
        columns = [column for name in needed if name in missing for column in COLUMNS[name]]
        raise ValueError(f"{path} holds Gaussian splats without {', '.join(columns)}")
    convert = arguments.of_splats(reading.k_sigma, reading.iso_opacity, reading.min_opacity, reading.scale)
    return needed, convert


def parts_of(path: str, columns: Sequence[str]) -> tuple[str, ...]:
    """The parts of which all columns are there, and the columns that belong to none of them.

    Raises:
      ValueError: if only some columns of a part are there, or a column comes twice.
    """
    if len(set(columns)) < len(columns):
        raise ValueError(f"{path} has columns of the same name: {', '.join(columns)}")
    found = [name for name, wanted in COLUMNS.items() if set(wanted) <= set(columns)]
    for name in ("center", "quaternion", "covariance", "rot"):
        missing = [column for column in COLUMNS[name] if column not in columns]
        if name not in found and 0 < len(missing) < len(COLUMNS[name]):
            raise ValueError(f"{path} lacks {', '.join(missing)} for {name}; its columns are {', '.join(columns)}")
    used = {column for name in found for column in COLUMNS[name]}
    return (*found, *(column for column in columns if column not in used))


def stacked(fields: Callable[[str], np.ndarray], parts: Iterable[str]) -> Parts:
    """The parts `[n, ...]` of columns that `fields` yields by name."""
    arrays = {name: [fields(column) for column in COLUMNS[name]] for name in parts}
    return {name: np.stack(several, -1) if len(several) > 1 else several[0] for name, several in arrays.items()}
