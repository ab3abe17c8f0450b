"""What the project came to: a bit array of voxels, filled in batches by PyTorch on all cores.

A voxel is filled if its centre lies in an ellipsoid. Every row of voxels that a body's box holds meets the body in an
interval, which a square root gives: only voxels that are filled are ever touched. PyTorch has no bitwise-or scatter,
so that a slab of the grid is filled as bytes, then packed eight to a byte. Points are uniform in the filled voxels.
"""

from typing import NamedTuple

import numpy as np
import torch

SLAB_BYTES = 2**27
ROWS = 2**17
LOOK_AHEAD = 4096
BITS = 2 ** torch.arange(8, dtype=torch.uint8)


class BitGrid(NamedTuple):
    """`bits` `[Z, Y, X / 8]` uint8; voxel (i, j, k) along x, y, z begins at `low + voxel * (i, j, k)`."""

    bits: torch.Tensor
    low: np.ndarray
    voxel: float


class Bodies(NamedTuple):
    """Per body, in voxels from the low corner's first centre: centre `[N, 3]`, form `[N, 3, 3]`, rows it may meet."""

    center: torch.Tensor
    form: torch.Tensor
    first: torch.Tensor
    last: torch.Tensor


def sample(
    seed: int, center: np.ndarray, semi_axes: np.ndarray, quaternion: np.ndarray, count: int, *, voxel: float
) -> np.ndarray:
    """`count` points `[count, 3]` float64, uniform in the filled voxels."""
    return draw(seed, voxelize(center, semi_axes, quaternion, voxel=voxel), count)


def voxelize(center: np.ndarray, semi_axes: np.ndarray, quaternion: np.ndarray, *, voxel: float) -> BitGrid:
    """Fills every voxel whose centre lies in an ellipsoid, slab by slab along z."""
    bodies, low, shape = prepare(*map(torch.from_numpy, (center, semi_axes, quaternion)), voxel)
    depth = max(1, SLAB_BYTES // (shape[1] * shape[2]))
    order = torch.argsort(bodies.first[:, 2])
    bodies = Bodies(*(part[order] for part in bodies))
    reach = torch.cummax(bodies.last[:, 2], 0).values
    bits = torch.empty((shape[0], shape[1], shape[2] // 8), dtype=torch.uint8)
    for bottom in range(0, shape[0], depth):
        top = min(bottom + depth, shape[0])
        begin = torch.searchsorted(reach, bottom)
        end = torch.searchsorted(bodies.first[:, 2].contiguous(), top)
        slab = torch.zeros((top - bottom, *shape[1:]), dtype=torch.uint8)
        fill(slab, Bodies(*(part[begin:end] for part in bodies)), bottom)
        pack(slab, bits[bottom:top])
    return BitGrid(bits, low, voxel)


def prepare(
    center: torch.Tensor, semi_axes: torch.Tensor, quaternion: torch.Tensor, voxel: float
) -> tuple[Bodies, np.ndarray, tuple[int, int, int]]:
    """Everything in voxels; the shape (z, y, x) of the grid, x a multiple of 8."""
    rotation = rotation_matrix(quaternion)
    half = (rotation * semi_axes[:, None, :]).square_().sum(2).sqrt_()
    low = (center - half).min(0).values
    high = (center + half).max(0).values
    whiten = rotation / semi_axes[:, None, :]
    form = (whiten @ whiten.mT) * voxel**2
    half /= voxel
    place = (center - low) / voxel - 0.5
    x, y, z = (int(size) + 2 for size in (high - low) / voxel)
    bodies = Bodies(place, form, torch.ceil(place - half).int(), torch.floor(place + half).int())
    return bodies, low.double().numpy(), (z, y, -(-x // 8) * 8)


def rotation_matrix(quaternion: torch.Tensor) -> torch.Tensor:
    """`[N, 3, 3]` from quaternions `[N, 4]` (w, x, y, z)."""
    w, x, y, z = torch.nn.functional.normalize(quaternion, dim=1).unbind(1)
    rows = [
        torch.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], 1),
        torch.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], 1),
        torch.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], 1),
    ]
    return torch.stack(rows, 1)


