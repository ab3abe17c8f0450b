"""The room that a picture has, and how much of it the picture fills."""

from typing import Any, NamedTuple


class Frame(NamedTuple):
    """A picture's static (height, width), and its true extent within, ints or int32 scalars."""

    size: tuple[int, int]
    extent: tuple[Any, Any]

    def whole(self) -> bool:
        """Whether the extent is known to be the size when the program is built."""
        return all(isinstance(length, int) for length in self.extent) and tuple(self.extent) == tuple(self.size)
