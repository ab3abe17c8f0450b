"""Clouds in files against the same cloud in memory; and files that are broken."""

import struct

import jax
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from jaxkit.sampling.ellipsoids import Ellipsoids
from jaxkit.sampling.files import open_cloud
from jaxkit.sampling.ingest import BLOCK
from jaxkit.sampling.report import Invalid, InvalidEllipsoidError

N = 257
NAMES = ("x", "y", "z", "a", "b", "c", "qw", "qx", "qy", "qz")


@pytest.fixture
def arrays(rng):
    center = np.array([448_262.0, 5_411_932.0, 120.0]) + rng.uniform(-50, 50, (N, 3))
    semi_axes = np.exp(rng.normal(0, 0.5, (N, 3)))
    return center, semi_axes, Rotation.random(N, rng).as_quat(scalar_first=True)


def _table(arrays, names=NAMES, delimiter=",", end="\n"):
    rows = np.concatenate(arrays, 1).tolist()
    return end.join([delimiter.join(names), *(delimiter.join(map(repr, row)) for row in rows)]) + end


def _ply_header(form, columns, rows, before=""):
    properties = "".join(f"property {kind} {name}\n" for kind, name in columns)
    return f"ply\nformat {form} 1.0\ncomment by hand\n{before}element vertex {rows}\n{properties}end_header\n".encode()


def _ply(path, arrays, form="binary_little_endian", *, before="", ahead=b"", after=b""):
    rows = np.concatenate(arrays, 1)
    columns = [("double", name) for name in NAMES]
    if form == "ascii":
        body = "".join(" ".join(map(repr, row)) + "\n" for row in rows.tolist()).encode()
    else:
        order = "<" if "little" in form else ">"
        body = b"".join(struct.pack(f"{order}10d", *row) for row in rows)
    path.write_bytes(_ply_header(form, columns, len(rows), before) + ahead + body + after)


def _write(kind, path, arrays):
    if kind in ("npz", "compressed"):
        save = np.savez if kind == "npz" else np.savez_compressed
        save(path, **dict(zip(("center", "semi_axes", "quaternion"), arrays, strict=True)))
    elif kind == "csv":
        path.write_text(_table(arrays))
    else:
        _ply(path, arrays, kind)


SUFFIX = {"npz": "npz", "compressed": "npz", "csv": "csv"}
KINDS = ("npz", "compressed", "csv", "binary_little_endian", "binary_big_endian", "ascii")


def _equal(cloud, expected):
    assert cloud.anchor == expected.anchor and cloud.report == expected.report and len(cloud) == len(expected)
    jax.tree.map(np.testing.assert_array_equal, cloud.bodies, expected.bodies)


@pytest.mark.parametrize("kind", KINDS)
def test_files_hold_what_was_written(kind, arrays, tmp_path):
    path = tmp_path / f"cloud.{SUFFIX.get(kind, 'ply')}"
    _write(kind, path, arrays)
    cloud, expected = open_cloud(path), Ellipsoids.from_axes(*arrays)
    _equal(cloud.to_memory(), expected)
    chunks = list(cloud.chunks(100))
    assert [first for first, _ in chunks] == [0, 100, 200]
    joined = jax.tree.map(lambda *parts: np.concatenate(parts), *(bodies for _, bodies in chunks))
    jax.tree.map(np.testing.assert_array_equal, joined, expected.bodies)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [0, 1])
def test_no_row_and_one(kind, n, arrays, tmp_path):
    path, few = tmp_path / f"cloud.{SUFFIX.get(kind, 'ply')}", [array[:n] for array in arrays]
    _write(kind, path, few)
    _equal(open_cloud(path).to_memory(), Ellipsoids.from_axes(*few))


@pytest.mark.parametrize("kind", KINDS)
def test_bad_rows_are_handled_as_asked(kind, arrays, tmp_path):
    center, semi_axes, quaternion = arrays
    center[4], semi_axes[200], semi_axes[9] = np.nan, (1, 0, 1), (1, 1, 1e-9)
    path = tmp_path / f"cloud.{SUFFIX.get(kind, 'ply')}"
    _write(kind, path, arrays)
    with pytest.raises(InvalidEllipsoidError, match=f"{path.name}: 3 of {N} rows are invalid"):
        open_cloud(path)
    for policy in ("drop", "clamp"):
        _equal(open_cloud(path, on_invalid=policy).to_memory(), Ellipsoids.from_axes(*arrays, on_invalid=policy))


def test_settings_reach_the_rows(arrays, tmp_path):
    center, semi_axes, quaternion = arrays
    np.savez(tmp_path / "c.npz", center=center, semi_axes=semi_axes, quaternion=np.roll(quaternion, -1, 1))
    settings = {"scale": 2.5, "quaternion_order": "xyzw", "origin": (1.0, 2.0, 3.0)}
    cloud = open_cloud(tmp_path / "c.npz", **settings).to_memory()
    _equal(cloud, Ellipsoids.from_axes(center, semi_axes, np.roll(quaternion, -1, 1), **settings))
    assert cloud.anchor.origin == (1.0, 2.0, 3.0)


