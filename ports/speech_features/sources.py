"""Where the sound comes from: the user's folder, recordings named by JAXKIT_SPEECH, or clips that are made up."""

import os
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import soundfile

from jaxkit.port import Request

from .files import SUFFIXES, scan
from .voices import KINDS, voice, write_noises, write_voice

VARIABLE = "JAXKIT_SPEECH"


@cache
def folder() -> TemporaryDirectory:
    """Of the clips that are made up; it goes with the process."""
    return TemporaryDirectory(prefix="jaxkit-speech-")


@cache
def made(index: int, seed: int) -> str:
    """One clip that is made up; rates and formats follow each other, see `voices.KINDS`."""
    return write_voice(_below(f"voices-{seed}"), index, seed=seed)


@cache
def noises(seed: int) -> tuple[str, ...]:
    return write_noises(_below(f"noises-{seed}"), seed=seed)


def recordings() -> list[str]:
    """Those below the folder that the environment names, or none.

    Raises:
      NotADirectoryError: the folder does not exist.
    """
    named = os.environ.get(VARIABLE)
    if not named:
        return []
    if not Path(named).is_dir():
        raise NotADirectoryError(f"{VARIABLE} names {named}, which is not a folder; unset it to use made-up clips")
    return scan(Path(named))


def found(request: Request) -> list[str]:
    """The user's files; else the recordings, and as many made-up clips as there are kinds of files."""
    if request.input is not None:
        return scan(request.input)
    return recordings() + [made(index, request.seed) for index in range(len(KINDS))]


def files(request: Request, count: int) -> tuple[str, ...]:
    """`count` files, the user's over and over where they are fewer; else recordings and made-up clips in turn."""
    if request.input is not None:
        own = scan(request.input)
        return tuple(own[index % len(own)] for index in range(count))
    recorded = [path for path in recordings() if Path(path).suffix.lower() in SUFFIXES]
    pairs = [path for index, name in enumerate(recorded) for path in (name, made(index, request.seed))]
    return tuple((pairs + [made(index, request.seed) for index in range(len(recorded), count)])[:count])


@cache
def edges(seed: int) -> tuple[str, ...]:
    """Clips at 16 kHz that are easy to get wrong: all but silent, of a window and a bit, of odd lengths and widths."""
    rng, below, paths = np.random.default_rng((seed, 7)), _below(f"edges-{seed}"), []
    waves = {
        "window.wav": (0.1 * rng.normal(size=401), "PCM_32"),
        "short.wav": (voice(16000, 1601, rng), "DOUBLE"),
        "odd.wav": (voice(16000, 20011, rng), "PCM_U8"),
        "faint.flac": (0.1 * voice(16000, 16001, rng), "PCM_24"),
        "click.wav": (np.eye(1, 9999, 5000)[0], "PCM_24"),
        "loud.wav": (np.sign(voice(16000, 12345, rng)), "FLOAT"),
    }
    for name, (wave, width) in waves.items():
        soundfile.write(below / name, wave, 16000, subtype=width)
        paths.append(str(below / name))
    return tuple(paths)


def _below(name: str) -> Path:
    path = Path(folder().name) / name
    path.mkdir(exist_ok=True)
    return path
