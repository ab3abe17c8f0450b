"""What `jaxkit new` spots in a function, and the port that it writes."""

import ast
import textwrap

import numpy as np
import pytest

from jaxkit.port.declare import Port, Request
from jaxkit.port.load import load
from jaxkit.port.scaffold import TOPICS, advise, examine, scaffold
from jaxkit.port.scaffold.rules import RULES
from jaxkit.port.scaffold.syntax import imported_names

IMPORTS = """
import random
import numpy as np
import torch
import cv2
import torch.nn.functional as F
from scipy import ndimage
from PIL import Image
from numpy.random import default_rng
"""

SPOTTED = [
    ("for i in range(n): y = i", "loop"),
    ("y = [f(v) for v in x]", "loop"),
    ("y = np.vectorize(f)(x)", "loop"),
    ("while n > 1: n = n / 2", "while"),
    ("x[0, 1] = 3", "inplace"),
    ("x[0] += 3", "inplace"),
    ("x += 1", "inplace"),
    ("np.add(x, 1, out=x)", "inplace"),
    ("np.add.at(x, i, 1)", "inplace"),
    ("x.sort()", "inplace"),
    ("y = np.random.normal(0, 1)", "random"),
    ("y = random.random()", "random"),
    ("y = default_rng(0)", "random"),
    ("y = rng.normal(size=3)", "random"),
    ("y = torch.randn(3)", "random"),
    ("global seen", "state"),
    ("x.cache = 3", "state"),
    ("y = x.astype(np.uint8)", "cast"),
    ("y = x.astype('uint8')", "cast"),
    ("y = np.uint8(x)", "cast"),
    ("y = x.to(torch.uint8)", "cast"),
    ("y = x[x > 3]", "shape"),
    ("mask = (x > 3) & (x < 5)\n    y = x[mask]", "shape"),
    ("y = np.where(x > 3)", "shape"),
    ("y = np.unique(x)", "shape"),
    ("y = np.nonzero(x)", "shape"),
    ("y = np.repeat(x, n)", "shape"),
    ("y = np.zeros(n, np.float32)", "argument"),
    ("y = np.std(x)", "ddof"),
    ("y = x.var()", "ddof"),
    ("y = torch.std(x)", "ddof"),
    ("y = x.astype(np.float64)", "float64"),
    ("y = x.astype(float)", "float64"),
    ("y = np.zeros((3, 4))", "float64"),
    ("y = np.array(x, dtype='int64')", "float64"),
    ("y = open('a').read()", "file"),
    ("y = cv2.imread('a.png')", "file"),
    ("y = Image.open('a.png')", "file"),
    ("y = np.load('a.npy')", "file"),
    ("print(x)", "print"),
    ("y = F.relu(x)", "torch"),
    ("y = x.sum().item()", "host"),
    ("y = float(x.sum())", "host"),
    ("y = x.numpy()", "host"),
    ("for v in x: y.append(v)", "append"),
    ("y = np.append(x, 3)", "append"),
    ("try: y = 1\n    except ValueError: y = 2", "except"),
    ("assert x.sum() > 0", "except"),
    ("y = ndimage.gaussian_filter(x, 1)", "library"),
    ("y = cv2.blur(x, (3, 3))", "library"),
    ("y = x[i + 1]", "index"),
    ("y = x[0, i - 1]", "index"),
    ("y = x[n:]", "slice"),
    ("y = x[i - n:i + n, 3]", "slice"),
    ("if x.sum() > 0: y = 1", "branch"),
    ("if x[0] > 0: y = 1", "branch"),
    ("y = 1 if n > 3 else 2", "branch"),
    ("y = work(x, n - 1, i, f, y, rng)", "recursion"),
    ("yield x", "generator"),
]

