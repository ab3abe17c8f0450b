"""Voice activity: hysteresis against scikit-image and a loop, and speech between silences."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from skimage.filters import apply_hysteresis_threshold

from jaxkit import Clip
from jaxkit.audio.vad import hysteresis, segments, voice_activity
from tests.audio.speech import clips

HOP, SIZE = 160, 176_000
ACTIVE = jax.jit(voice_activity)
COUNTS = ((0, 0, 0), (3, 0, 0), (0, 4, 0), (0, 0, 2), (4, 3, 1))


def _loop(scores, shortest, gap, pad):
    """Runs of speech as lists of frames, in the order of the docstring."""
    speech = apply_hysteresis_threshold(scores, 0.3, np.nextafter(0.6, 0)) if len(scores) else np.zeros(0, bool)
    runs = [list(run) for run in segments(speech, hop=1)]
    joined = []
    for run in runs:
        if joined and run[0] - joined[-1][1] < gap:
            joined[-1][1] = run[1]
        else:
            joined.append(run)
    out = np.zeros(len(scores), bool)
    for start, stop in joined:
        if stop - start >= shortest:
            out[max(start - pad, 0) : stop + pad] = True
    return out


@pytest.mark.parametrize("counts", COUNTS)
def test_hysteresis_is_the_loop(counts, rng):
    shortest, gap, pad = counts
    lengths = np.array([60, 60, 60, 41, 1, 0])
    scores = np.convolve(rng.random(6 * 60 + 2), np.ones(3) / 3, "valid").reshape(6, 60).astype(np.float32)
    settings = {"on": 0.6, "off": 0.3, "min_speech": shortest, "min_silence": gap, "pad": pad}
    ours = jax.vmap(lambda s, n: hysteresis(s, length=n, **settings))(jnp.asarray(scores), jnp.asarray(lengths))
    for own, given, size in zip(np.asarray(ours), scores, lengths, strict=True):
        np.testing.assert_array_equal(own[:size], _loop(given[:size], shortest, gap, pad))
        assert not own[size:].any()
    assert 0 < np.asarray(ours)[:4].mean() < 1


def _scene(wave, noise, rng):
    """Speech between two pauses of a second."""
    quiet = np.zeros(16_000, np.float32)
    scene = np.concatenate([quiet, wave[: SIZE - 32_000], quiet])
    return (scene + noise * rng.standard_normal(len(scene))).astype(np.float32)


def _activity(scene):
    padded = np.pad(scene, (0, SIZE - len(scene)), constant_values=np.nan)
    return np.asarray(ACTIVE(Clip(jnp.asarray(padded), jnp.int32(len(scene)))))


@pytest.mark.parametrize("noise", [0.0, 1e-4, 3e-3])
def test_speech_is_found_between_pauses(noise, rng):
    for name, wave in clips()[:4]:
        wave = wave / np.abs(wave).max() * 0.5
        scene = _scene(wave, noise, rng)
        active = _activity(scene)
        assert not active[:80].any() and not active[-(-len(scene) // HOP) - 80 :].any(), name
        power = np.square(scene[: len(scene) // HOP * HOP]).reshape(-1, HOP).sum(1)
        assert power[active[: len(power)]].sum() > 0.95 * power.sum(), name


def test_the_gain_does_not_matter(rng):
    scene = _scene(clips()[0][1], 1e-4, rng)
    np.testing.assert_array_equal(_activity(scene), _activity(scene * np.float32(2.0**-60)))


def test_silence_is_no_speech_and_a_steady_tone_is():
    tone = np.sin(np.arange(16_000) * 0.3).astype(np.float32)
    assert not _activity(np.zeros(16_000, np.float32)).any()
    assert not _activity(np.zeros(0, np.float32)).any()
    assert _activity(tone)[:100].all()
    assert voice_activity(Clip(jnp.zeros((0,)))).shape == (0,)


def test_segments_are_stretches_of_samples():
    active = [True, True, False, False, True, False, True]
    np.testing.assert_array_equal(segments(active, hop=10), [[0, 20], [40, 50], [60, 70]])
    np.testing.assert_array_equal(segments(active, hop=10, length=65)[-1], [60, 65])
    assert segments([False] * 4).shape == segments([]).shape == (0, 2)
    with pytest.raises(ValueError, match="one clip"):
        segments(np.zeros((2, 3)))


def test_wrong_settings_are_refused():
    clip = Clip(jnp.ones(999))
    for wrong in ({"on": 0.2, "off": 0.3}, {"on": 1.5}, {"hop": 0}, {"width": 100}, {"pad": -1.0}):
        with pytest.raises(ValueError):
            voice_activity(clip, **wrong)
    with pytest.raises(ValueError, match="negative"):
        hysteresis(jnp.ones(3), on=0.5, off=0.5, pad=-1)
