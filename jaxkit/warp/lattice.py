"""The coordinate stage of flips, quarter turns, whole-pixel crops and padding."""

from typing import NamedTuple

import jax

Array = jax.Array
Number = Array | float


class Lattice(NamedTuple):
    """Pixels to pixels: output = sign * input + offset per axis (x, y), the axes exchanged first if `turned`.

    Signs are +1 or -1 and offsets whole numbers, so no interpolation is needed and results are exact. Where all are
    plain Python numbers, the map is part of the program and costs no index arithmetic.
    """

    sign: tuple[Number, Number]
    offset: tuple[Number, Number]
    turned: bool = False

    def push(self, x: Array, y: Array) -> tuple[Array, Array]:
        x, y = (y, x) if self.turned else (x, y)
        return self.sign[0] * x + self.offset[0], self.sign[1] * y + self.offset[1]

    def pull(self, x: Array, y: Array) -> tuple[Array, Array]:
        x, y = self.sign[0] * (x - self.offset[0]), self.sign[1] * (y - self.offset[1])
        return (y, x) if self.turned else (x, y)

    def then(self, after: "Lattice") -> "Lattice":
        """This map followed by another."""
        sign, offset = (values[::-1] if after.turned else values for values in (self.sign, self.offset))
        signs = tuple(outer * inner for outer, inner in zip(after.sign, sign, strict=True))
        moved = (outer * inner + shift for outer, inner, shift in zip(after.sign, offset, after.offset, strict=True))
        return Lattice(signs, tuple(moved), self.turned != after.turned)

    def known(self) -> bool:
        """Whether all numbers are known when the program is built."""
        return all(isinstance(number, int | float) for number in (*self.sign, *self.offset))
