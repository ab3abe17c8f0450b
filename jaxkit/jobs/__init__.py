"""Work over files, as the command line does it: what is asked for, what came of it."""

from jaxkit.jobs.explain import explained
from jaxkit.jobs.plot import plot_points
from jaxkit.jobs.sample import Outcome, SampleJob, sample
from jaxkit.jobs.units import parse_bytes

__all__ = ["Outcome", "SampleJob", "explained", "parse_bytes", "plot_points", "sample"]