def test_other_kinds_of_arrays(arrays, tmp_path):
    center, semi_axes, quaternion = arrays
    matrix = Rotation.from_quat(quaternion, scalar_first=True).as_matrix()
    covariance = np.einsum("nij,nj,nkj->nik", matrix, semi_axes**2, matrix)
    path = tmp_path / "c.npz"
    np.savez(path, center=center, semi_axes=np.asfortranarray(semi_axes), rotation=matrix)
    _equal(open_cloud(path).to_memory(), Ellipsoids.from_axes(center, semi_axes, matrix))
    np.savez(path, center=np.float32(center), radius=np.float32(semi_axes[:, 0]), note="extra")
    _equal(open_cloud(path).to_memory(), Ellipsoids.from_spheres(np.float32(center), np.float32(semi_axes[:, 0])))
    np.savez(path, center=center, covariance=covariance)
    _equal(open_cloud(path, k=2).to_memory(), Ellipsoids.from_covariance(center, covariance, k=2))


def test_other_kinds_of_columns(arrays, tmp_path):
    center, semi_axes, _ = arrays
    path = tmp_path / "c.csv"
    path.write_text(_table((semi_axes[:, :1], center), ("radius", " X", "y ", '"z"'), ";", "\r\n"))
    _equal(open_cloud(path).to_memory(), Ellipsoids.from_spheres(center, semi_axes[:, 0]))
    six = np.concatenate([semi_axes**2, np.zeros((N, 3))], 1)[:, [0, 3, 4, 1, 5, 2]]
    path.write_text("# " + _table((center, six), ("x", "y", "z", "cxx", "cxy", "cxz", "cyy", "cyz", "czz"), "\t"))
    _equal(open_cloud(path).to_memory(), Ellipsoids.from_covariance(center, six))


def test_unreadable_lines_of_a_table_are_rows_too(arrays, tmp_path):
    lines = _table(arrays).splitlines()
    lines[1 + 5], lines[1 + 9], lines[1 + 20], lines[-1] = lines[6].replace(".", "..", 1), "", "1,2,3", "oops"
    path = tmp_path / "c.csv"
    path.write_text("\n".join(lines) + "\n\n \n")
    with pytest.raises(InvalidEllipsoidError, match="unreadable +4 +rows 5, 9, 20, 256 .cells that are not numbers"):
        open_cloud(path)
    cloud = open_cloud(path, on_invalid="clamp")
    assert cloud.report.invalid == {"unreadable": Invalid(4, (5, 9, 20, N - 1))} and cloud.report.dropped == 4
    bad = cloud.to_memory().bodies.semi_axes[:, 0] == 0
    np.testing.assert_array_equal(np.flatnonzero(bad), [5, 9, 20, N - 1])
    kept = Ellipsoids.from_axes(*(array[~bad] for array in arrays)).bodies
    np.testing.assert_array_equal(cloud.to_memory().bodies.semi_axes[~bad], kept.semi_axes)


@pytest.mark.parametrize("rows", [BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK])
@pytest.mark.parametrize("end", ["", "\n"])
def test_tables_are_found_by_line_across_blocks(rows, end, tmp_path):
    path = tmp_path / "c.csv"
    path.write_text("x,y,z,radius\n" + "\n".join(f"{row},0,0,1" for row in range(rows)) + end)
    cloud = open_cloud(path)
    assert len(cloud) == rows
    for size in (BLOCK, 50_000):
        parts = [cloud.anchor.to_float64(bodies.center)[:, 0] for _, bodies in cloud.chunks(size)]
        np.testing.assert_array_equal(np.concatenate(parts), np.arange(rows))


@pytest.mark.parametrize("form", ["binary_little_endian", "ascii"])
def test_elements_around_the_vertices_are_passed_over(form, arrays, tmp_path):
    path = tmp_path / "c.ply"
    before = "element camera 2\nproperty uchar id\nproperty short size\n"
    ahead = b"1 2\n3 4\n" if form == "ascii" else bytes(6)
    _ply(path, arrays, form, before=before, ahead=ahead, after=b"3 0 1 2\n" * 50)
    _equal(open_cloud(path).to_memory(), Ellipsoids.from_axes(*arrays))


def test_a_file_may_be_left_half_read(arrays, tmp_path):
    path = tmp_path / "c.npz"
    _write("npz", path, arrays)
    first, bodies = next(open_cloud(path).chunks(2))
    assert first == 0 and len(bodies.semi_axes) == 2
