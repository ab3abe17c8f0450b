"""The port of text-line augmentation: its pictures, its input, and the way from a DataLoader."""

import dataclasses
from pathlib import Path

import cv2
import jax
import numpy as np
import pytest
from PIL import Image

from jaxkit import Sample
from jaxkit.interop import stack
from jaxkit.port import Case, Levels, Request

FOLDER = Path(__file__).parents[2] / "ports" / "ocr_lines"
QUICK = Request(quick=True)


@pytest.fixture(scope="module")
def short_lines(module):
    """Two lines of differing extent, narrow because the slow program reads them pixel by pixel."""
    first, second = (line.image for line in module("render").rendered(2, seed=5))
    return [first[:, 20:140], second[:50, 30:110]]


@pytest.fixture(scope="module")
def short_cases(short_lines):
    noise = np.random.default_rng(0).integers(0, 256, (64, 40, 3), dtype=np.uint8)
    edges = [noise, noise[:1], noise[:, :1]]
    lines = stack([*short_lines, *edges], size=(64, 128), fill=0)
    return lambda request: [Case("short", (jax.random.key(3), np.arange(5), lines))]


def test_both_sides_make_the_same_pictures_from_the_same_draws(port, short_cases):
    for agreement in (one for one in port.agreement if one.name in ("close", "levels")):
        verdict = dataclasses.replace(agreement, cases=short_cases).check(port, QUICK)
        assert verdict.passed, verdict.message


def test_a_single_pixel_is_a_picture(module):
    pixels = stack([np.full((1, 1, 3), level, np.uint8) for level in (0, 90, 255)], size=(64, 128))
    batch = (jax.random.key(5), np.arange(3), pixels)
    sides = zip(module("injected").by_line(exact=False)(*batch), module("injected").by_batch(*batch), strict=True)
    assert max(abs(slow.astype(int) - fast).max() for slow, fast in sides) <= 2


@pytest.mark.parametrize("field", ["degrees", "corners", "grid", "stroke", "sigma", "brightness", "contrast", "std"])
def test_a_wrong_choice_is_noticed(port, module, short_cases, field, monkeypatch):
    injected, translate = module("injected"), module("injected").translate
    change = (lambda value: 2 - value) if field == "contrast" else (lambda value: -value)
    change = (lambda value: value + 0.5) if field == "sigma" else change

    def wrong(params):
        return [draw._replace(**{field: change(getattr(draw, field))}) for draw in translate(params)]

    monkeypatch.setattr(injected, "translate", wrong)
    levels = next(agreement for agreement in port.agreement if isinstance(agreement, Levels))
    assert not dataclasses.replace(levels, cases=short_cases).check(port, QUICK).passed


def test_own_draws_have_equal_distributions(port):
    for agreement in port.agreement:
        if agreement.name in ("same draws", "same noise"):
            verdict = agreement.check(port, QUICK)
            assert verdict.passed, verdict.message


def test_the_slow_geometry_is_that_of_opencv(module, short_lines):
    slow, image = module("slow"), short_lines[0]
    height, width = image.shape[:2]
    still, flat = np.zeros((4, 2)), np.zeros((4, 16, 2))
    white = {"borderMode": cv2.BORDER_CONSTANT, "borderValue": (255, 255, 255)}

    turn = cv2.getRotationMatrix2D(((width - 1) / 2, (height - 1) / 2), 4.0, 1.0)
    expected = cv2.warpAffine(image.astype(np.float32), turn, (width, height), **white)
    np.testing.assert_allclose(slow.warp(image, 4.0, still, flat), expected, atol=0.05)

    moves = np.array([[0.02, 0.1], [-0.03, 0.05], [0.01, -0.04], [0.04, 0.0]])
    right, bottom = width - 1, height - 1
    corners = np.float32([[0, 0], [right, 0], [right, bottom], [0, bottom]])
    tilt = cv2.getPerspectiveTransform(corners, np.float32(corners + moves * (width, height)))
    expected = cv2.warpPerspective(image.astype(np.float32), tilt, (width, height), **white)
    np.testing.assert_allclose(slow.warp(image, 0.0, moves, flat), expected, atol=0.05)


