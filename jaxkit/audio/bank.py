"""A bank of sounds in memory: noises to add, or impulse responses of rooms, of different lengths."""

import dataclasses
import functools
from collections.abc import Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.ranges import one_of_names

Array = jax.Array
FULL_SCALE = 32768
STORES = ("float32", "int16")
MOST_SAMPLES = 2**31 - 1
CHUNK = 4096


@dataclasses.dataclass(frozen=True, eq=False)
class Bank:
    """Sounds laid end to end. Make one with `Bank.from_waves`; ops such as `add_noise` draw members of it.

    Attributes:
      samples: `[N]` float32 in [-1, 1], or int16, on the host. Each member is followed by the first `CHUNK` samples of
        its repetition: a chunk that starts within a member is one slice, and reading needs no gather of samples.
      starts: `[M]` int32, where each member starts in `samples`.
      lengths: `[M]` int32, how many samples each member has.
      direct: `[M]` int32, the place of a member's largest magnitude: of an impulse response, the direct path.
      rate: sample rate in Hz of all members.
      names: one for each member, for messages and logs.
    """

    samples: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray
    direct: np.ndarray
    rate: int
    names: tuple[str, ...]

    @classmethod
    def from_waves(
        cls, waves: Iterable[Any], *, rate: int = 16000, names: Sequence[str] | None = None, store: str = "float32"
    ) -> "Bank":
        """Copies sounds into one array.

        Args:
          waves: arrays `[T]`, floating in [-1, 1] or int16, each of its own length.
          rate: their sample rate in Hz.
          names: one for each, such as file names. Default: `member 0` and so on.
          store: `float32`, or `int16` for half the memory; rounding adds noise 98 dB below full scale.

        Raises:
          ValueError: if there is no sound, a member is empty, not `[T]`, holds NaN or infinity, or exceeds full scale
            where it is stored as int16; if names are missing; if `store` or `rate` is unknown or nonsense. Members are
            named.
          TypeError: if a member is neither floating nor int16.
        """
        one_of_names("store", store, STORES)
        if type(rate) is not int or rate < 1:
            raise ValueError(f"rate must be a positive integer in Hz, got {rate!r}")
        waves = [np.asarray(wave) for wave in waves]
        names = _names(names, len(waves))
        stored = [_stored(wave, name, store) for wave, name in zip(waves, names, strict=True)]
        lengths = np.array([len(wave) for wave in stored])
        if (lengths + CHUNK).sum() > MOST_SAMPLES:
            raise ValueError(f"a bank holds at most 2**31 - 1 samples, got {lengths.sum()}; make several")
        direct = np.array([np.argmax(np.abs(wave.astype(np.float32))) for wave in stored], np.int32)
        starts = np.cumsum(lengths + CHUNK) - lengths - CHUNK
        samples = np.concatenate([part for wave in stored for part in (wave, np.resize(wave, CHUNK))])
        return cls(samples, starts.astype(np.int32), lengths.astype(np.int32), direct, rate, names)

    def __len__(self) -> int:
        """How many members there are."""
        return len(self.names)

    def wave(self, member: int) -> np.ndarray:
        """A member `[T]` as float32, on the host."""
        start = self.starts[member]
        part = self.samples[start : start + self.lengths[member]]
        return part / np.float32(FULL_SCALE) if part.dtype == np.int16 else part

    @functools.cached_property
    def held(self) -> Array:
        """`samples` on the device, moved there when first used."""
        with jax.ensure_compile_time_eval():
            return jax.device_put(self.samples)

    def length(self, member: Array) -> Array:
        """The number of samples of a member, an int32 scalar; `member` may be traced."""
        return jnp.asarray(self.lengths)[member]

    def direct_path(self, member: Array) -> Array:
        """The place of a member's largest magnitude, an int32 scalar; `member` may be traced."""
        return jnp.asarray(self.direct)[member]

    def read(self, member: Array, start: Array | int, count: int) -> Array:
        """`count` samples `[count]` float32 of a member that repeats, from sample `start` on; both may be traced."""
        chunks = CHUNK * jnp.arange(-(-count // CHUNK), dtype=jnp.int32)
        places = jnp.asarray(self.starts)[member] + (start + chunks) % self.length(member)
        held = self.held
        parts = jax.vmap(lambda place: jax.lax.dynamic_slice(held, (place,), (CHUNK,)))(places)
        return _as_float(parts.reshape(-1)[:count])


def check_bank(where: str, bank: Any) -> Bank:
    """`bank`, a `Bank`.

    Raises:
      ValueError: if it is something else.
    """
    if not isinstance(bank, Bank):
        raise ValueError(f"{where} takes a Bank, got {bank!r}; make one with Bank.from_waves")
    return bank


def check_rates(bank: Bank, rate: int) -> None:
    """Refuses a clip of another sample rate than the bank's.

    Raises:
      ValueError: if the rates differ.
    """
    if bank.rate != rate:
        raise ValueError(f"the bank has {bank.rate} Hz, the clip {rate} Hz; resample one of them first")


def _names(names: Sequence[str] | None, count: int) -> tuple[str, ...]:
    if count == 0:
        raise ValueError("a bank needs at least one sound, got none")
    names = tuple(f"member {i}" for i in range(count)) if names is None else tuple(map(str, names))
    if len(names) != count:
        raise ValueError(f"a bank needs one name per sound, got {len(names)} names for {count} sounds")
    return names


def _stored(wave: np.ndarray, name: str, store: str) -> np.ndarray:
    if wave.ndim != 1 or wave.size == 0:
        raise ValueError(f"{name} must be one channel [T] with at least one sample, got shape {wave.shape}")
    if wave.dtype == np.int16:
        return wave if store == "int16" else (wave / np.float32(FULL_SCALE)).astype(np.float32)
    if not np.issubdtype(wave.dtype, np.floating):
        raise TypeError(f"{name} must be floating in [-1, 1] or int16, got {wave.dtype}")
    if not np.isfinite(wave).all():
        raise ValueError(f"{name} holds NaN or infinity at sample {np.flatnonzero(~np.isfinite(wave))[0]}")
    if store == "float32":
        return wave.astype(np.float32)
    if np.abs(wave).max() > 1.0:
        raise ValueError(f"{name} exceeds full scale ({np.abs(wave).max():g}); scale it, or store float32")
    return np.clip(np.rint(wave.astype(np.float64) * FULL_SCALE), -FULL_SCALE, FULL_SCALE - 1).astype(np.int16)


def _as_float(values: Array) -> Array:
    return values if values.dtype == jnp.float32 else values.astype(jnp.float32) * jnp.float32(1.0 / FULL_SCALE)