def fill(slab: torch.Tensor, bodies: Bodies, bottom: int) -> None:
    """Sets the bytes of all bodies in a slab `[Z, Y, X]` that begins at `bottom`.

    Bodies go in batches of like size, so that few rows of a batch are padding.
    """
    low = bodies.first[:, 2].clamp(min=bottom)
    deep = bodies.last[:, 2].clamp(max=bottom + len(slab) - 1) - low + 1
    wide = bodies.last[:, 1] - bodies.first[:, 1] + 1
    kept = torch.nonzero((deep > 0) & (wide > 0))[:, 0]
    order = kept[torch.argsort(deep[kept].long() * slab.shape[1] + wide[kept])]
    begin = 0
    while begin < len(order):
        ahead = order[begin : begin + LOOK_AHEAD]
        share = order[begin : begin + max(1, ROWS // int(deep[ahead].max() * wide[ahead].max()))][:LOOK_AHEAD]
        begin += len(share)
        fill_batch(slab, Bodies(*(field[share] for field in bodies)), low[share], bottom)


def fill_batch(slab: torch.Tensor, bodies: Bodies, low: torch.Tensor, bottom: int) -> None:
    """The rows of some bodies: each meets its body where `t^2 + 2 b t + c <= 0`, t along x from the body's centre."""
    y = bodies.first[:, 1, None] + torch.arange(int((bodies.last - bodies.first)[:, 1].max()) + 1, dtype=torch.int32)
    z = low[:, None] + torch.arange(int((bodies.last[:, 2] - low).max()) + 1, dtype=torch.int32)
    b, square = intervals(bodies, y, z)
    square.masked_fill_((z >= bottom + len(slab))[:, :, None], -1.0)
    met = torch.nonzero(square.view(-1) > 0)[:, 0]
    middle = bodies.center[met // square[0].numel(), 0] - b.view(-1)[met]
    reach = square.view(-1)[met].sqrt_()
    start = torch.ceil(middle - reach)
    run = (torch.floor(middle + reach) - start + 1).clamp_(min=0).long()
    row = ((z.long() - bottom) * slab.shape[1])[:, :, None] + y[:, None, :]
    set_runs(slab.view(-1), row.view(-1)[met] * slab.shape[2] + start.long(), run)


def intervals(bodies: Bodies, y: torch.Tensor, z: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """`b` and `b^2 - c` for rows y `[B, Y]` and z `[B, Z]`, each `[B, Z, Y]`."""
    dy = (y - bodies.center[:, 1, None])[:, None, :]
    dz = (z - bodies.center[:, 2, None])[:, :, None]
    form = bodies.form.flatten(1)[:, :, None, None]
    scale = 1 / form[:, 0]
    b = torch.addcmul(form[:, 2] * scale * dz, form[:, 1] * scale, dy)
    c = torch.addcmul((form[:, 8] * dz * dz - 1) * scale, form[:, 4] * dy, scale * dy)
    c = torch.addcmul(c, 2 * form[:, 5] * scale * dz, dy)
    return b, torch.addcmul(c.neg_(), b, b)


def set_runs(flat: torch.Tensor, base: torch.Tensor, run: torch.Tensor) -> None:
    """Sets `run` bytes from each `base` on."""
    row = torch.repeat_interleave(run)
    shift = base - (torch.cumsum(run, 0) - run)
    flat[shift[row] + torch.arange(len(row))] = 1


def pack(slab: torch.Tensor, bits: torch.Tensor) -> None:
    """Bytes 0 and 1 `[Z, Y, X]` as bits `[Z, Y, X / 8]`."""
    torch.sum(slab.unflatten(2, (-1, 8)) * BITS, 3, dtype=torch.uint8, out=bits)


def draw(seed: int, grid: BitGrid, count: int) -> np.ndarray:
    """Uniform voxels of the grid until enough of them are filled, and a uniform place in each."""
    generator = torch.Generator().manual_seed(seed)
    flat, (_, height, width) = grid.bits.view(-1), grid.bits.shape
    kept, found = [], 0
    while found < count:
        index = torch.randint(0, 8 * flat.numel(), (2 * count,), generator=generator)
        index = index[(flat[index >> 3] >> (index & 7).to(torch.uint8)) & 1 == 1]
        kept.append(index)
        found += len(index)
    index = torch.cat(kept)[:count]
    x, rest = index % (8 * width), index // (8 * width)
    place = torch.stack([x, rest % height, rest // height], 1).double()
    place += torch.rand(place.shape, generator=generator, dtype=torch.float64)
    return grid.low + grid.voxel * place.numpy()
