"""What a reader may rely on in every public name, checked by introspection."""

import functools
import importlib
import inspect
import math
import pkgutil
import re

import pytest

import jaxkit
from jaxkit import (
    Op,
    audio,
    batch,
    chain,
    compress,
    export,
    image,
    maybe,
    nn,
    noise,
    ocr,
    one_of,
    sampling,
    stateless,
    warp,
)
from tests.audio import catalogue as sounds
from tests.catalogue import ALL, CATALOGUE

ROOMS = (jaxkit, warp, image, ocr, audio, sampling, nn, compress, export)
MAKERS = ("geometric", "pointwise")
NAMES_OF_KEYS = {"rng", "rng_key", "prng", "prng_key", "random_key", "subkey"}
# `maybe(op, p)` reads as a sentence, a shape comes where `jax.random` has it, and labels come beside their batches.
BY_PLACE = {("op.maybe", "p"), ("ranges.draw_uniform", "shape"), ("compress.report.report", "labels")}
NAN = math.nan


def _modules():
    found = [jaxkit, noise]
    for room in (warp, image, ocr, audio, sampling, nn, compress, export):
        names = (info.name for info in pkgutil.iter_modules(room.__path__, room.__name__ + "."))
        found += [room, *map(importlib.import_module, names)]
    names = ("op", "gate", "batch", "records", "ranges", "boundary")
    return found + [importlib.import_module(f"jaxkit.{name}") for name in names]


def _public_functions():
    """Functions and classes without an underscore, where they are defined."""
    found = {}
    for module in _modules():
        for name, value in vars(module).items():
            at_home = getattr(value, "__module__", None) == module.__name__
            if at_home and not name.startswith("_") and (inspect.isfunction(value) or inspect.isclass(value)):
                found[f"{module.__name__.removeprefix('jaxkit.')}.{name}"] = value
    return found


PUBLIC = _public_functions()
FUNCTIONS = {name: value for name, value in PUBLIC.items() if inspect.isfunction(value)}
FACTORIES = {
    f"{room.__name__.removeprefix('jaxkit.')}.{name}": getattr(room, name)
    for room in (warp, image, ocr, audio)
    for name in room.__all__
    if inspect.isfunction(getattr(room, name))
    and inspect.signature(getattr(room, name)).return_annotation in (Op, "Op")
    and name not in MAKERS
}


def named(table):
    """Parametrises over a table of names and values."""
    return pytest.mark.parametrize("name, value", table.items(), ids=list(table))


def test_the_walk_finds_the_house():
    assert {"warp.affine.rotate", "image.tone.gamma", "ocr.ink.stroke_width", "op.chain"} <= set(FUNCTIONS)
    assert {"warp.rotate", "warp.fuse", "image.tone", "ocr.curve"} <= set(FACTORIES)


@named(FACTORIES)
def test_every_op_is_in_the_catalogue(name, value):
    listed = {entry.recipe.func for entry in CATALOGUE + sounds.CATALOGUE}
    assert value in listed, f"add a line for {name} to tests/catalogue.py or tests/audio/catalogue.py"


@named(FACTORIES)
def test_every_factory_has_sensible_defaults(name, value):
    parameters = inspect.signature(value).parameters.values()
    assert all(parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL) for parameter in parameters)
    members = (warp.rotate(),) if name == "warp.fuse" else (image.gamma(),) if name == "image.tone" else ()
    made = value(*members, **({"bank": sounds.noises()} if "bank" in inspect.signature(value).parameters else {}))
    assert isinstance(made, Op)
    assert made.name == name.rpartition(".")[2]


@pytest.mark.parametrize("entry", [*ALL, *sounds.OPS], ids=[entry.name for entry in [*ALL, *sounds.OPS]])
def test_ops_have_the_one_shape(entry):
    op = entry.recipe()
    assert list(inspect.signature(op.draw).parameters) == ["key", "spec"]
    assert len(inspect.signature(op.apply).parameters) == 2
    assert isinstance(op.name, str) and op.name
    assert type(op.neutral) is bool


@named(FUNCTIONS)
def test_keys_come_first_and_are_called_key(name, value):
    parameters = list(inspect.signature(value).parameters)
    assert not NAMES_OF_KEYS & set(parameters)
    assert "key" not in parameters[1:]


