"""`jaxkit new`: a port written from an existing function, with a list of what in it needs care.

Nothing of the function's module is run: `origin` finds its source, `rules` spot in the syntax tree what `topics` are
about, `guess` makes first inputs, and `write` fills the templates.
"""

from jaxkit.port.scaffold.care import Advice, Finding, advise, examine
from jaxkit.port.scaffold.topics import TOPICS, Topic
from jaxkit.port.scaffold.write import Scaffold, scaffold

__all__ = ["TOPICS", "Advice", "Finding", "Scaffold", "Topic", "advise", "examine", "scaffold"]
