"""The command line, as a user meets it: what it prints, writes and ends with."""

import json
import sys
import textwrap
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

from jaxkit.cli import app

PORT = """
import jax
import numpy as np

from jaxkit.port import Case, Exact, Limits, Port


def slow(x):
    return np.array([value * 2 + 1 for value in x], np.float32)


@jax.jit
def fast(x):
    return x * 2 + {added}


def inputs(size, request):
    return (np.arange(size, dtype=np.float32) + request.seed,)


def cases(request):
    return [Case("counting", inputs(8, request))]


PORT = Port(
    name="{name}",
    claim="Twice plus one.",
    reference=slow,
    rewrite=fast,
    cases=cases,
    agreement=(Exact(),),
    inputs=inputs,
    sizes=(64,),
    limits=Limits({limits}),
)
"""


def write_port(folder, name, *, added="1", limits=""):
    (folder / name).mkdir(parents=True)
    (folder / name / "port.py").write_text(PORT.format(name=name, added=added, limits=limits))
    return folder / name


@pytest.fixture
def jaxkit(tmp_path, monkeypatch):
    """Runs `jaxkit ARGUMENTS` in an empty folder and returns what came of it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


def records(folder):
    return {record["port"]: record for record in map(json.loads, (f.read_text() for f in folder.glob("*.json")))}


def test_a_good_port_ends_with_0_a_table_and_a_report(jaxkit, tmp_path):
    write_port(tmp_path, "twice")
    run = jaxkit("prove", "twice", "--quick")
    assert run.exit_code == 0, run.output
    assert run.output.index("twice: compiling") < run.output.index("twice: measuring")
    assert "×" in run.output and "passed" in run.output and "Report: jaxkit-report/index.html" in run.output
    names = sorted(file.suffix for file in (tmp_path / "jaxkit-report").iterdir())
    assert names == [".html", ".json", ".xml"]
    assert records(tmp_path / "jaxkit-report")["twice"]["path"] == "twice"


def test_wrong_results_end_with_1_and_no_speedup(jaxkit, tmp_path):
    write_port(tmp_path, "wrong", added="2")
    run = jaxkit("prove", "wrong", "--quick", "--report", "out")
    assert run.exit_code == 1
    assert "parity failed" in run.output and "×" not in run.output
    assert records(tmp_path / "out")["wrong"]["measurement"] is None
    assert ElementTree.parse(tmp_path / "out" / "junit.xml").find(".//failure") is not None


def test_limits_end_with_2_and_slowness_with_3(jaxkit, tmp_path):
    write_port(tmp_path, "dear", limits="compile_seconds=0.0")
    write_port(tmp_path, "dull", limits="speedup=1e9")
    assert jaxkit("prove", "dear", "--quick").exit_code == 2
    assert jaxkit("prove", "dull", "--quick").exit_code == 3
    run = jaxkit("prove", ".", "--quick")
    assert run.exit_code == 2 and "dear" in run.output and "dull" in run.output


def test_a_broken_port_ends_with_4_and_does_not_stop_the_rest(jaxkit, tmp_path):
    write_port(tmp_path, "ill")
    (tmp_path / "ill" / "port.py").write_text("import no_such_module\n")
    write_port(tmp_path, "well")
    run = jaxkit("prove", "ill", "well", "nowhere", "--quick")
    assert run.exit_code == 4
    found = records(tmp_path / "jaxkit-report")
    assert {name: record["verdict"] for name, record in found.items()} == {
        "ill": "broken",
        "well": "passed",
        "nowhere": "broken",
    }
    assert "no_such_module" in found["ill"]["error"] and "Traceback" not in run.output
    assert "does not exist" in found["nowhere"]["error"]


def test_only_chooses_by_name(jaxkit, tmp_path):
    write_port(tmp_path, "one")
    write_port(tmp_path, "two")
    run = jaxkit("prove", ".", "--quick", "--only", "two")
    assert run.exit_code == 0 and list(records(tmp_path / "jaxkit-report")) == ["two"]
    run = jaxkit("prove", ".", "--only", "three")
    assert run.exit_code == 4 and "no port is called three" in run.output


def test_seed_and_input_reach_the_port(jaxkit, tmp_path):
    port = write_port(tmp_path, "asked") / "port.py"
    port.write_text(
        port.read_text().replace(
            '[Case("counting"', 'print("asked:", request.input, request.seed, request.quick) or [Case("counting"'
        )
    )
    (tmp_path / "data").mkdir()
    run = jaxkit("prove", "asked", "--quick", "--seed", 7, "--input", "data")
    assert "asked: data 7 True" in run.output
    missing = jaxkit("prove", "asked", "--input", "missing")
    assert missing.exit_code == 4 and "missing is not a folder" in missing.output


def test_readme_table_is_written(jaxkit, tmp_path):
    write_port(tmp_path, "twice")
    (tmp_path / "README.md").write_text("<!-- ports:begin -->\n<!-- ports:end -->\n")
    assert jaxkit("prove", "twice", "--quick", "--readme", "README.md").exit_code == 0
    assert "| [twice](twice) | proved |" in (tmp_path / "README.md").read_text()
    assert jaxkit("prove", "twice", "--quick", "--readme", "twice/port.py").exit_code == 4


def test_diff_of_two_runs(jaxkit, tmp_path):
    write_port(tmp_path, "twice")
    jaxkit("prove", "twice", "--quick", "--report", "a")
    (before,) = (tmp_path / "a").glob("*.json")
    worse = json.loads(before.read_text())
    worse["parity"][0]["passed"] = False
    (tmp_path / "worse.json").write_text(json.dumps(worse))
    assert jaxkit("diff", before, before).exit_code == 0
    run = jaxkit("diff", before, "worse.json")
    assert run.exit_code == 1 and "worse: parity: exact" in run.output
    assert jaxkit("diff", before, "missing.json").exit_code == 4


def test_new_then_prove_says_what_is_to_be_written(jaxkit, tmp_path):
    (tmp_path / "cli_project.py").write_text(
        textwrap.dedent("""
            import numpy as np


            def smooth(signal):
                out = np.zeros_like(signal)
                for i in range(1, len(signal) - 1):
                    out[i] = signal[i - 1 : i + 2].mean()
                return out
        """)
    )
    made = jaxkit("new", "cli_project:smooth")
    assert made.exit_code == 0, made.output
    assert "cli_project.py:7  for i in range(1, len(signal) - 1):" in made.output and "Instead:" in made.output
    run = jaxkit("prove", "ports", "--quick")
    assert run.exit_code == 4 and "Traceback" not in run.output
    assert "fast.smooth is not written yet" in " ".join(run.output.split())
    fast = tmp_path / "ports" / "smooth" / "fast.py"
    fast.write_text(
        "import jax\nimport jax.numpy as jnp\n\n\n@jax.jit\ndef smooth(signal):\n"
        "    inner = (signal[:-2] + signal[1:-1] + signal[2:]) / 3\n    return jnp.pad(inner, 1)\n"
    )
    run = jaxkit("prove", "ports", "--quick")
    assert run.exit_code == 0, run.output


def test_new_names_what_it_cannot_find(jaxkit):
    run = jaxkit("new", "json:nothing_like_it")
    assert run.exit_code == 4 and "there is no function 'nothing_like_it'" in run.output


def test_doctor_shows_versions_and_remedies(jaxkit):
    run = jaxkit("doctor")
    assert run.exit_code == 0
    for part in ("jax:", "backend: ", "jax_enable_x64", "start method", "XLA_PYTHON_CLIENT_PREALLOCATE"):
        assert part in run.output
    assert run.output.count("Warning:") == run.output.count("Remedy:")


@pytest.fixture
def balls(tmp_path):
    """A cloud file of two balls, and the same with a row that is none."""
    center, radius = np.array([[0.0, 0, 0], [1, 0, 0], [9, 0, 0]]), np.array([1.0, 1.0, -1.0])
    np.savez(tmp_path / "balls.npz", center=center[:2], radius=radius[:2])
    np.savez(tmp_path / "bad.npz", center=center, radius=radius)


def test_sample_writes_points_and_tells_what_it_found(jaxkit, tmp_path, balls):
    run = jaxkit("sample", "balls.npz", "--count", 300, "--out", "points.npy", "--seed", 3, "--plot", "points.png")
    assert run.exit_code == 0, run.output
    points = np.load(tmp_path / "points.npy")
    assert points.shape == (300, 3)
    assert (np.minimum(np.linalg.norm(points, axis=1), np.linalg.norm(points - (1, 0, 0), axis=1)) <= 1 + 1e-6).all()
    assert (tmp_path / "points.png").read_bytes().startswith(b"\x89PNG")
    told = run.output
    assert told.index("balls.npz: reading") < told.index("balls.npz: writing") and told.count("balls.npz: ") >= 3
    for name in (
        "ellipsoids",
        "volume",
        "mean cover",
        "method",
        "acceptance",
        "seconds",
        "Wrote points.npy and points.png",
    ):
        assert name in told


def test_sample_names_bad_rows_and_leaves_them_out_if_asked(jaxkit, balls):
    run = jaxkit("sample", "bad.npz", "--count", 30, "--out", "points.csv")
    assert run.exit_code == 4 and "1 non-positive axis (first in row 2)" in run.output
    assert "--on-invalid drop" in run.output and "Traceback" not in run.output
    run = jaxkit("sample", "bad.npz", "--count", 30, "--out", "points.csv", "--on-invalid", "drop")
    assert run.exit_code == 0, run.output
    assert "1 (row 2)" in run.output


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("missing.npz", "--count", 9, "--out", "p.npy"), "missing.npz: no such file"),
        (("balls.npz", "--count", 9, "--out", "p.txt"), "must end in .npy"),
        (("balls.npz", "--out", "p.npy"), "either a count of points or a radius"),
        (("balls.npz", "--count", -9, "--out", "p.npy"), "count must be"),
        (("balls.npz", "--count", 9, "--out", "p.npy", "--memory", "lots"), "4GB"),
        (("balls.npz", "--count", 9, "--out", "p.npy", "--memory", "9B"), "budget"),
        (("balls.npz", "--count", 9, "--out", "p.npy", "--method", "magic"), "method must be one of"),
        (("balls.npz", "--count", 9, "--out", "away/p.npy"), "is not a folder"),
    ],
)
def test_sample_says_in_one_sentence_why_it_cannot(jaxkit, balls, words, told):
    run = jaxkit("sample", *words)
    assert run.exit_code == 4 and told in run.output, run.output
    assert "Traceback" not in run.output and run.output.strip().splitlines()[-1].startswith("jaxkit: ")


def test_help_names_all_commands(jaxkit):
    output = jaxkit("--help").output
    assert all(command in output for command in ("prove", "new", "doctor", "diff", "sample"))
