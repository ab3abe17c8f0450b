"""Windows against SciPy."""

import numpy as np
import pytest
import scipy.signal

from jaxkit.audio.windows import window

NAMES = {"hann": "hann", "hamming": "hamming", "blackman": "blackman", "rectangular": "boxcar"}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [1, 2, 5, 400])
@pytest.mark.parametrize("periodic", [True, False])
def test_windows_are_those_of_scipy(name, width, periodic):
    expected = scipy.signal.get_window(NAMES[name], width, fftbins=periodic)
    np.testing.assert_allclose(window(name, width, periodic=periodic), expected, atol=1e-15)


def test_povey_is_a_power_of_hann_and_sine_its_root():
    hann = np.hanning(400)
    np.testing.assert_allclose(window("povey", 400, periodic=False), hann**0.85, atol=1e-12)
    np.testing.assert_allclose(window("sine", 400, periodic=False), np.sqrt(hann), atol=1e-12)


def test_windows_are_shared_and_cannot_be_changed():
    assert window("hann", 64) is window("hann", 64)
    with pytest.raises(ValueError, match="read-only"):
        window("hann", 64)[0] = 1.0


@pytest.mark.parametrize("name, width", [("kaiser", 400), ("hann", 0), ("hann", 400.0)])
def test_what_is_no_window_is_refused(name, width):
    with pytest.raises(ValueError, match="hann, hamming|at least 1"):
        window(name, width)
