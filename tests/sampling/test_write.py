"""Points written and read back without our own reader."""

import csv

import numpy as np
import pytest

from jaxkit.sampling.write import BLOCK, write_points

N = 1000


@pytest.fixture
def points(rng):
    return np.array([448_262.0, 5_411_932.0, 120.0]) + rng.normal(0, 1, (N, 3)), rng.integers(0, 2**31, N)


def test_npy(points, tmp_path):
    write_points(tmp_path / "p.npy", points[0])
    found = np.load(tmp_path / "p.npy")
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, points[0])


def test_npz(points, tmp_path):
    write_points(tmp_path / "p.npz", points[0], source=points[1])
    with np.load(tmp_path / "p.npz") as found:
        np.testing.assert_array_equal(found["points"], points[0])
        np.testing.assert_array_equal(found["source"], points[1])
    write_points(tmp_path / "p.npz", points[0])
    with np.load(tmp_path / "p.npz") as found:
        assert found.files == ["points"]


@pytest.mark.parametrize("with_source", [True, False])
@pytest.mark.parametrize("n", [0, 1, N, BLOCK + 3])
def test_ply(with_source, n, tmp_path, rng):
    points, source = rng.normal(size=(n, 3)), rng.integers(0, 2**31, n)
    write_points(tmp_path / "p.ply", points, source=source if with_source else None)
    header, _, body = (tmp_path / "p.ply").read_bytes().partition(b"end_header\n")
    last = ["property int source"] if with_source else []
    assert header.decode().splitlines() == [
        *("ply", "format binary_little_endian 1.0", f"element vertex {n}"),
        *("property double x", "property double y", "property double z", *last),
    ]
    found = np.frombuffer(body, [("xyz", "<f8", 3), *([("source", "<i4")] if with_source else [])])
    np.testing.assert_array_equal(found["xyz"], points)
    if with_source:
        np.testing.assert_array_equal(found["source"], source)


@pytest.mark.parametrize("with_source", [True, False])
def test_csv(with_source, points, tmp_path):
    write_points(tmp_path / "p.csv", points[0], source=points[1] if with_source else None)
    with open(tmp_path / "p.csv", newline="") as file:
        names, *rows = csv.reader(file)
    assert names == ["x", "y", "z", "source"][: 3 + with_source]
    np.testing.assert_array_equal(np.array([row[:3] for row in rows], float), points[0])
    assert [int(row[3]) for row in rows] == points[1].tolist() if with_source else len(rows[0]) == 3


@pytest.mark.parametrize(
    ("name", "points", "source", "message"),
    [
        ("p.txt", np.zeros((2, 3)), None, "p.txt must be one of .npy, .npz, .ply, .csv, not .txt"),
        ("p", np.zeros((2, 3)), None, "not without a suffix"),
        ("p.npy", np.zeros((2, 3)), np.zeros(2, int), "p.npy can hold the points alone; write .npz"),
        ("p.ply", np.zeros((2, 2)), None, "points must be .n, 3., not .2, 2."),
        ("p.ply", np.zeros((2, 3)), np.zeros(3, int), "source must be .2. integers, not .3. of int64"),
        ("p.ply", np.zeros((2, 3)), np.zeros(2), "source must be .2. integers, not .2. of float64"),
    ],
)
def test_wrong_arguments_are_refused_before_a_file_is_made(name, points, source, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        write_points(tmp_path / name, points, source=source)
    assert not list(tmp_path.iterdir())
