"""Numbers in files as they lie in memory, read by place: nothing is mapped, so resident memory stays small."""

from typing import Any

import numpy as np


def records(path: str, dtype: np.dtype[Any], count: int, offset: int) -> np.ndarray:
    """`[count]` records from byte `offset` on.

    Raises:
      ValueError: if fewer are there, so that the file must have changed since it was opened.
    """
    found = np.fromfile(path, dtype, count, offset=offset)
    if len(found) < count:
        raise ValueError(f"{path} has become shorter: {len(found)} of {count} records are left at byte {offset}")
    return found