def test_slow_strokes_and_blur_are_those_of_opencv(module, short_lines):
    slow, image = module("slow"), short_lines[0]
    window = np.ones((3, 3), np.uint8)
    np.testing.assert_array_equal(slow.change_stroke(image, 2.0), cv2.erode(image, window, iterations=2))
    np.testing.assert_array_equal(slow.change_stroke(image, -1.0), cv2.dilate(image, window))
    size = len(slow.gaussian(0.9))
    expected = cv2.GaussianBlur(image.astype(np.float64), (size, size), 0.9, borderType=cv2.BORDER_REFLECT_101)
    np.testing.assert_allclose(slow.blur_across(slow.blur_down(image, 0.9), 0.9), expected, atol=1e-6)


def test_the_slow_bend_is_a_cubic_spline(module):
    slow = module("slow")
    rows, columns = np.meshgrid(np.arange(4.0), np.arange(16.0), indexing="ij")
    plane = np.stack([2 + 0.5 * columns, 1 - 0.25 * rows], -1)  # splines reproduce planes
    for x, y in ((0, 0), (17, 3), (99, 63)):
        along, down = 1 + (x + 0.5) / 100 * 13, 1 + (y + 0.5) / 64 * 1
        expected = (2 + 0.5 * along, 1 - 0.25 * down)
        np.testing.assert_allclose(slow.displacement(plane, x, y, 64, 100), expected, atol=1e-12)


@pytest.mark.parametrize("name", ["vectorised", "opencv"])
def test_alternatives_make_the_pictures_of_the_slow_program(module, short_lines, name):
    slow = module("slow")
    draw = slow.draw(np.random.default_rng(8))._replace(std=0.0)
    for image in short_lines:
        gap = module(name).apply(draw, image).astype(int) - slow.apply(draw, image)
        assert abs(gap).max() <= 3 and abs(gap).mean() < 0.3  # the slow program rounds between the passes of its blur


def test_noise_of_the_alternatives_has_the_drawn_strength(module):
    slow, grey = module("slow"), np.full((64, 200, 3), 128, np.uint8)
    still = slow.Draw(0.0, np.zeros((4, 2)), np.zeros((4, 16, 2)), 0.0, 0.0, 0.0, 1.0, 0.04, 11)
    for name in ("slow", "vectorised", "opencv"):
        made = module(name).apply(still, grey).astype(float)
        assert abs(made.mean() - 128) < 0.3 and abs(made.std() - 0.04 * 255) < 0.2


def picture() -> np.ndarray:
    """`[64, 90, 3]`: ramps that tell channels, rows and columns apart."""
    y, x = np.mgrid[:64, :90]
    return np.stack([x * 2, y * 3, 255 - x], -1).astype(np.uint8)


def write_formats(folder: Path) -> dict[str, np.ndarray]:
    """Writes one picture in many forms; returns what each must be read as."""
    rgb = picture()
    grey, alpha = rgb[..., 0], np.broadcast_to(np.arange(90, dtype=np.uint8)[None] * 2, (64, 90))
    as_grey = np.repeat(grey[..., None], 3, -1)
    over_white = np.rint(255 + (rgb.astype(float) - 255) * alpha[..., None] / 255).astype(np.uint8)
    palette = Image.fromarray(grey).convert("P")
    palette.putpalette(np.stack([np.arange(256)] * 3, 1).astype(np.uint8).tobytes())
    (folder / "deeper").mkdir()
    files = {
        "rgb.png": (Image.fromarray(rgb), rgb),
        "rgb.tiff": (Image.fromarray(rgb), rgb),
        "rgb.bmp": (Image.fromarray(rgb), rgb),
        "LOUD.PNG": (Image.fromarray(rgb), rgb),
        "deeper/grey.png": (Image.fromarray(grey), as_grey),
        "rgba.png": (Image.fromarray(np.dstack([rgb, alpha])), over_white),
        "palette.png": (palette, as_grey),
        "deep.png": (Image.fromarray(grey.astype(np.uint16) * 257), as_grey),
        "deep.tif": (Image.fromarray(grey.astype(np.uint16) * 257), as_grey),
        "float.tif": (Image.fromarray(grey.astype(np.float32) / 255), as_grey),
        "bits.png": (Image.fromarray(grey > 90), np.where(as_grey > 90, 255, 0)),
    }
    for name, (image, _) in files.items():
        image.save(folder / name)
    return {name: expected for name, (_, expected) in files.items()}


