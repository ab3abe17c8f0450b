"""Archives that are broken, or hold something else than a cloud."""

import zipfile

import numpy as np
import pytest

from jaxkit.sampling.files import open_cloud

CENTER, AXES = np.zeros((5, 3)), np.ones((5, 3))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"center": CENTER}, "holds .'center'.; a cloud needs"),
        ({"semi_axes": AXES}, "holds .'semi_axes'.; a cloud needs"),
        ({"center": CENTER, "semi_axes": AXES, "radius": AXES[:, 0]}, "exactly one of semi_axes"),
        ({"center": CENTER, "semi_axes": AXES[:4]}, "arrays of different numbers of rows"),
        ({"center": CENTER, "semi_axes": AXES[:, :2]}, "semi_axes of shape .5, 2., not .N, 3."),
        ({"center": np.float64(1), "semi_axes": AXES}, "center of shape .., not .N, 3."),
        ({"center": CENTER, "radius": AXES}, "radius of shape .5, 3., not .N. or .N, 1."),
        ({"center": CENTER, "semi_axes": AXES, "quaternion": AXES}, "quaternion of shape .5, 3., not .N, 4."),
        ({"center": CENTER.astype(str), "semi_axes": AXES}, "center.npy of <U32, not of real numbers"),
        ({"center": CENTER.astype(object), "semi_axes": AXES}, "center.npy of object, not of real numbers"),
        ({"center": CENTER, "semi_axes": AXES, "quat": np.ones((5, 4))}, "holds quat; orientations are read from"),
        (
            {"center": CENTER, "semi_axes": AXES, "quaternion": np.ones((5, 4)), "rotation": np.zeros((5, 3, 3))},
            "both a quaternion and a rotation",
        ),
    ],
)
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_other_arrays_are_refused(save, arrays, message, tmp_path):
    save(tmp_path / "cloud.npz", **arrays)
    with pytest.raises(ValueError, match="cloud.npz holds .*" + message.replace("holds ", "")):
        open_cloud(tmp_path / "cloud.npz")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_archives_that_are_cut_off_are_refused(save, share, tmp_path):
    path = tmp_path / "cloud.npz"
    save(path, center=np.arange(3000.0).reshape(-1, 3), radius=np.ones(1000))
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match="cloud.npz is no whole .npz archive"):
        open_cloud(path)


def test_damaged_arrays_are_refused(tmp_path):
    path = tmp_path / "cloud.npz"
    np.savez_compressed(path, center=np.random.default_rng(0).normal(size=(1000, 3)), radius=np.ones(1000))
    content = bytearray(path.read_bytes())
    content[2000:2100] = bytes(100)
    path.write_bytes(content)
    with pytest.raises(ValueError, match="cloud.npz is no whole .npz archive"):
        open_cloud(path)


def _archive(path, **members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)


def _npy(path, array):
    np.save(path, array)
    return path.read_bytes()


def test_members_that_are_no_arrays_or_too_short_are_refused(tmp_path):
    path, center = tmp_path / "cloud.npz", _npy(tmp_path / "center.npy", CENTER)
    _archive(path, center=center, radius=b"not an array at all")
    with pytest.raises(ValueError, match="cloud.npz holds radius.npy, which is no .npy file"):
        open_cloud(path)
    _archive(path, center=center[:-8], radius=_npy(tmp_path / "radius.npy", np.ones(5)))
    with pytest.raises(ValueError, match="cloud.npz holds center.npy, which is cut off before its shape .5, 3. is"):
        open_cloud(path)


def test_members_of_the_longer_header_version_are_read(tmp_path):
    with open(tmp_path / "radius.npy", "wb") as file:
        np.lib.format.write_array(file, np.arange(1.0, 6.0), version=(2, 0))
    _archive(tmp_path / "c.npz", center=_npy(tmp_path / "c.npy", CENTER), radius=(tmp_path / "radius.npy").read_bytes())
    cloud = open_cloud(tmp_path / "c.npz").to_memory()
    np.testing.assert_array_equal(cloud.bodies.semi_axes[:, 1], np.arange(1.0, 6.0))


@pytest.mark.parametrize("name", ["cloud.txt", "cloud", "cloud.npy"])
def test_other_suffixes_are_refused(name, tmp_path):
    with pytest.raises(ValueError, match=f"{name} must be one of .npz, .ply, .csv, not"):
        open_cloud(tmp_path / name)


def test_files_that_are_not_there_say_so(tmp_path):
    for suffix in ("npz", "ply", "csv"):
        with pytest.raises(FileNotFoundError):
            open_cloud(tmp_path / f"cloud.{suffix}")
