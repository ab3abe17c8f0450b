"""The command line: `jaxkit prove`, `new`, `doctor`, `diff`, `sample`, `quantize`, thin over `port` and `jobs`."""

import os
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

app = typer.Typer(
    help="Prove that a rewrite of a slow array program computes the same, and measure what it gained.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
NOT_VERIFIED, WRONG_USE, COULD_NOT_RUN = 1, 2, 4
ROWS = 15
PLAIN_WIDTH = 110


Paths = Annotated[list[Path], typer.Argument(metavar="PATH", help="Folders with a port.py, or folders of such.")]
Names = Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only the port of this name; repeatable.")]
Folder = Annotated[Path, typer.Option(metavar="DIR", help="The folder that the port's folder goes into.")]


@app.command()
def prove(
    paths: Paths,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer cases, draws and rounds.")] = False,
    only: Names = None,
    input: Annotated[Path | None, typer.Option(metavar="DIR", help="A folder of your own data.")] = None,
    report: Annotated[Path, typer.Option(metavar="DIR", help="Where the report goes.")] = Path("jaxkit-report"),
    readme: Annotated[Path | None, typer.Option(metavar="FILE", help="Also rewrite the table in this README.")] = None,
    seed: Annotated[int, typer.Option(help="Where random inputs start.")] = 0,
) -> None:
    """Prove ports equal to what they replace, measure them, and write a report.

    Exit code: 0 all is well, 1 parity failed, 2 limits exceeded, 3 too slow, 4 could not be loaded or crashed.
    """
    if input is not None and not input.is_dir():
        _stop(f"--input {input} is not a folder")
    _see_current_folder()
    from jaxkit.port import report as reporting
    from jaxkit.port.declare import Request
    from jaxkit.port.run import progress, run

    console = _console()
    with progress(console) as listen:
        results = run(paths, Request(input, quick, seed), only=only or (), listen=listen)
    if not results:
        _stop(f"no port is called {' or '.join(only or ())}")
    reporting.show([result.to_json() for result in results], console)
    page = reporting.write(results, report)
    console.print(f"Report: {page}", markup=False, highlight=False, soft_wrap=True)
    if readme is not None:
        _update(readme, results)
    raise typer.Exit(reporting.exit_code([result.verdict for result in results]))


@app.command()
def new(
    target: Annotated[str, typer.Argument(metavar="MODULE:FUNCTION", help="What to rewrite; or file.py:function.")],
    into: Folder = Path("ports"),
) -> None:
    """Write a port for an existing function, and list what in it needs care."""
    from jaxkit.port.scaffold import scaffold

    try:
        made = scaffold(target, into)
    except (ValueError, SyntaxError, OSError) as error:
        _stop(str(error))
    console = _console()
    _tell(console, f"Wrote {made.folder}: port.py, slow.py, fast.py, README.md")
    for item in made.advice:
        console.print(f"\n{item.topic.title}", style="bold", markup=False, highlight=False)
        for place in item.places:
            _tell(console, f"  {made.origin.path.name}:{place.line}  {place.code}")
        _tell(console, f"  Why: {item.topic.why}\n  Instead: {item.topic.instead}")
    _tell(console, f"\nNext: write {made.folder / 'fast.py'}, then run: jaxkit prove {made.folder}")


@app.command()
def doctor() -> None:
    """Show versions, devices and settings, and warn of what slows JAX down or breaks it."""
    from jaxkit.port.doctor import cautions, facts, observe

    console = _console()
    setup = observe()
    for heading, values in facts(setup).items():
        console.print(heading, style="bold")
        for name, value in values.items():
            _tell(console, f"  {name}: {value}")
    for caution in cautions(setup):
        console.print(f"\nWarning: {caution.problem}", style="yellow", markup=False, highlight=False)
        _tell(console, f"  Remedy: {caution.remedy}")


@app.command()
def diff(
    before: Annotated[Path, typer.Argument(metavar="BEFORE.json")],
    after: Annotated[Path, typer.Argument(metavar="AFTER.json")],
) -> None:
    """Compare two runs of a port. Exit code: 0, or 1 parity, 2 limits, 3 performance got worse."""
    from jaxkit.port import compare, report

    try:
        changes = compare.compare(report.read(before), report.read(after))
    except ValueError as error:
        _stop(str(error))
    for change in changes:
        _tell(_console(), f"{change.word}: {change.about}, {change.before} before, {change.after} after")
    if not changes:
        _tell(_console(), "nothing to compare: the runs hold the same checks and no times")
    raise typer.Exit(compare.exit_code(changes))


@app.command()
def sample(
    cloud: Annotated[Path, typer.Argument(metavar="CLOUD.{npz,ply,csv}", help="Ellipsoids, see the README.")],
    out: Annotated[Path, typer.Option(metavar="FILE.{npy,npz,ply,csv}", help="Where the points go.")],
    count: Annotated[int | None, typer.Option(help="How many points.")] = None,
    on_invalid: Annotated[str, typer.Option(metavar="raise|drop|clamp", help="What bad rows come to.")] = "raise",
    seed: Annotated[int, typer.Option(help="Another seed gives other points.")] = 0,
    method: Annotated[str, typer.Option(metavar="auto|join|bricks", help="How it is done.")] = "auto",
    memory: Annotated[str, typer.Option(metavar="4GB", help="To work in; a larger cloud is streamed.")] = "4GB",
    volume: Annotated[bool, typer.Option("--volume", help="Also find the volume to 0.1 %.")] = False,
    stratified: Annotated[bool, typer.Option("--stratified", help="Even, but not independent, points.")] = False,
    surface: Annotated[bool, typer.Option("--surface", help="On the exposed surface, with normals.")] = False,
    radius: Annotated[float | None, typer.Option(help="Least distance; as many points as fit.")] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE.png", help="Draw the points.")] = None,
) -> None:
    """Write points that are uniform in the union of the ellipsoids of a file; overlaps count once."""
    from jaxkit import jobs
    from jaxkit.port.run import progress

    console = _console()
    options = {"volume": volume, "stratified": stratified, "surface": surface, "radius": radius, "plot": plot}
    try:
        room = jobs.parse_bytes(memory)
        job = jobs.SampleJob(cloud, out, count, on_invalid, seed, method, room, **options)
        with progress(console) as listen:
            outcome = jobs.sample(job, lambda *told: listen(cloud.name, *told))
    except (ValueError, OSError, RuntimeError, MemoryError) as error:
        _stop(jobs.explained(error))
    for name, value in outcome.facts:
        _tell(console, f"{name:<28}{value}")
    _tell(console, f"Wrote {' and '.join(str(path) for path in (out, plot) if path)}")


@app.command()
def quantize(
    factory: Annotated[str, typer.Argument(metavar="MODULE:FACTORY", help="Makes the network; or file.py:factory.")],
    calibration: Annotated[Path, typer.Option(metavar="DIR", help="Arrays (.npy, .npz) or pictures (.png, .jpg).")],
    out: Annotated[Path, typer.Option(metavar="FILE.{onnx,tflite,jaxexport}", help="Where the network goes.")],
    weights: Annotated[Path | None, typer.Option(metavar="W.npz", help="For the factory.")] = None,
    target: Annotated[str, typer.Option(help="onnxruntime, openvino, tensorrt, litert or xla.")] = "onnxruntime",
    isa: Annotated[str, typer.Option(metavar="avx2|vnni", help="Of the CPUs; avx2 is right on all.")] = "avx2",
    ranges: Annotated[str, typer.Option(metavar="mse|minmax|percentile|entropy", help="Of values.")] = "mse",
    exclude: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Stays in float; repeatable.")] = None,
    equalize: Annotated[bool, typer.Option("--equalize", help="Bring channels to like size first.")] = False,
    size: Annotated[int | None, typer.Option(help="Side of pictures, if the factory gives no shape.")] = None,
    mean: Annotated[list[float] | None, typer.Option(help="Taken from pictures in [0, 1]; once or thrice.")] = None,
    std: Annotated[list[float] | None, typer.Option(help="Then divides them; once or thrice.")] = None,
    labels: Annotated[Path | None, typer.Option(metavar="FILE.csv", help="Lines: name of a file,integer.")] = None,
    examples: Annotated[int, typer.Option(help="How many are read at most, evenly from all files.")] = 256,
    report: Annotated[Path | None, typer.Option(metavar="FILE.json", help="All figures of the report.")] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE.png", help="The report as a picture.")] = None,
) -> None:
    """Make a trained network small: 8-bit integers, a file for a runtime, and a report of what was lost.

    FACTORY is `factory(weights)`, which gets the arrays of --weights as a dictionary, or `factory()`, whose Flax module
    gets them by their dotted paths. It returns the network, or (network, shape of one input). Pictures are made RGB,
    resized to just cover the network's size, cut around their centre and scaled to [0, 1]; then a function
    `preprocess(picture)` beside the factory has them, or --mean and --std. Arrays are taken as they are.

    Exit code: 0 all is well, 1 the runtime disagrees with the simulation, 2 something given cannot be used, 4 crashed.
    """
    _see_current_folder()
    console = _console()
    given = {"weights": weights, "target": target, "isa": isa, "ranges": ranges, "equalize": equalize, "size": size}
    given |= {"exclude": exclude or (), "mean": mean or (), "std": std or (), "labels": labels, "examples": examples}
    outcome = _quantized(console, (factory, calibration, out), {**given, "report": report, "plot": plot})
    for path, reason in outcome.skipped:
        _tell(console, f"left out {path.name}: {reason}")
    _tell(console, outcome.report.text(rows=ROWS, width=console.width))
    for name, value in outcome.facts:
        _tell(console, f"{name:<14}{value}")
    _tell(console, f"Wrote {' and '.join(str(path) for path in (out, report, plot) if path)}")
    raise typer.Exit(NOT_VERIFIED if outcome.verified is False else 0)


def _quantized(console: Any, places: tuple[str, Path, Path], given: dict[str, Any]) -> Any:
    from jaxkit.jobs import explained
    from jaxkit.jobs.quantize import QuantizeJob, quantize
    from jaxkit.port.run import progress

    try:
        job = QuantizeJob(*places, **given)
        with progress(console) as listen:
            return quantize(job, lambda *told: listen(job.out.name, *told))
    except (ValueError, OSError, ImportError) as error:
        _stop(str(error) if isinstance(error, ValueError | ImportError) else explained(error), WRONG_USE)
    except Exception as error:
        _stop(f"crashed: {type(error).__name__}: {error}")


def _console() -> Any:
    from rich.console import Console

    console = Console()
    return console if console.is_terminal or "COLUMNS" in os.environ else Console(width=PLAIN_WIDTH)


def _tell(console: Any, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _update(readme: Path, results: list[Any]) -> None:
    from jaxkit.port.readme import update

    try:
        update(readme, results)
    except (ValueError, OSError) as error:
        _stop(str(error))


def _see_current_folder() -> None:
    """Let a port import the user's own modules from the current folder, as `python -m` would."""
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))


def _stop(message: str, code: int = COULD_NOT_RUN) -> NoReturn:
    typer.echo(f"jaxkit: {message}", err=True)
    raise typer.Exit(code)


if __name__ == "__main__":
    app()