def test_every_format_is_read(module, tmp_path):
    expected = write_formats(tmp_path)
    lines, skipped, count = module("lines").read_folder(tmp_path)
    assert not skipped and count == len(expected)
    assert [line.name for line in lines] == sorted(expected, key=lambda name: Path(name))
    for line in lines:
        assert line.image.dtype == np.uint8
        gap = line.image.astype(int) - expected[line.name]
        assert abs(gap).max() <= (1 if line.name == "rgba.png" else 0), line.name


def test_jpeg_and_every_page_of_a_tiff_are_read(module, tmp_path):
    rgb = picture()
    Image.fromarray(rgb).save(tmp_path / "a.jpg", quality=95)
    Image.fromarray(rgb).save(tmp_path / "b.tif", save_all=True, append_images=[Image.fromarray(255 - rgb)])
    lines = module("lines").read_folder(tmp_path).lines
    assert [line.name for line in lines] == ["a.jpg", "b.tif#1", "b.tif#2"]
    assert abs(lines[0].image.astype(int) - rgb).mean() < 4
    np.testing.assert_array_equal(lines[2].image, 255 - rgb)


def test_broken_files_are_named_with_their_reason_and_the_rest_is_kept(module, tmp_path):
    expected = write_formats(tmp_path)
    whole = (tmp_path / "rgb.png").read_bytes()
    Image.fromarray(np.full((4, 4), 1e6, np.float32)).save(tmp_path / "scale.tif")
    (tmp_path / "cut.png").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty.jpg").write_bytes(b"")
    (tmp_path / "text.png").write_text("not an image")
    (tmp_path / "gone.png").symlink_to(tmp_path / "nowhere.png")
    (tmp_path / "notes.txt").write_text("no image, and not asked for")
    lines, skipped, _ = module("lines").read_folder(tmp_path)
    assert {line.name for line in lines} == set(expected)
    assert [item.name for item in skipped] == ["cut.png", "empty.jpg", "gone.png", "scale.tif", "text.png"]
    reasons = dict(skipped)
    assert "truncated" in reasons["cut.png"]
    assert "empty" in reasons["empty.jpg"]
    assert "no known scale" in reasons["scale.tif"]
    assert "cannot identify" in reasons["text.png"]
    assert not any(str(tmp_path) in reason for reason in reasons.values())


def test_a_folder_without_lines_is_an_error_that_names_the_files(module, tmp_path):
    with pytest.raises(ValueError, match="no image files"):
        module("lines").read_folder(tmp_path)
    (tmp_path / "a.png").write_bytes(b"")
    with pytest.raises(ValueError, match="a.png: the file is empty"):
        module("lines").read_folder(tmp_path)
    with pytest.raises(NotADirectoryError, match="--input"):
        module("lines").read_folder(tmp_path / "a.png")


def test_a_large_folder_is_read_to_its_end_but_not_kept(module, tmp_path):
    for number in range(5):
        Image.new("L", (80, 64), 40 * number).save(tmp_path / f"{number}.png")
    (tmp_path / "9.png").write_bytes(b"")
    lines, skipped, count = module("lines").read_folder(tmp_path, keep=2)
    assert [line.name for line in lines] == ["0.png", "1.png"]
    assert count == 5 and [item.name for item in skipped] == ["9.png"]


