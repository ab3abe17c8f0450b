"""Speech files to log-mel features: a loop over files with librosa, against threads that feed compiled batches."""

from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import jax
import numpy as np

from jaxkit.port import Close, Limits, Picture, Port, Request, Table

from . import cases, kept, slow, stages
from .compiled import Compiled
from .injected import by_batch, by_file, in_band
from .picture import drawn
from .sources import files, noises

SIZES = (32, 128)
# Decoding, which both sides leave to libsndfile, is a seventh of what the slow side takes on one core.
LEAST_SPEEDUP = 3.0


def with_numpy(side: Callable) -> Callable[..., list]:
    """`(key, files, noises) -> features` of a program that draws with NumPy."""

    def run(key: jax.Array, files: Sequence[str], noises: Sequence[str]) -> list:
        return side(np.random.default_rng(np.asarray(jax.random.key_data(key))), files, noises)

    return run


def alternatives() -> dict[str, Callable]:
    """What else one could write, each with the noises in memory; those whose libraries are installed."""
    programs = {"librosa, noises kept, two threads": with_numpy(partial(kept.prepare, threads=2))}
    if find_spec("kaldi_native_fbank"):
        from . import kaldi

        programs["kaldi-native-fbank"] = with_numpy(kaldi.prepare)
        programs["kaldi-native-fbank, two threads"] = with_numpy(partial(kaldi.prepare, threads=2))
    if find_spec("torch"):
        from . import torch_batched

        programs["PyTorch, batched"] = with_numpy(torch_batched.prepare)
    return programs


def inputs(size: int, request: Request) -> tuple:
    """`(key, files, noises)` for the measurement: the whole job, from paths to features."""
    return jax.random.key(request.seed), files(request, size), noises(request.seed)


def pictures(request: Request) -> list[Picture]:
    """A clip as it is, and what both sides make of it with equal draws."""
    chosen = [path for path, one in cases.usable(request).items() if one.seconds > 1][: 1 if request.quick else 3]
    batch = jax.random.key(request.seed), tuple(chosen), noises(request.seed)
    sides = zip(chosen, by_file(exact=False)(*batch), by_batch(*batch), strict=True)
    return [Picture(Path(path).name, before(path), drawn(one), drawn(other)) for path, one, other in sides]


def before(path: str) -> np.ndarray:
    """The features of a clip that is neither trimmed nor noisy."""
    return drawn(slow.log_mel(slow.load(path)))


def tables(request: Request) -> list[Table]:
    """What was read, and where the time goes."""
    return [cases.table(request), stages.table(request, SIZES[-1])]


PORT = Port(
    name="speech_features",
    claim="Speech files to noisy log-mel features at the pace of decoding them, instead of clip by clip.",
    reference=with_numpy(slow.prepare),
    rewrite=by_batch,
    cases=cases.cases,
    agreement=(
        Close(
            by_file(exact=True, noises_kept=True),
            2.0,
            by_file(exact=False, noises_kept=True),
            by_batch,
            cases.at_16k,
            "close at 16 kHz",
        ),
        Close(
            in_band(by_file(exact=True, noises_kept=True)),
            2.0,
            in_band(by_file(exact=False, noises_kept=True)),
            in_band(by_batch),
            cases.other_rates,
            "close at other rates",
        ),
        Compiled(),
    ),
    inputs=inputs,
    sizes=SIZES,
    alternatives=alternatives(),
    limits=Limits(compilations=16, host_syncs=None, speedup=LEAST_SPEEDUP),
    pictures=pictures,
    tables=tables,
    deviations=(
        "A clip that is silent, cut short, not finite or shorter than a window is skipped with its reason; librosa "
        "keeps silence whole, and reads a WAV file that was cut short without a word.",
        "librosa cuts nothing from a clip whose loudest frame is fainter than -100 dB, and less than asked from one "
        "fainter than -60 dB: it takes no level below -100 dB for silence. jaxkit cuts faint clips as loud ones.",
        "Above 0.85 of half the lower rate features are not compared: soxr and jaxkit are both flat to 0.91, and then "
        "roll off each in its own way.",
    ),
)