@named(FUNCTIONS)
def test_optional_arguments_are_keyword_only(name, value):
    for parameter in inspect.signature(value).parameters.values():
        optional = parameter.default is not parameter.empty and (name, parameter.name) not in BY_PLACE
        assert not optional or parameter.kind is parameter.KEYWORD_ONLY, f"{name}({parameter})"


@named(FUNCTIONS)
def test_public_functions_are_annotated(name, value):
    signature = inspect.signature(value)
    assert signature.return_annotation is not signature.empty
    bare = [p.name for p in signature.parameters.values() if p.annotation is p.empty]
    assert not bare


@named(PUBLIC)
def test_public_names_have_docstrings(name, value):
    documented = inspect.getdoc(value)
    assert documented and documented[0].isupper() or documented.startswith("`"), f"{name} needs a docstring"
    if inspect.isclass(value):
        methods = [m for n, m in vars(value).items() if inspect.isfunction(m) and not n.startswith("_")]
        protocols = (warp.Stage, *[v for v in PUBLIC.values() if hasattr(v, "pull")])
        assert value in protocols or all(inspect.getdoc(method) for method in methods)


@named(FUNCTIONS)
def test_functions_that_raise_say_so(name, value):
    raises = set(re.findall(r"raise (\w+)\(", inspect.getsource(value)))
    assert all(kind in (inspect.getdoc(value) or "") for kind in raises)
    checks = re.search(r"= (interval|probability|size_pair|one_of_names)\(", inspect.getsource(value))
    assert not checks or re.search(r"Raises:\n\s+ValueError", inspect.getdoc(value))


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.__name__)
def test_rooms_say_what_they_are_for_and_list_their_names(room):
    assert room.__doc__
    assert room.__all__ == sorted(room.__all__, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    imported = {n for n, v in vars(room).items() if not n.startswith("_") and not inspect.ismodule(v)}
    listed = {name for name in room.__all__ if not inspect.ismodule(getattr(room, name))}
    assert imported == listed


WRONG = (
    (warp.rotate, {"degrees": (5, -5)}, "(5, -5)"),
    (warp.rotate, {"degrees": 5}, "5"),
    (warp.rotate, {"degrees": (NAN, 1)}, "nan"),
    (warp.rotate, {"degrees": (0, math.inf)}, "inf"),
    (warp.rotate, {"degrees": (1, 2, 3)}, "(1, 2, 3)"),
    (warp.rotate, {"degrees": "ab"}, "'ab'"),
    (warp.rotate, {"degrees": None}, "None"),
    (warp.scale, {"factor": (0.0, 1.0)}, "(0.0, 1.0)"),
    (warp.scale, {"factor": (-1, 1)}, "(-1, 1)"),
    (warp.shear, {"degrees": (0, 90)}, "(0, 90)"),
    (warp.translate, {"fraction": (-2, 0)}, "(-2, 0)"),
    (warp.flip, {"horizontal": 1.5}, "1.5"),
    (warp.flip, {"vertical": -0.1}, "-0.1"),
    (warp.flip, {"horizontal": NAN}, "nan"),
    (warp.flip, {"horizontal": True}, "True"),
    (warp.quarter_turn, {"turns": 0.5}, "0.5"),
    (warp.quarter_turn, {"turns": True}, "True"),
    (warp.perspective, {"strength": (0.0, 0.6)}, "0.6"),
    (warp.perspective, {"strength": (-0.1, 0.1)}, "-0.1"),
    (warp.elastic, {"pixels": (-1, 1)}, "(-1, 1)"),
    (warp.elastic, {"grid": (3, 8)}, "(3, 8)"),
    (warp.elastic, {"grid": 8}, "8"),
    (warp.random_crop, {"size": 32}, "32"),
    (warp.random_crop, {"size": (0, 8)}, "(0, 8)"),
    (warp.random_crop, {"size": (8.0, 8)}, "(8.0, 8)"),
    (warp.center_crop, {"size": (8, 8, 3)}, "(8, 8, 3)"),
    (warp.pad_to, {"size": (-8, 8)}, "(-8, 8)"),
    (warp.pad_to, {"fill": NAN}, "nan"),
    (warp.pad_to, {"fill": (1, 2, 3)}, "(1, 2, 3)"),
    (warp.resize, {"size": (8, True)}, "(8, True)"),
    (image.brightness_contrast, {"brightness": (-2, 0)}, "(-2, 0)"),
    (image.brightness_contrast, {"contrast": (-0.1, 1)}, "-0.1"),
    (image.gamma, {"exponent": (0, 1)}, "(0, 1)"),
    (image.invert, {"p": 2}, "2"),
    (image.grayscale, {"p": "often"}, "often"),
    (image.gaussian_blur, {"sigma": (-1, 1)}, "(-1, 1)"),
    (image.gaussian_blur, {"sigma": 1.5}, "1.5"),
    (image.gaussian_noise, {"std": (0, 12.75)}, "12.75"),
    (ocr.stroke_width, {"polarity": "black"}, "black"),
    (ocr.stroke_width, {"pixels": (1, -1)}, "(1, -1)"),
    (ocr.curve, {"kind": "circle"}, "circle"),
    (ocr.curve, {"kind": ["arc"]}, "arc"),
    (ocr.curve, {"height": (-3, 3)}, "(-3, 3)"),
    (ocr.curve, {"periods": (-1, 1)}, "(-1, 1)"),
    (functools.partial(maybe, warp.rotate()), {"p": 1.5}, "1.5"),
    (functools.partial(maybe, warp.rotate()), {"p": NAN}, "nan"),
    (functools.partial(maybe, warp.rotate()), {"p": "half"}, "half"),
    (functools.partial(maybe, warp.rotate), {}, "rotate(), not rotate"),
    (functools.partial(chain, warp.rotate), {}, "rotate(), not rotate"),
    (functools.partial(chain, warp.rotate(), 3), {}, "argument 1 is 3"),
    (chain, {}, "at least one"),
    (one_of, {}, "at least one"),
    (functools.partial(one_of, warp.rotate), {}, "rotate(), not rotate"),
    (functools.partial(one_of, warp.rotate(), warp.flip()), {"weights": (1,)}, "[1]"),
    (functools.partial(one_of, warp.rotate(), warp.flip()), {"weights": (1, -1)}, "[1, -1]"),
    (functools.partial(one_of, warp.rotate(), warp.flip()), {"weights": (0, 0)}, "[0, 0]"),
    (functools.partial(one_of, warp.rotate(), warp.flip()), {"weights": (NAN, 1)}, "nan"),
    (functools.partial(stateless, 3), {}, "3"),
    (warp.fuse, {}, "at least one"),
    (functools.partial(warp.fuse, warp.rotate), {}, "rotate(), not rotate"),
    (functools.partial(warp.fuse, image.gamma()), {}, "gamma"),
    (functools.partial(warp.fuse, maybe(warp.quarter_turn())), {}, "quarter_turn"),
    (functools.partial(warp.fuse, warp.resize()), {}, "resize"),
    (functools.partial(warp.fuse, warp.rotate()), {"border": "mirror"}, "mirror"),
    (functools.partial(warp.fuse, warp.rotate()), {"fill": NAN}, "nan"),
    (functools.partial(warp.fuse, warp.fuse(warp.rotate(), border="edge")), {"border": "wrap"}, "wrap"),
    (functools.partial(warp.fuse, warp.pad_to(fill=255)), {"fill": 0}, "255"),
    (image.tone, {}, "at least one"),
    (functools.partial(image.tone, image.gamma), {}, "gamma"),
    (functools.partial(image.tone, image.gaussian_blur()), {}, "gaussian_blur"),
    (functools.partial(batch, warp.rotate), {}, "rotate(), not rotate"),
    (functools.partial(batch, lambda key, sample: sample), {}, "stateless"),
)


def _label(case):
    maker, settings, _ = case
    members = getattr(maker, "args", ())
    shown = [getattr(member, "name", None) or getattr(member, "__name__", repr(member)) for member in members]
    return f"{getattr(maker, 'func', maker).__name__}({', '.join(shown + [f'{k}={v}' for k, v in settings.items()])})"


@pytest.mark.parametrize("maker, settings, shown", WRONG, ids=[_label(case) for case in WRONG])
def test_wrong_recipes_raise_when_built(maker, settings, shown):
    with pytest.raises(ValueError) as raised:
        maker(**settings)
    assert shown in str(raised.value)


@pytest.mark.parametrize("maker", [warp.rotate, warp.pad_to, image.gamma, ocr.curve], ids=lambda maker: maker.__name__)
def test_settings_go_by_name_only(maker):
    with pytest.raises(TypeError):
        maker((0.0, 1.0))