@pytest.mark.parametrize(("size", "scaled"), [((32, 100), (64, 200)), ((128, 90), (64, 45)), ((10, 2000), (20, 4096))])
def test_lines_keep_their_proportions(module, tmp_path, size, scaled):
    Image.new("L", size[::-1], 120).save(tmp_path / "a.png")
    (line,) = module("lines").read_folder(tmp_path).lines
    assert line.image.shape == (*scaled, 3) and (line.image == 120).all()


def test_a_folder_becomes_cases_pictures_and_a_table(port, module, tmp_path, monkeypatch):
    Image.fromarray(picture()[:, :40]).save(tmp_path / "narrow.png")
    Image.new("RGB", (1000, 64), "white").save(tmp_path / "wide.png")
    (tmp_path / "empty.png").write_bytes(b"")
    monkeypatch.setattr(module("training"), "find_spec", lambda name: None)
    request = Request(input=tmp_path, quick=True)
    widths = [case.inputs[2].image.shape[2] for case in port.cases(request)]
    assert widths == [512, 1000, 512]
    read, training = port.tables(request)
    assert ("empty.png", "skipped: the file is empty") in read.rows
    assert "pip install" in training.rows[0][0]


def test_the_scanned_page_gives_real_lines(module):
    lines = module("page").page_lines()
    assert {line.name.split(" at ")[0] for line in lines} == {f"page line {number}" for number in range(1, 8)}
    assert all(line.image.shape[0] <= 64 and 60 < line.image.shape[1] <= 512 for line in lines)
    assert all(line.image.min() < 100 < line.image.max() for line in lines)


def test_generated_lines_repeat_by_seed_and_know_their_text(module):
    render, reader = module("render"), module("reader")
    lines, again, other = (render.rendered(4, seed=seed) for seed in (1, 1, 2))
    for a, b, c in zip(lines, again, other, strict=True):
        np.testing.assert_array_equal(a.image, b.image)
        assert a.text == b.text and a.image.shape[0] == 64 and 40 < a.image.shape[1] <= 512
        assert a.text != c.text
        codes = reader.encode(a.text)
        assert "".join(reader.ALPHABET[code] for code in codes if code) == a.text


def test_a_dataloader_batch_is_augmented_like_arrays(module):
    training, augment = module("training"), module("fast").AUGMENT
    data = training.rendered_lines(32, seed=0)
    batch = next(training.batches(data, 1, seed=4))
    ids = batch["id"].numpy()
    assert sorted(ids.tolist()) == list(range(32)) and ids.tolist() != list(range(32))
    images = training.by_batch(7)(batch)
    key = jax.random.fold_in(jax.random.key(7), 0)
    expected = augment(key, ids, Sample(data.images[ids], valid=data.valid[ids])).image
    np.testing.assert_array_equal(images, expected)


def test_training_on_augmented_lines_learns(module):
    training = module("training")
    data = training.rendered_lines(32, seed=0)
    run = training.train(data, training.by_batch(0), steps=6, scale=1)
    assert len(run.losses) == 6 and np.isfinite(run.losses).all()
    assert np.mean(run.losses[-2:]) < 0.8 * run.losses[0]
    assert 0 < run.share < 1


def test_the_reader_ignores_padding(module):
    reader = module("reader")
    data = module("training").rendered_lines(2, seed=0)
    garbage = data.images.copy()
    for image, (height, width) in zip(garbage, data.valid, strict=True):
        image[height:] = 90
        image[:, width:] = 90
    np.testing.assert_array_equal(reader.on_white(garbage, data.valid), data.images)
    with pytest.raises(ValueError, match="ä"):
        reader.encode("ä")
