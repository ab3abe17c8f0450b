"""Both forms of the transform against NumPy in float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.audio import dft

FORMS = {"fast": (dft.fast_spectrum, dft.fast_frames), "product": (dft.product_spectrum, dft.product_frames)}
SIZES = [(400, 400), (400, 512), (7, 15), (1, 2)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("width, n_fft", SIZES)
def test_spectra_are_those_of_numpy(form, width, n_fft, rng):
    frames = rng.normal(size=(5, width)).astype(np.float32)
    expected = np.fft.rfft(frames.astype(np.float64), n_fft)
    forward, back = FORMS[form]
    real, imag = forward(jnp.asarray(frames), n_fft=n_fft)
    np.testing.assert_allclose(real, expected.real, atol=1e-6 * n_fft**0.5 + 3e-5)
    np.testing.assert_allclose(imag, expected.imag, atol=1e-6 * n_fft**0.5 + 3e-5)
    again = np.asarray(back(real, imag, n_fft=n_fft))
    np.testing.assert_allclose(again[:, :width], frames, atol=3e-6)
    np.testing.assert_allclose(again[:, width:], 0, atol=3e-6)


def test_a_cpu_takes_the_fast_form(rng):
    frames = jnp.asarray(rng.normal(size=(5, 400)), jnp.float32)
    for ours, fast in zip(dft.spectrum(frames, 512), dft.fast_spectrum(frames, n_fft=512), strict=True):
        np.testing.assert_array_equal(ours, fast)
    np.testing.assert_allclose(dft.power(frames, 512), np.abs(np.fft.rfft(frames, 512)) ** 2, rtol=1e-4, atol=1e-3)


def test_the_product_has_full_precision_on_accelerators():
    frames = jnp.zeros((5, 400), jnp.float32)
    program = str(jax.make_jaxpr(lambda frames: dft.spectrum(frames, 512))(frames))
    assert "dot_general" in program
    assert program.count("Precision.HIGHEST") == 2


@pytest.mark.parametrize("form", FORMS)
def test_derivatives_are_the_transposed_transform(form, rng):
    frames, way = rng.normal(size=(2, 3, 15)).astype(np.float32)
    forward, _ = FORMS[form]
    power = lambda frames: sum((part**2).sum() for part in forward(frames, n_fft=16))  # noqa: E731
    slope = jax.grad(power)(jnp.asarray(frames))
    expected = 2 * np.sum(np.real(np.conj(np.fft.rfft(frames, 16)) * np.fft.rfft(way, 16)))
    np.testing.assert_allclose(np.vdot(slope, way), expected, rtol=1e-4)


def test_frames_wider_than_the_transform_are_refused():
    with pytest.raises(ValueError, match="raise n_fft"):
        dft.spectrum(jnp.zeros((1, 5), jnp.float32), 4)
