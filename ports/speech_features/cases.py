"""What parity is proved on: the user's or recorded or made-up clips, and clips that are easy to get wrong."""

from functools import cache, partial
from pathlib import Path

import jax

from jaxkit.port import Case, Request, Table

from . import slow
from .files import Header, Skipped, decode, header
from .sources import edges, files, found, made, noises
from .voices import KINDS

FILES, QUICK_FILES = 24, 6


def cases(request: Request) -> list[Case]:
    """`(key, files, noises)`."""
    return at_16k(request) + other_rates(request)


def at_16k(request: Request) -> list[Case]:
    """What needs no resampling, clips of a few frames among it."""
    return [case("at 16 kHz", [path for path, one in usable(request).items() if one.rate == slow.RATE], request)]


def other_rates(request: Request) -> list[Case]:
    return [case("at other rates", [path for path, one in usable(request).items() if one.rate != slow.RATE], request)]


def case(name: str, chosen: list[str], request: Request) -> Case:
    return Case(f"{len(chosen)} files {name}", (jax.random.key(request.seed), tuple(chosen), noises(request.seed)))


def usable(request: Request) -> dict[str, Header]:
    """The files of all cases, without those that are broken: the slow program does not notice half of these."""
    asked = [*files(request, QUICK_FILES if request.quick else FILES), *edges(request.seed)]
    asked += map(partial(made, seed=request.seed), range(len(KINDS)))
    judged = {path: judge(path) for path in asked}
    return {path: one for path, one in judged.items() if isinstance(one, Header)}


@cache
def judge(path: str) -> Header | Skipped:
    """The header of a file that can be used, or why it cannot."""
    one = header(path)
    wave = decode(one) if isinstance(one, Header) else one
    return wave if isinstance(wave, Skipped) else one


def table(request: Request) -> Table:
    """What became of every file, those that are not measured included."""
    every = found(request)
    judged = [judge(path) for path in every]
    good = [one for one in judged if isinstance(one, Header)]
    minutes = sum(one.seconds for one in good) / 60
    rates = ", ".join(f"{rate} Hz" for rate in sorted({one.rate for one in good}))
    rows = [("all", f"{len(good)} of {len(every)} read, {minutes:.1f} minutes at {rates or 'no rate'}")]
    rows += [(Path(one.path).name, f"skipped: {one.reason}") for one in judged if isinstance(one, Skipped)]
    return Table("Input", ("file", "what became of it"), tuple(rows))
