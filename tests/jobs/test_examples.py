"""Examples from folders: what is done to pictures, what is taken, and what is left out for which reason."""

import numpy as np
import pytest
from PIL import Image

from jaxkit.jobs.examples import Preparation, read_examples, read_labels, read_picture

SHAPE = (4, 6, 3)


def save(path, array):
    path.parent.mkdir(exist_ok=True)
    Image.fromarray(array).save(path)


def test_a_picture_of_the_size_is_only_scaled(tmp_path, rng):
    picture = rng.integers(0, 256, SHAPE, dtype=np.uint8)
    save(tmp_path / "a.png", picture)
    assert np.array_equal(read_picture(tmp_path / "a.png", Preparation(SHAPE)), picture / np.float32(255))
    how = Preparation(SHAPE, (0.5,), (0.25, 0.5, 1.0))
    wanted = (picture / 255 - 0.5) / [0.25, 0.5, 1.0]
    assert np.allclose(read_picture(tmp_path / "a.png", how), wanted, atol=1e-6)
    how = Preparation(SHAPE, preprocess=lambda x: x[::-1] * 2)
    assert np.allclose(read_picture(tmp_path / "a.png", how), picture[::-1] / 255 * 2, atol=1e-6)


def test_a_wide_picture_loses_its_sides(tmp_path):
    picture = np.zeros((4, 16, 3), np.uint8)
    picture[:, 5:11] = (255, 51, 0)
    save(tmp_path / "a.png", picture)
    assert np.array_equal(read_picture(tmp_path / "a.png", Preparation(SHAPE))[0, 0], np.float32([1, 0.2, 0]))
    assert np.ptp(read_picture(tmp_path / "a.png", Preparation(SHAPE)), axis=(0, 1)).max() == 0


def test_pictures_are_turned_and_made_rgb_or_gray(tmp_path):
    values = np.arange(24, dtype=np.uint8).reshape(6, 4)
    exif = Image.Exif()
    exif[274] = 6  # to be turned by 90 degrees clockwise
    Image.fromarray(values).save(tmp_path / "a.png", exif=exif)
    turned = np.rot90(values, -1) / np.float32(255)
    assert np.array_equal(read_picture(tmp_path / "a.png", Preparation((4, 6, 1)))[..., 0], turned)
    assert np.array_equal(read_picture(tmp_path / "a.png", Preparation(SHAPE)), np.stack([turned] * 3, -1))


def test_bad_files_are_left_out_with_their_reasons(tmp_path, rng):
    save(tmp_path / "class" / "good.png", rng.integers(0, 256, (9, 9, 3), dtype=np.uint8))
    (tmp_path / "broken.jpg").write_bytes(b"no picture")
    np.save(tmp_path / "double.npy", np.zeros((2, *SHAPE)))
    np.save(tmp_path / "nan.npy", np.full(SHAPE, np.nan, np.float32))
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    np.save(tmp_path / "two.npy", np.ones((2, *SHAPE), np.float32))
    (tmp_path / "notes.txt").write_text("not looked at")
    read = read_examples(tmp_path, Preparation(SHAPE), most=100)
    assert read.inputs.shape == (3, *SHAPE) and read.files == 2 and read.labels is None
    reasons = {path.name: reason for path, reason in read.skipped}
    assert set(reasons) == {"broken.jpg", "double.npy", "nan.npy", "other.npz"}
    assert "cannot identify" in reasons["broken.jpg"] and "float64" in reasons["double.npy"]
    assert "not finite" in reasons["nan.npy"] and "no array 'inputs'" in reasons["other.npz"]


def test_many_files_are_taken_at_even_distances(tmp_path):
    for i in range(9):
        np.save(tmp_path / f"{i}.npy", np.full((2,), i, np.float32))
    read = read_examples(tmp_path, Preparation((2,)), most=3)
    assert read.inputs[:, 0].tolist() == [0, 4, 8]


def test_labels_come_from_a_table_or_with_the_arrays(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((2, 2), np.float32))
    np.savez(tmp_path / "b.npz", inputs=np.zeros((3, 2), np.float32), labels=np.array([5, 6, 7]))
    (tmp_path / "labels.csv").write_text("a.npy, 3\n")
    read = read_examples(tmp_path, Preparation((2,)), most=10, labels=tmp_path / "labels.csv")
    assert read.labels.tolist() == [3, 3, 5, 6, 7]
    with pytest.raises(ValueError, match="3 of 5 examples have labels"):
        read_examples(tmp_path, Preparation((2,)), most=10)
    (tmp_path / "labels.csv").write_text("b.npz,1\n")
    with pytest.raises(ValueError, match="a.npy has no label"):
        read_examples(tmp_path, Preparation((2,)), most=10, labels=tmp_path / "labels.csv")
    (tmp_path / "labels.csv").write_text("a.npy,cat\n")
    with pytest.raises(ValueError, match="line 1 of .* must be the name"):
        read_labels(tmp_path / "labels.csv")


def test_nothing_good_is_an_error_with_the_list(tmp_path):
    with pytest.raises(ValueError, match="has no .npy"):
        read_examples(tmp_path, Preparation(SHAPE), most=1)
    (tmp_path / "broken.jpg").write_bytes(b"no picture")
    np.save(tmp_path / "flat.npy", np.zeros(3, np.float32))
    with pytest.raises(ValueError, match="(?s)broken.jpg: .*flat.npy: is float32"):
        read_examples(tmp_path, Preparation(SHAPE), most=9)


def test_deep_and_transparent_pictures_lose_nothing_without_a_word(tmp_path):
    deep = np.linspace(0, 65535, 64, dtype=np.uint16).reshape(8, 8)
    Image.fromarray(deep).save(tmp_path / "deep.png")
    clear = np.zeros((8, 8, 4), np.uint8)
    Image.fromarray(clear).save(tmp_path / "clear.png")
    how = Preparation((8, 8, 3))
    np.testing.assert_allclose(read_picture(tmp_path / "deep.png", how)[..., 0], deep / 65535, atol=0.51 / 255)
    np.testing.assert_array_equal(read_picture(tmp_path / "clear.png", how), 1)