HARMLESS = [
    ("for c in range(3): y = c", "loop"),
    ("for k in (1, 2, 4): y = k", "loop"),
    ("y = x * 2", "inplace"),
    ("z = {}\n    total = 1\n    total += 1", "inplace"),
    ("y = np.add(x, 1)", "inplace"),
    ("y = x.normal", "random"),
    ("y = x.astype(np.float32)", "cast"),
    ("y = np.where(x > 3, x, 0)", "shape"),
    ("y = x[1:3]", "shape"),
    ("y = np.zeros(x.shape, np.float32)", "argument"),
    ("y = np.zeros((3, 4), np.float32)", "float64"),
    ("y = np.zeros((3, 4), dtype=np.float32)", "float64"),
    ("y = int(x.shape[0])", "host"),
    ("y = float(3)", "host"),
    ("y = []\n    y.append(x)", "append"),
    ("y = x[i]", "index"),
    ("y = x[1:-1]", "slice"),
    ("if x.ndim == 3: y = 1", "branch"),
    ("if y is None: y = 1", "branch"),
    ("if y == 'fast': y = 1", "branch"),
    ("if isinstance(x, list): y = 1", "branch"),
    ("y = np.mean(x)", "library"),
]


def topics_of(body):
    source = f"{IMPORTS}\ndef work(x, n, i, f, y=None, rng=None):\n    {body}\n    return x\n"
    tree = ast.parse(source)
    return [finding.topic for finding in examine(tree.body[-1], imported_names(tree), source)]


@pytest.mark.parametrize(("body", "topic"), SPOTTED)
def test_trouble_is_spotted(body, topic):
    assert topic in topics_of(body)


@pytest.mark.parametrize(("body", "topic"), HARMLESS)
def test_harmless_code_is_left_alone(body, topic):
    assert topic not in topics_of(body)


def test_every_topic_has_a_rule_and_an_example():
    assert list(RULES) == list(TOPICS)
    spotted = {topic for _, topic in SPOTTED}
    assert set(TOPICS) - spotted == {"workers"} and "workers" in topics_of("import joblib\n    joblib.Parallel()(x)")


