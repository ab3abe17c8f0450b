"""Changes of speed."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Clip, batch
from jaxkit.audio.speed import speed

SAMPLES = 8000
FACTORS = np.array([0.9, 1.0, 1.1, 1.0], np.float32)
LENGTHS = np.array([SAMPLES, SAMPLES, 5000, 4001])
KALDI = batch(speed(choices=(0.9, 1.0, 1.1)))


def _clips(rng):
    time = np.arange(SAMPLES)
    waves = 0.3 * np.sin(2 * np.pi * 0.05 * time) + rng.normal(0, 1e-3, (4, SAMPLES))
    waves = np.where(time < LENGTHS[:, None], waves, np.nan)
    return Clip(jnp.asarray(waves, jnp.float32), jnp.asarray(LENGTHS, jnp.int32))


def test_a_faster_clip_is_shorter_and_higher(rng):
    clips = _clips(rng)
    made = KALDI.apply(FACTORS, clips)
    assert made.wave.shape == (4, 8889) and made.rate == 16000
    for index, factor in enumerate((Fraction(9, 10), 1, Fraction(11, 10), 1)):
        size = int(LENGTHS[index] / Fraction(factor) + Fraction(1, 2))
        got = np.asarray(made.wave[index])
        assert made.length[index] == size
        np.testing.assert_array_equal(got[size:], 0)
        peak = np.abs(np.fft.rfft(got[:size] * np.hanning(size))).argmax() / size
        np.testing.assert_allclose(peak, 0.05 * float(factor), atol=0.6 / size)


def test_a_factor_of_one_is_the_wave(rng):
    clips = _clips(rng)
    made = KALDI.apply(FACTORS, clips)
    for index in (1, 3):
        size = LENGTHS[index]
        np.testing.assert_array_equal(made.wave[index, :size], clips.wave[index, :size])


def test_factors_are_drawn_per_example(rng):
    clips = jax.tree.map(lambda leaf: jnp.concatenate([leaf] * 64), _clips(rng))
    drawn = np.asarray(KALDI.draw(jax.random.key(0), np.arange(256), clips))
    values, counts = np.unique(drawn, return_counts=True)
    np.testing.assert_array_equal(values, np.float32([0.9, 1.0, 1.1]))
    assert counts.min() > 60
    ranged = np.asarray(batch(speed(factor=(0.8, 1.3))).draw(jax.random.key(0), np.arange(256), clips))
    assert 0.8 <= ranged.min() < 0.82 and 1.28 < ranged.max() <= 1.3


@pytest.mark.parametrize(
    "settings, shown",
    [({"factor": (1.1, 0.9)}, "(1.1, 0.9)"), ({"factor": (0.0, 1.0)}, "(0.0, 1.0)"), ({"choices": ()}, "None")],
)
def test_wrong_factors_are_refused(settings, shown):
    with pytest.raises(ValueError) as raised:
        speed(**settings)
    assert shown in str(raised.value)
