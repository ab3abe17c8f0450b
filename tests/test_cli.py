"""The command line, as a user meets it: what it prints, writes and ends with."""

import json
import sys
import textwrap
import xml.etree.ElementTree as ElementTree

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


def test_help_names_all_commands(jaxkit):
    output = jaxkit("--help").output
    assert all(command in output for command in ("prove", "new", "doctor", "diff"))
