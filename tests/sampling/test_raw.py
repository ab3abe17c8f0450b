"""Files that change under our hands."""

import numpy as np
import pytest

from jaxkit.sampling import raw
from jaxkit.sampling.files import open_cloud


def test_records_are_read_by_place(tmp_path):
    path = tmp_path / "numbers"
    np.arange(10, dtype=">i4").tofile(path)
    np.testing.assert_array_equal(raw.records(str(path), np.dtype(">i4"), 3, 8), [2, 3, 4])


def test_a_file_that_became_shorter_is_told(tmp_path):
    path = tmp_path / "cloud.npz"
    np.savez(path, center=np.zeros((1000, 3)), radius=np.ones(1000))
    cloud = open_cloud(path)
    path.write_bytes(path.read_bytes()[:9000])
    with pytest.raises(ValueError, match="cloud.npz has become shorter"):
        cloud.to_memory()
