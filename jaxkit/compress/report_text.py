"""A report for the terminal: a table with the worst layers on top, and what to do about them."""

import io
from collections.abc import Iterator
from typing import Any

WORTH = 1.0  # dB, that a layer in float must win to be spoken of
FEW = 3
CLIPPED = 0.01
POOR = 10.0  # dB; below it results are others
COUNTS = ("saturating", "dead", "raised")  # of channels
HEADINGS = ("layer", "op", "SQNR", "cosine", "alone", "gain", "outside", "saturate", *COUNTS[1:], "MMACs", "kB")


def table(report: Any, rows: int | None, width: int) -> str:
    """The text of a `Report`: totals, advice, and a table of as many layers as there are `rows`."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    ordered = worst_first(report.layers)
    shown = ordered if rows is None else ordered[:rows]
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in HEADINGS:
        grid.add_column(heading, justify="left" if heading in ("layer", "op") else "right", no_wrap=True)
    for layer in shown:
        grid.add_row(*_cells(layer))
    console = Console(file=io.StringIO(), width=width, color_system=None, markup=False, highlight=False)
    for line in (*summary(report), "", *advice(report), ""):
        console.print(line, soft_wrap=True)
    console.print(grid)
    if len(shown) < len(ordered):
        console.print(f"and {len(ordered) - len(shown)} more layers, which lose less")
    console.print(LEGEND, soft_wrap=True)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"


LEGEND = """\
SQNR, cosine: of the value against float (dB), all layers quantized
alone: of the output with this layer alone quantized (dB); gain: of the output with it alone in float (dB more)
outside: share of values beyond the range of the integers
saturate, dead, raised: channels that can saturate without VNNI; have no weight; have coarser weights for their bias"""


def worst_first(layers: Any) -> list[Any]:
    """Layers by what each would win in float, then those without such a figure by their ratio, the least first."""
    none = float("inf")
    return sorted(
        layers,
        key=lambda layer: (-(-none if layer.gain is None else layer.gain), none if layer.sqnr is None else layer.sqnr),
    )


def summary(report: Any) -> Iterator[str]:
    """What the network came to."""
    quality = "exactly the float output" if report.sqnr is None else f"{report.sqnr:.1f} dB from the float output"
    yield f"{report.target}: {quality} on {report.examples:,} examples; top-1 agrees in {report.top1:.1%}"
    if report.accuracy_float is not None:
        lost = 100 * (report.accuracy_float - report.accuracy_integers)
        yield f"accuracy {report.accuracy_integers:.2%}, in float {report.accuracy_float:.2%}: {lost:+.2f} points lost"
    share = f" ({report.bytes_float / report.bytes_integers:.2f} times less)" if report.bytes_integers else ""
    yield (
        f"{report.macs:,} multiply-adds, {report.parameters:,} parameters, "
        f"{report.bytes_float:,} bytes in float, {report.bytes_integers:,} in integers{share}"
    )


def advice(report: Any) -> Iterator[str]:
    """Sentences that say what to do; none where all is well."""
    known = [layer for layer in worst_first(report.layers) if layer.gain is not None]
    for layer in [one for one in known if one.gain >= WORTH][:FEW]:
        yield f"exclude=({layer.name!r},) would gain {layer.gain:.1f} dB"
    if known and known[0].gain < WORTH:
        yield f"no layer would gain more than {max(known[0].gain, 0):.1f} dB in float: to exclude any helps little"
    if report.sqnr is not None and report.sqnr < POOR:
        yield "the output is far from float: try ranges='minmax', equalize=True, or quantization_aware training"
    clipped = [layer for layer in report.layers if layer.outside > CLIPPED]
    for layer in sorted(clipped, key=lambda one: -one.outside)[:FEW]:
        yield f"{layer.outside:.1%} of {layer.name} is beyond its range: calibrate on more examples, or ranges='minmax'"
    if report.islands:
        first = ", ".join(f"{name} ({why})" for name, why in list(report.islands.items())[:FEW])
        more = f" and {len(report.islands) - FEW} more" if len(report.islands) > FEW else ""
        yield f"in float run {first}{more}"
    yield from _channels(report)


def _channels(report: Any) -> Iterator[str]:
    many = {name: sum(getattr(layer, name) for layer in report.layers) for name in COUNTS}
    if many["saturating"]:
        yield (
            f"{many['saturating']:,} channels can saturate on CPUs without VNNI and then are wrong without a word: "
            "take their scales from post_training or quantized_layers with this target"
        )
    if many["dead"]:
        yield f"{many['dead']:,} channels are dead: what comes out of them is a constant"
    if many["raised"]:
        yield f"{many['raised']:,} channels have coarser weights, so that 32 bits hold their bias"


def _cells(layer: Any) -> tuple[str, ...]:
    thousands = (layer.macs / 1e6, layer.bytes_integers / 1e3)
    return (
        layer.name,
        layer.op if layer.integers else f"{layer.op}, float",
        *(_number(layer.sqnr, 1), _number(layer.cosine, 4), _number(layer.alone, 1), _number(layer.gain, 2)),
        f"{layer.outside:.2%}" if layer.outside else "-",
        *(str(getattr(layer, name) or "-") for name in COUNTS),
        *(f"{number:,.2f}" if number else "-" for number in thousands),
    )


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
