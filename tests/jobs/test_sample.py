"""The sampling job: what it writes, tells and refuses."""

import math
import sys

import jax
import numpy as np
import pytest
from PIL import Image

from jaxkit import jobs
from jaxkit.sampling.ellipsoids import Ellipsoids
from jaxkit.sampling.report import InvalidEllipsoidError
from jaxkit.sampling.union import sample_union


@pytest.fixture
def lens(tmp_path):
    """Two unit balls at a distance of 1, far from the origin."""
    path = tmp_path / "lens.npz"
    np.savez(path, center=np.array([[5e5, 5e6, 0], [5e5 + 1, 5e6, 0]]), radius=np.ones(2, np.float32))
    return path


def job(path, out="points.npy", **settings):
    return jobs.SampleJob(path, path.parent / out, **({"count": 500} | settings))


def nearest(points):
    """Distance of each point from the nearer centre of the lens."""
    return np.linalg.norm(points[:, None] - np.array([[5e5, 5e6, 0], [5e5 + 1, 5e6, 0]]), axis=2).min(1)


def test_points_lie_in_the_union_and_are_those_of_the_sampler(lens):
    done = jobs.sample(job(lens, seed=4))
    points = np.load(lens.parent / "points.npy")
    assert points.dtype == np.float64 and points.shape == (500, 3)
    assert nearest(points).max() <= 1 + 1e-6
    cloud = Ellipsoids.from_spheres(np.array([[5e5, 5e6, 0], [5e5 + 1, 5e6, 0]]), np.ones(2, np.float32))
    key = jax.random.fold_in(jax.random.key(4), 0)
    np.testing.assert_array_equal(points, sample_union(key, cloud, count=500).to_float64())
    np.testing.assert_array_equal(done.points, points)
    other = jobs.sample(job(lens, seed=5)).points
    assert not np.isin(other, points).all(1).any()


def test_a_cloud_beyond_the_memory_is_streamed_and_gives_the_same_points(lens, monkeypatch):
    resident = jobs.sample(job(lens))
    monkeypatch.setattr(sys.modules["jaxkit.jobs.sample"], "ROW_BYTES", 10**12)
    streamed = jobs.sample(job(lens))
    assert (
        "into memory" in dict(resident.facts)["ellipsoids"] and "block by block" in dict(streamed.facts)["ellipsoids"]
    )
    np.testing.assert_array_equal(resident.points, streamed.points)


def test_the_volume_is_told_with_its_error(lens):
    facts = dict(jobs.sample(job(lens, volume=True)).facts)
    for name, sure in (("volume", 0.05), ("volume to 0.1 %", 0.005)):
        value, error = (float(part) for part in facts[name].split(" (")[0].split(" +- "))
        assert abs(value - 9 * math.pi / 4) < 5 * error and 0 < error / value < sure
    assert float(facts["mean cover"]) == pytest.approx(32 / 27, rel=0.02)


def test_every_format_holds_the_points(lens):
    points = jobs.sample(job(lens)).points
    done = jobs.sample(job(lens, "points.npz"))
    with np.load(lens.parent / "points.npz") as file:
        np.testing.assert_array_equal(file["points"], points)
        np.testing.assert_array_equal(file["source"], done.source)
    assert set(done.source) == {0, 1}
    jobs.sample(job(lens, "points.csv"))
    table = np.loadtxt(lens.parent / "points.csv", delimiter=",", skiprows=1)
    np.testing.assert_array_equal(table[:, :3], points)
    jobs.sample(job(lens, "points.ply"))
    assert (lens.parent / "points.ply").read_bytes().startswith(b"ply\nformat binary_little_endian 1.0\n")


def test_surface_points_lie_on_it_with_their_normals(lens):
    facts = dict(jobs.sample(job(lens, "points.npz", surface=True)).facts)
    with np.load(lens.parent / "points.npz") as file:
        points, normal, source = file["points"], file["normal"], file["source"]
    np.testing.assert_allclose(nearest(points), 1, atol=1e-6)
    centers = np.array([[5e5, 5e6, 0], [5e5 + 1, 5e6, 0]])[source]
    np.testing.assert_allclose(points - centers, normal, atol=1e-5)
    area, error = (float(part) for part in facts["exposed area"].split(" (")[0].split(" +- "))
    assert abs(area - 6 * math.pi) < 5 * error


