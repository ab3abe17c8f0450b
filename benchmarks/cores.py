"""Keeps a measurement to a number of cores, so that machines with more give comparable ratios."""

import os


def keep_cores(count: int) -> None:
    """Lets this process and its children run on the first `count` of its cores, where the system can.

    Call it before JAX starts: XLA sizes its thread pool by the cores that it sees.
    """
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])
