"""Sound files as the port reads them: any rate and width, channels averaged, and a reason for each that is no use.

Decoding is libsndfile's (WAV, FLAC, Ogg, MP3, AIFF, ...), which runs outside of Python's lock: threads share the work.
"""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import soundfile

SUFFIXES = frozenset(
    ".wav .flac .ogg .oga .opus .mp3 .aif .aiff .aifc .au .caf .w64 .rf64 .sph .nist .m4a .aac".split()
)
HEADERLESS = frozenset({".raw", ".pcm"})
SHORTEST = 0.025  # seconds: one window of the features
CUT = re.compile(r"(?:data|SSND) *: (\d+) \(should be (\d+)\)")
OGG_PAGE = 65307


class Header(NamedTuple):
    """What a file says about itself: `frames` samples per channel at `rate` Hz."""

    path: str
    frames: int
    rate: int

    @property
    def seconds(self) -> float:
        """How long it plays."""
        return self.frames / self.rate


class Skipped(NamedTuple):
    """A file without usable sound, and why."""

    path: str
    reason: str


def scan(folder: Path) -> list[str]:
    """Every sound file under a folder, in the order of their names, raw samples included: they are named as skipped.

    Raises:
      NotADirectoryError: `folder` is not a folder.
      ValueError: it holds no sound file.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder} is not a folder; --input takes a folder of sound files")
    suffixes = SUFFIXES | HEADERLESS
    found = sorted(str(path) for path in folder.rglob("*") if path.suffix.lower() in suffixes and not path.is_dir())
    if not found:
        raise ValueError(f"{folder} holds no sound files ({', '.join(sorted(SUFFIXES))})")
    return found


def header(path: str) -> Header | Skipped:
    """Reads what a file says about itself, and refuses what is already seen to be broken."""
    if Path(path).suffix.lower() in HEADERLESS:
        return Skipped(path, "raw samples without a header: rate and format are not known, save it as WAV")
    try:
        with soundfile.SoundFile(path) as file:
            found, told = Header(path, file.frames, file.samplerate), file.extra_info
            cut = _cut_data(told) or (_cut_ogg(path) if file.format == "OGG" else "")
    except (OSError, RuntimeError) as error:
        return Skipped(path, _reason(path, error))
    return Skipped(path, reason) if (reason := cut or _too_short(found)) else found


def decode(found: Header, into: np.ndarray | None = None) -> np.ndarray | Skipped:
    """The wave `[frames]` float32 in [-1, 1] at the file's own rate; channels are averaged.

    Args:
      found: the file's header.
      into: `[T]` float32, T at least `frames`: where to put the wave, so that nothing is copied.
    """
    into = np.empty(found.frames, np.float32) if into is None else into
    try:
        with soundfile.SoundFile(found.path) as file:
            wave = _mono(file, into[: found.frames])
    except (OSError, RuntimeError) as error:
        return Skipped(found.path, _reason(found.path, error))
    reason = _unusable(wave, found)
    return Skipped(found.path, reason) if reason else wave


def _mono(file: soundfile.SoundFile, out: np.ndarray) -> np.ndarray:
    if file.channels == 1:
        return file.read(out=out)
    channels = file.read(len(out), dtype="float32", always_2d=True).T
    mean = np.add(channels[0], channels[1], out=out[: channels.shape[1]])
    for channel in channels[2:]:
        mean += channel
    mean *= np.float32(1 / len(channels))  # np.mean along the short axis takes five times as long
    return mean


def _unusable(wave: np.ndarray, found: Header) -> str:
    """Why a decoded wave cannot be used, or nothing. NaN and infinity survive the sum, so that one pass will do."""
    if len(wave) < found.frames:
        return f"truncated: {len(wave)} of {found.frames} samples"
    if not np.isfinite(wave.sum()) and not np.isfinite(wave).all():
        return f"{int((~np.isfinite(wave)).sum())} samples are not finite numbers"
    return "" if wave.any() else "silent: every sample is zero"


def _too_short(found: Header) -> str:
    if found.frames == 0:
        return "no samples"
    short = found.seconds < SHORTEST
    return f"{1000 * found.seconds:.3g} ms, shorter than a window of {1000 * SHORTEST:g} ms" if short else ""


def _cut_data(told: str) -> str:
    """libsndfile mends the size of a cut WAV or AIFF in silence and tells so in its log only.

    Programs that write to a pipe leave the largest size there is (less their header): that is no damage.
    """
    sizes = CUT.search(told)
    declared, left = (int(size) for size in sizes.groups()) if sizes else (0, 0)
    piped = any(0 <= top - declared <= 4096 for top in (2**31, 2**32))
    return f"truncated: {left} of {declared} bytes of sound" if declared > left and not piped else ""


def _cut_ogg(path: str) -> str:
    """The last page of an Ogg stream (RFC 3533) says that it is the last."""
    data = Path(path).read_bytes()[-2 * OGG_PAGE :]
    last = data.rfind(b"OggS")
    whole = last >= 0 and len(data) > last + 5 and data[last + 5] & 4
    return "" if whole else "truncated: its last page is missing"


def _reason(path: str, error: Exception) -> str:
    file = Path(path)
    if not file.exists():
        return "there is no such file"
    if not file.is_file():
        return "not a file"
    if file.stat().st_size == 0:
        return "the file is empty"
    told = str(error).replace(path, file.name).replace(f"Error opening '{file.name}': ", "").removeprefix("Error : ")
    # libsndfile says so of an MP3 file that has no frame.
    strange = "does not exist or is not a regular file" in told
    return "the content is of no known sound format" if strange else told.removesuffix(".") or type(error).__name__
