"""Failures of jobs as one sentence."""

from jaxkit.sampling.report import InvalidEllipsoidError


def explained(error: Exception) -> str:
    """What went wrong and what to do about it, in the words of the command line."""
    if isinstance(error, InvalidEllipsoidError):
        return _invalid(error)
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, MemoryError):
        return f"out of memory ({text}): give a smaller --memory, or fewer points"
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror[:1].lower()}{error.strerror[1:]}"
    return text


def _invalid(error: InvalidEllipsoidError) -> str:
    reasons = [
        f"{count:,} {reason} (first in row {first[0]})" for reason, (count, first) in error.report.invalid.items()
    ]
    total = sum(one.count for one in error.report.invalid.values())
    rows = f"{total:,} of {error.report.rows:,} rows are no ellipsoids: {', '.join(reasons)}"
    return f"{rows}; leave them out with --on-invalid drop, or mend short axes with --on-invalid clamp"
