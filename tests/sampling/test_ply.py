"""Gaussian splats: logarithms, logits and level sets; and headers that are broken."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.special import expit, logit

from jaxkit.sampling.ellipsoids import Ellipsoids
from jaxkit.sampling.files import open_cloud
from jaxkit.sampling.report import Invalid, InvalidEllipsoidError

N = 200
BEFORE = ("x", "y", "z", "nx", "ny", "nz", "f_dc_0", "f_dc_1", "f_dc_2", "opacity")
COLUMNS = (*BEFORE, "scale_0", "scale_1", "scale_2", "rot_0", "rot_1", "rot_2", "rot_3")


@pytest.fixture
def splats(rng):
    """The float32 table that trainers write, and what it stands for."""
    sigma, turn = np.exp(rng.normal(-3, 1, (N, 3))), Rotation.random(N, rng)
    opacity = rng.uniform(0.02, 0.98, N)
    table = np.zeros((N, len(COLUMNS)), "<f4")
    table[:, :3], table[:, 3:9] = rng.normal(0, 5, (N, 3)), rng.normal(0, 1, (N, 6))
    table[:, 9], table[:, 10:13] = logit(opacity), np.log(sigma)
    table[:, 13:] = turn.as_quat(scalar_first=True) * rng.uniform(0.2, 3, (N, 1))
    return table, sigma, turn, opacity


def _save(path, table, columns=COLUMNS):
    properties = "".join(f"property float {name}\n" for name in columns)
    header = f"ply\nformat binary_little_endian 1.0\nelement vertex {len(table)}\n{properties}end_header\n"
    path.write_bytes(header.encode() + table.tobytes())
    return path


def test_k_sigma_scales_the_standard_deviations(splats, tmp_path):
    table, sigma, turn, _ = splats
    path = _save(tmp_path / "scene.ply", table)
    cloud = Ellipsoids.from_3dgs_ply(path, k_sigma=2.5)
    np.testing.assert_allclose(cloud.bodies.semi_axes, 2.5 * sigma, rtol=2e-6)
    np.testing.assert_allclose(cloud.anchor.to_float64(cloud.bodies.center), table[:, :3], atol=1e-8)
    found = Rotation.from_quat(cloud.bodies.quaternion, scalar_first=True)
    assert (found * turn.inv()).magnitude().max() < 1e-6
    scaled = Ellipsoids.from_3dgs_ply(path, k_sigma=2.5, scale=10.0)
    np.testing.assert_allclose(scaled.bodies.semi_axes, 25 * sigma, rtol=2e-6)


def test_iso_opacity_is_met_on_the_surface_and_fainter_splats_are_left_out(splats, tmp_path):
    table, sigma, _, opacity = splats
    cloud = Ellipsoids.from_3dgs_ply(_save(tmp_path / "scene.ply", table), iso_opacity=0.3)
    reach = cloud.bodies.semi_axes / sigma
    faint = opacity <= 0.3
    assert 0 < faint.sum() == cloud.report.faint and not cloud.report.invalid and cloud.report.dropped == 0
    assert (reach[faint] == 0).all()
    np.testing.assert_allclose((opacity[:, None] * np.exp(-(reach**2) / 2))[~faint], 0.3, rtol=1e-5)


def test_min_opacity_leaves_rows_out_under_their_numbers(splats, tmp_path):
    table, sigma, _, opacity = splats
    path = _save(tmp_path / "scene.ply", table)
    cloud = Ellipsoids.from_3dgs_ply(path, k_sigma=1.0, min_opacity=0.5)
    np.testing.assert_array_equal(cloud.bodies.semi_axes[:, 0] == 0, opacity < 0.5)
    assert cloud.report.faint == (opacity < 0.5).sum()
    both = open_cloud(path, iso_opacity=0.1, min_opacity=0.5).to_memory()
    np.testing.assert_array_equal(both.bodies.semi_axes[:, 0] == 0, opacity < 0.5)


def test_bad_splats_are_named(splats, tmp_path):
    table = splats[0]
    table[3, 9], table[4, 10], table[5, 11], table[6, 13:] = np.nan, 2000, -2000, 0
    table[7, 9], table[8, 9] = -1000, 1000
    path = _save(tmp_path / "scene.ply", table)
    expected = {
        "NaN": Invalid(1, (3,)),
        "infinite": Invalid(1, (4,)),
        "zero quaternion": Invalid(1, (6,)),
        "non-positive axis": Invalid(1, (5,)),
    }
    with pytest.raises(InvalidEllipsoidError, match="scene.ply: 4 of 200 rows"):
        Ellipsoids.from_3dgs_ply(path, iso_opacity=0.01)
    cloud = Ellipsoids.from_3dgs_ply(path, iso_opacity=0.01, on_invalid="drop")
    assert cloud.report.invalid == expected and cloud.report.faint == 1 and cloud.report.dropped == 4
    assert (cloud.bodies.semi_axes[[3, 4, 5, 6, 7]] == 0).all() and (cloud.bodies.semi_axes[8] > 0).all()
    assert expit(np.float64(table[7, 9])) == 0


def test_the_file_need_not_fit_in_memory(splats, tmp_path):
    path = _save(tmp_path / "scene.ply", splats[0])
    whole, parts = Ellipsoids.from_3dgs_ply(path, k_sigma=1.0), open_cloud(path, k_sigma=1.0)
    assert parts.anchor == whole.anchor and parts.report == whole.report
    joined = np.concatenate([bodies.semi_axes for _, bodies in parts.chunks(64)])
    np.testing.assert_array_equal(joined, whole.bodies.semi_axes)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "pass exactly one of k_sigma .* and iso_opacity .*, not k_sigma=None, iso_opacity=None"),
        ({"k_sigma": 1.0, "iso_opacity": 0.5}, "exactly one"),
        ({"k_sigma": -1.0}, "k_sigma must be a positive finite number, not -1.0"),
        ({"iso_opacity": 1.5}, "iso_opacity must be in \\(0, 1\\), not 1.5"),
        ({"k_sigma": 1.0, "min_opacity": 1.0}, "min_opacity must be in \\[0, 1\\), not 1.0"),
    ],
)
def test_wrong_settings_are_refused(settings, message, splats, tmp_path):
    path = _save(tmp_path / "scene.ply", splats[0])
    for load in (Ellipsoids.from_3dgs_ply, open_cloud):
        with pytest.raises(ValueError, match=message):
            load(path, **settings)


def test_missing_columns_are_named(splats, tmp_path):
    table = splats[0]
    path = _save(tmp_path / "a.ply", np.delete(table, 9, 1), [name for name in COLUMNS if name != "opacity"])
    assert len(Ellipsoids.from_3dgs_ply(path, k_sigma=1.0)) == N
    with pytest.raises(ValueError, match="a.ply holds Gaussian splats without opacity"):
        Ellipsoids.from_3dgs_ply(path, iso_opacity=0.5)
    path = _save(tmp_path / "b.ply", table[:, :13].copy(), COLUMNS[:13])
    with pytest.raises(ValueError, match="b.ply holds Gaussian splats without rot_0, rot_1, rot_2, rot_3"):
        Ellipsoids.from_3dgs_ply(path, k_sigma=1.0)
    path = _save(tmp_path / "c.ply", table[:, :3].copy(), COLUMNS[:3])
    with pytest.raises(ValueError, match="c.ply lacks scale_0, scale_1, scale_2; it holds x, y, z"):
        Ellipsoids.from_3dgs_ply(path, k_sigma=1.0)
    with pytest.raises(ValueError, match="c.ply holds .'center'.; a cloud needs"):
        open_cloud(path)


HEADER = "ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nproperty float y\nproperty float z\n"
BALLS = HEADER + "property float radius\nend_header\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is no PLY file"),
        ("solid cube\n", "is no PLY file"),
        (HEADER, "broken header: no line 'end_header'"),
        (BALLS.replace("format ascii 1.0\n", ""), "broken header: no line 'format'"),
        (BALLS.replace("ascii", "utf8"), "'format utf8 1.0' in its header; known are binary_little_endian"),
        (BALLS.replace("float y", "half y"), "'property half y' in its header; known are char"),
        (BALLS.replace("float y", "float"), "'property float' in its header"),
        (BALLS.replace("vertex 2", "vertex two"), "'element vertex two' in its header"),
        (BALLS.replace("element vertex", "element point"), "no element 'vertex', only point"),
        (BALLS.replace("float radius", "list uchar int radius"), "lists in vertex"),
        (BALLS.replace("float y", "float x") + "0 0 0 1\n" * 2, "columns of the same name: x, x, z, radius"),
        (BALLS.replace("float y", "float h") + "0 0 0 1\n" * 2, "lacks y for center; its columns are x, h, z, radius"),
        (BALLS + "0 0 0 1\n", "cut off: 1 of 2 rows are there"),
        (BALLS.replace("ascii", "binary_big_endian") + "0 0 0 1\n", "cut off: 0 of 2 rows of 16 bytes are there"),
    ],
)
def test_broken_files_are_refused(content, message, tmp_path):
    path = tmp_path / "cloud.ply"
    path.write_text(content)
    with pytest.raises(ValueError, match="cloud.ply .*" + message):
        open_cloud(path)


def test_lists_before_the_vertices_matter_to_binary_files_only(tmp_path):
    faces = BALLS.replace("element vertex", "element face 1\nproperty list uchar int corners\nelement vertex")
    path = tmp_path / "cloud.ply"
    path.write_text(faces + "3 0 1 2\n0 0 0 1\n0 0 9 1\n")
    assert len(open_cloud(path)) == 2
    path.write_text(faces.replace("ascii", "binary_little_endian"))
    with pytest.raises(ValueError, match="lists in face"):
        open_cloud(path)
