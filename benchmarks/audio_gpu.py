"""Sound on an accelerator, in one go: presets, filters and ops give what the CPU gives, and how long they take.

    python benchmarks/audio_gpu.py [--small] [--only OP,...] [--output FILE]

Runs on a machine with the CPU alone too, where it compares the CPU with itself: a test of this script. Needs JAX, NumPy
and SciPy only. Every op is drawn on the CPU, so that both devices apply the same params. Each line is printed, and the
file written, as soon as it is found.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import jax  # noqa: E402
import numpy as np  # noqa: E402

from benchmarks.audio_clips import Size, clips  # noqa: E402
from benchmarks.audio_ops import SUBJECTS, Subject, examples  # noqa: E402
from benchmarks.devices import bandwidth  # noqa: E402
from jaxkit import Op, batch, stateless  # noqa: E402

WHOLE, SMALL = Size(32, 15), Size(2, 3)
REPEATS = 10
WAVES, LOGARITHMS, CHOICES = 1e-4, 1e-3, 1e-3
TOLERANCES = {
    "whisper_log_mel": 2e-5,
    "whisper_log_mel_128": 2e-5,
    "nemo_log_mel": LOGARITHMS,
    "kaldi_fbank": LOGARITHMS,
    "kaldi_mfcc": 1e-2,
    "seamless_fbank": LOGARITHMS,
    "librosa_mel": LOGARITHMS,
    "espnet_log_mel": LOGARITHMS,
    "loudness": LOGARITHMS,
}
RELATIVE = ("torchaudio_mel", "stft")


class Found(NamedTuple):
    """One op on the accelerator.

    Attributes:
      first_s: the first call, which compiles.
      ms, with_transfer_ms: a call with the batch on the device, and from NumPy arrays and back; the median.
      least_ms: what reading the batch and writing the result takes at the bandwidth that was measured.
      hours_per_second: of sound, with the batch on the device.
      difference: the largest from the CPU's result: of waves in units of full scale, of features in their own units, of
        spectra relative to the largest value.
      choices_apart: the share of integers and booleans that differ.
    """

    op: str
    first_s: float = 0.0
    ms: float = 0.0
    with_transfer_ms: float = 0.0
    least_ms: float = 0.0
    hours_per_second: float = 0.0
    difference: float = 0.0
    tolerance: float = 0.0
    choices_apart: float = 0.0
    passed: bool = False
    error: str = ""


def check(name: str, size: Size, device: Any, reference: Any, bandwidth: float) -> Found:
    """Applies an op on both devices; a line with the reason if that fails, so that the rest is checked, too."""
    try:
        return compared(name, size, device, reference, bandwidth)
    except Exception as error:
        return Found(name, error=(f"{type(error).__name__}: {error}".splitlines() or [""])[0])


def compared(name: str, size: Size, device: Any, reference: Any, bandwidth: float) -> Found:
    subject = SUBJECTS[name]
    given = examples(subject, clips(size, rate=subject.rate))
    with jax.default_device(reference):
        apply, params = prepared(subject, given)
        expected = jax.device_get(apply(params, given))
    with jax.default_device(device):
        apply, placed = prepared(subject, given)[0], jax.device_put((params, given), device)
        first_s, own = timed(lambda: apply(*placed))
        ms = repeated(lambda: apply(*placed))
        whole_ms = repeated(lambda: jax.device_get(apply(*jax.device_put((params, given), device))))
    difference, apart = differences(jax.device_get(own), expected, relative=name in RELATIVE)
    moved = sum(leaf.nbytes for leaf in jax.tree.leaves((placed, own)) if hasattr(leaf, "nbytes"))
    hours, tolerance = size.count * size.seconds / 3600, TOLERANCES.get(name, WAVES)
    passed = difference <= tolerance and apart <= CHOICES
    pace = 1e3 * hours / ms
    return Found(name, first_s, ms, whole_ms, 1e3 * moved / bandwidth, pace, difference, tolerance, apart, passed)


def prepared(subject: Subject, given: Any) -> tuple[Callable[[Any, Any], Any], Any]:
    """`apply(params, batch)` for the device in force, and params."""
    made, key, ids = subject.make(), jax.random.key(0), np.arange(jax.tree.leaves(given)[0].shape[0])
    if subject.of == "batch":
        return jax.jit(lambda params, batch: made(jax.random.key(0), *params, batch)), (ids,)
    call = batch(made if isinstance(made, Op) else stateless(made))
    return call.apply, jax.device_get(call.draw(key, ids, given))


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = jax.block_until_ready(run())
    return time.perf_counter() - start, result


def repeated(run: Callable[[], Any]) -> float:
    """Median milliseconds."""
    return 1e3 * float(np.median([timed(run)[0] for _ in range(REPEATS)]))


def differences(own: Any, expected: Any, *, relative: bool) -> tuple[float, float]:
    """The largest difference of floating leaves, and the largest share of other values that differ."""
    largest, apart = 0.0, 0.0
    for a, b in zip(jax.tree.leaves(own), jax.tree.leaves(expected), strict=True):
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape or a.dtype != b.dtype:
            return np.inf, 1.0
        if np.issubdtype(a.dtype, np.inexact):
            scale = np.abs(b).max(initial=0.0) if relative else 1.0
            gap = np.where(a == b, 0.0, np.abs(a - b)).max(initial=0.0) / (scale or 1.0)
            largest = max(largest, float(np.nan_to_num(gap, nan=np.inf)))
        elif a.size:
            apart = max(apart, float((a != b).mean()))
    return largest, apart


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="two clips of three seconds")
    parser.add_argument("--only", default=",".join(SUBJECTS), help="ops, comma separated")
    parser.add_argument("--output", type=Path, help="JSON file for the results")
    found = parser.parse_args(given)
    found.only = found.only.split(",")
    for name in found.only:
        if name not in SUBJECTS:
            parser.error(f"{name!r} is unknown; choose from {', '.join(SUBJECTS)}")
    return found


def main(given: argparse.Namespace) -> int:
    """Checks everything; 1 if anything failed."""
    size = SMALL if given.small else WHOLE
    device, reference = jax.devices()[0], jax.local_devices(backend="cpu")[0]
    rate = bandwidth(device)
    about = {"device": device.device_kind, "jax": jax.__version__, "bandwidth_gb_s": rate / 1e9, "batch": str(size)}
    print(json.dumps(about), flush=True)
    found = []
    for name in given.only:
        found.append(check(name, size, device, reference, rate))
        print(json.dumps(found[-1]._asdict()), flush=True)
        if given.output:
            rows = [row._asdict() for row in found]
            given.output.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")
    return 0 if all(row.passed for row in found) else 1


if __name__ == "__main__":
    sys.exit(main(arguments()))
