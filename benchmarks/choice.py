"""Names on a command line."""

import argparse
from collections.abc import Sequence


def names(parser: argparse.ArgumentParser, text: str, known: Sequence[str], default: Sequence[str]) -> list[str]:
    """The comma separated names in `text`, or the default; ends the program if one is not known."""
    chosen = [name for name in text.split(",") if name] or list(default)
    for name in chosen:
        if name not in known:
            parser.error(f"{name!r} is unknown; choose from {', '.join(known)}")
    return chosen
