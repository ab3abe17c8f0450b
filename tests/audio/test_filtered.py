"""Filters against SciPy in float64, on speech and noise."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import signal

from jaxkit import Clip
from jaxkit.audio import filter_ops
from jaxkit.audio.filtered import sosfilt
from tests.audio.speech import clips
from tests.audio.test_sections import _cookbook, _edges

RATE, SIZE = 16000, 20_000
CUTOFFS = np.array([20.0, 33.3, 100.0, 777.7, 2500.0, 3999.0, 5000.0, 7200.0], np.float32)
QS = np.array([0.5, 1.0, 3.0, 10.0, 30.0, 30.0, 7.0, 30.0], np.float32)
GAINS = np.array([-24.0, -12.0, -3.0, 0.0, 3.0, 6.0, 12.0, 24.0], np.float32)


@functools.cache
def _waves():
    """Speech and noise by turns, `[8, SIZE]`."""
    rng = np.random.default_rng(1)
    speech = [wave[:SIZE] / np.abs(wave[:SIZE]).max() for _, wave in clips()[:2]]
    return np.stack([speech[i % 2] if i % 4 < 2 else rng.normal(0, 0.2, SIZE) for i in range(8)]).astype(np.float32)


def _assert_filtered(op, params, designs, slack=1e-5):
    """The op gives what SciPy gives with the design of each example, relative to its largest value."""
    params = jax.tree.map(jnp.asarray, params)
    ours = jax.jit(jax.vmap(op.apply))(params, Clip(jnp.asarray(_waves()))).wave
    for own, wave, sos in zip(np.asarray(ours), _waves(), designs, strict=True):
        expected = signal.sosfilt(np.atleast_2d(sos), wave.astype(np.float64))
        np.testing.assert_allclose(own, expected, atol=slack * np.abs(expected).max(), rtol=0)


@pytest.mark.parametrize("order", [1, 8])
@pytest.mark.parametrize("kind", ["low_pass", "high_pass"])
def test_butterworth_is_sosfilt(kind, order):
    designs = [signal.butter(order, float(f), kind.replace("_", ""), fs=RATE, output="sos") for f in CUTOFFS]
    _assert_filtered(getattr(filter_ops, kind)(order=order), CUTOFFS, designs)


@pytest.mark.parametrize("order, slack", [(1, 1e-5), (4, 5e-5)])
@pytest.mark.parametrize("kind", ["band_pass", "band_stop"])
def test_bands_are_sosfilt(kind, order, slack):
    edges = [_edges(float(f), float(q)) for f, q in zip(CUTOFFS, QS, strict=True)]
    designs = [signal.butter(order, pair, kind.replace("_", ""), fs=RATE, output="sos") for pair in edges]
    _assert_filtered(getattr(filter_ops, kind)(order=order), (CUTOFFS, QS), designs, slack)


@pytest.mark.parametrize("kind", ["peaking", "low", "high"])
def test_equalisers_are_sosfilt(kind):
    params = (CUTOFFS, GAINS, QS if kind == "peaking" else np.minimum(QS, 3))
    designs = [np.array(_cookbook(kind, *map(float, each))) for each in zip(*params, strict=True)]
    op = filter_ops.peaking() if kind == "peaking" else filter_ops.shelf(kind=kind)
    _assert_filtered(op, params, [sos / sos[3] for sos in designs])


@pytest.mark.parametrize("name", ["butter", "ellip"])
def test_static_sections_are_sosfilt(name):
    design = {
        "butter": signal.butter(8, 20, "highpass", fs=RATE, output="sos"),
        "ellip": signal.ellip(7, 1, 60, [0.05, 0.3], "bandpass", output="sos"),
    }[name]
    ours = jax.jit(lambda wave: sosfilt(Clip(wave), design).wave)(_waves()[0])
    expected = signal.sosfilt(design, _waves()[0].astype(np.float64))
    np.testing.assert_allclose(ours, expected, atol=1e-6 * np.abs(expected).max())


def test_sixteen_cutoffs_are_one_program(programs):
    apply = jax.jit(jax.vmap(filter_ops.low_pass(order=2).apply))
    wave = jnp.asarray(_waves()[:, :3000])
    clip = Clip(jnp.concatenate([wave, wave]), jnp.arange(16, dtype=jnp.int32) * 200)
    cutoffs = jnp.asarray(np.geomspace(20, 7000, 16).astype(np.float32))
    backwards = cutoffs[::-1]
    first = apply(cutoffs, clip)
    before = len(programs)
    second = apply(backwards, clip)
    assert programs[before:] == []
    assert np.abs(np.asarray(first.wave - second.wave)).max() > 0.01
    for own, length in zip(np.asarray(first.wave), clip.length, strict=True):
        np.testing.assert_array_equal(own[int(length) :], 0)


def test_half_precision_stays_half():
    clip = Clip(jnp.asarray(_waves()[0, :500], jnp.bfloat16))
    assert jax.jit(filter_ops.high_pass().apply)(jnp.float32(100.0), clip).wave.dtype == jnp.bfloat16


@pytest.mark.parametrize("size", [0, 1])
def test_hardly_any_sound(size):
    clip = Clip(jnp.ones((size,)))
    out = jax.jit(filter_ops.peaking().apply)((jnp.float32(1000.0), jnp.float32(6.0), jnp.float32(1.0)), clip)
    assert out.wave.shape == (size,) and np.isfinite(out.wave).all()