def test_findings_carry_line_and_code_and_advice_gathers_them():
    source = "import numpy as np\n\n\ndef work(x):\n    x[0] = 1\n    print(x)\n    x[1] = 2\n"
    tree = ast.parse(source)
    findings = examine(tree.body[-1], imported_names(tree), source)
    assert [(f.line, f.code, f.topic) for f in findings] == [
        (5, "x[0] = 1", "inplace"),
        (6, "print(x)", "print"),
        (7, "x[1] = 2", "inplace"),
    ]
    assert [(item.topic.title, [place.line for place in item.places]) for item in advise(findings)] == [
        (TOPICS["inplace"].title, [5, 7]),
        (TOPICS["print"].title, [6]),
    ]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A package with a slow function that uses a constant, a helper, a relative import, and a decorator."""
    package = tmp_path / "scaffold_project"
    package.mkdir()
    (package / "__init__.py").write_text("from .images import despeckle as clean\n")
    (package / "tools.py").write_text("def clamp(v):\n    return max(0, min(255, v))\n")
    (package / "images.py").write_text(
        textwrap.dedent(
            '''
            from __future__ import annotations
            import functools
            import numpy as np
            from .tools import clamp

            LEAST = 40
            UNUSED = 3


            def traced(function):
                @functools.wraps(function)
                def call(*arguments, **settings):
                    return function(*arguments, **settings)
                return call


            def _brightness(image):
                return image.mean()


            @traced
            def despeckle(image, threshold=LEAST, *, gain=1.0, offset):
                """Removes specks."""
                h, w, c = image.shape
                out = np.zeros((h, w, c))
                for y in range(h):
                    for x in range(w):
                        if image[y, x, 0] > threshold:
                            out[y, x] = clamp(image[y, x, 0] * gain + offset + 0 * _brightness(image))
                return out.astype(np.uint8)


            class Cleaner:
                def clean(self, image):
                    return image


            halve = lambda x: x / 2


            def smooth(signal, width: int):
                """A moving mean."""
                return np.convolve(signal, np.ones(width) / width, "same")
            '''
        )
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_scaffold_loads_at_once_and_slow_side_is_the_old_function(project):
    made = scaffold("scaffold_project.images:despeckle")
    assert sorted(file.name for file in made.folder.iterdir()) == ["README.md", "fast.py", "port.py", "slow.py"]
    ((path, port),) = load(made.folder)
    assert path == made.folder.resolve() / "port.py" and isinstance(port, Port)
    (case,) = port.cases(Request())
    from scaffold_project.images import despeckle

    assert case.inputs[0].dtype == np.uint8 and case.inputs[0].ndim == 3
    image, threshold, gain, offset = case.inputs
    wanted = despeckle(image, 40, gain=gain, offset=7)
    np.testing.assert_array_equal(port.reference(image, 40, gain, 7), wanted)
    with pytest.raises(NotImplementedError, match="fast.despeckle is not written yet"):
        port.rewrite(image, threshold, gain, offset)


def test_slow_side_holds_what_it_needs_and_no_more(project):
    text = (scaffold("scaffold_project.images:despeckle").folder / "slow.py").read_text()
    tree = ast.parse(text)
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert names == ["traced", "_brightness", "despeckle"]
    assert "LEAST = 40" in text and "UNUSED" not in text and "Cleaner" not in text
    assert "from scaffold_project.tools import clamp" in text and "@traced" in text


def test_a_floating_function_is_held_against_its_float64_truth(project):
    made = scaffold("scaffold_project/images.py:smooth", project / "elsewhere")
    ((_, port),) = load(project / "elsewhere")
    (agreement,) = port.agreement
    signal, width = port.inputs(1, Request())
    assert made.folder == project / "elsewhere" / "smooth"
    assert signal.dtype == np.float32 and width == 3
    assert agreement.truth(signal, width).dtype == np.float64


def test_other_seeds_give_other_inputs(project):
    scaffold("scaffold_project.images:smooth")
    ((_, port),) = load(project / "ports")
    first, second = (port.cases(Request(seed=seed))[0].inputs[0] for seed in (0, 1))
    assert first.shape == second.shape and not np.array_equal(first, second)


def test_checklist_names_lines_of_the_old_file(project):
    made = scaffold("scaffold_project.images:despeckle")
    text = (made.folder / "README.md").read_text()
    source = (project / "scaffold_project" / "images.py").read_text().splitlines()
    assert {finding.topic for finding in made.findings} >= {"loop", "inplace", "cast", "float64", "branch"}
    for finding in made.findings:
        assert source[finding.line - 1].strip() == finding.code
        assert f"line {finding.line}: `` {finding.code} ``" in text
    assert "wraps in NumPy and saturates in JAX" in text


def test_a_name_is_followed_to_where_it_is_defined(project):
    assert scaffold("scaffold_project:clean").origin.module == "scaffold_project.images"


def test_nothing_is_overwritten(project):
    scaffold("scaffold_project.images:smooth")
    fast = project / "ports" / "smooth" / "fast.py"
    fast.write_text("mine")
    with pytest.raises(ValueError, match="fast.py"):
        scaffold("scaffold_project.images:smooth")
    assert fast.read_text() == "mine"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("scaffold_project.images", "MODULE:FUNCTION"),
        ("scaffold_project.images:", "MODULE:FUNCTION"),
        ("scaffold_project.images:nothing", "it has traced, _brightness, despeckle, smooth"),
        ("scaffold_project.images:Cleaner.clean", "class or method"),
        ("scaffold_project.images:Cleaner", "class or method"),
        ("scaffold_project.images:halve", "halve"),
        ("scaffold_project.missing:f", "no Python source"),
        ("no_such_package.images:f", "no_such_package"),
        ("math:sqrt", "no Python source"),
        ("nowhere.py:f", "nowhere.py"),
    ],
)
def test_wrong_targets_are_named(project, target, message):
    with pytest.raises(ValueError, match=message):
        scaffold(target)
    assert not (project / "ports").exists()
