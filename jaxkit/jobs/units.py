"""Amounts as people write them."""

import re

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def parse_bytes(text: str) -> int:
    """`"4GB"`, `"500 MiB"` or `"1e9"` as a number of bytes.

    Raises:
      ValueError: for anything else, and for less than one byte.
    """
    found = re.fullmatch(r"\s*([0-9.]+(?:e[0-9]+)?)\s*([kmgt]?i?)b?\s*", text, re.IGNORECASE)
    try:
        amount = float(found[1]) * UNITS[found[2].lower()] if found else 0.0
    except (ValueError, KeyError):
        amount = 0.0
    if amount < 1:
        raise ValueError(f"an amount of memory is written like 4GB or 500MiB, not {text!r}")
    return int(amount)