def test_a_radius_keeps_points_apart(lens):
    done = jobs.sample(job(lens, count=None, radius=0.5))
    gaps = np.linalg.norm(done.points[:, None] - done.points, axis=2)[~np.eye(len(done.points), dtype=bool)]
    assert gaps.min() >= 0.5 and len(done.points) > 20
    assert "left free" in dict(done.facts)


def test_bad_rows_stop_the_job_or_are_told(tmp_path):
    path = tmp_path / "bad.npz"
    radius = np.ones(20, np.float32)
    radius[[3, 11]], radius[7] = np.nan, -1
    np.savez(path, center=np.arange(60.0).reshape(20, 3), radius=radius)
    with pytest.raises(InvalidEllipsoidError) as caught:
        jobs.sample(job(path))
    told = jobs.explained(caught.value)
    assert "3 of 20 rows" in told and "2 NaN (first in row 3)" in told and "--on-invalid drop" in told
    assert not (tmp_path / "points.npy").exists()
    done = jobs.sample(job(path, "points.npz", on_invalid="drop"))
    facts = dict(done.facts)
    assert facts["invalid: NaN"] == "2 (rows 3, 11)" and facts["dropped"] == "3"
    assert not np.isin(done.source, (3, 7, 11)).any()


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"out": "points.txt"}, "must end in .npy"),
        ({"count": None}, "either a count of points or a radius"),
        ({"radius": 1.0}, "either a count of points or a radius"),
        ({"on_invalid": "ignore"}, "'ignore'"),
        ({"surface": True, "stratified": True}, "stratified and surface cannot"),
        ({"surface": True, "method": "join"}, "method=join"),
        ({"plot": "points.jpg"}, "the plot must end in .png"),
    ],
)
def test_what_cannot_be_done_is_refused_at_once(lens, settings, told):
    if "plot" in settings:
        settings = {"plot": lens.parent / settings["plot"]}
    with pytest.raises(ValueError, match=told.replace(".", r"\.")):
        job(lens, **settings)


def test_a_missing_folder_is_noticed_before_the_work(lens, tmp_path):
    with pytest.raises(ValueError, match="is not a folder"):
        jobs.sample(job(lens, "nowhere/points.npy"))


def test_failures_become_one_sentence(tmp_path):
    with pytest.raises(OSError) as caught:
        jobs.sample(job(tmp_path / "missing.npz"))
    assert jobs.explained(caught.value) == f"{tmp_path / 'missing.npz'}: no such file or directory"
    assert "\n" not in jobs.explained(ValueError("one\n  two"))
    assert "--memory" in jobs.explained(MemoryError())


@pytest.mark.parametrize("text", ["4GB", "4 gb", "4e9", "4000MB", "4g"])
def test_memory_is_written_as_people_do(text):
    assert jobs.parse_bytes(text) == 4 * 10**9
    assert jobs.parse_bytes("1.5KiB") == 1536


@pytest.mark.parametrize("text", ["", "lots", "-4GB", "0", "4XB", "1.2.3GB"])
def test_other_words_for_memory_are_refused(text):
    with pytest.raises(ValueError, match="4GB"):
        jobs.parse_bytes(text)


@pytest.mark.parametrize("count", [0, 1, 500, 50_000])
def test_the_plot_is_a_picture_of_the_points(rng, tmp_path, count):
    jobs.plot_points(rng.normal(size=(count, 3)), tmp_path / "plot.png", title="made up")
    with Image.open(tmp_path / "plot.png") as image:
        pixels = np.asarray(image.convert("RGB"))
    assert pixels.shape == (1320, 1320, 3) and (pixels < 128).any()
    inner = pixels[120:560, 120:580]
    assert (inner.std() > 1) == (count >= 1)
