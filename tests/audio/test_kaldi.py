"""Filter banks and cepstra against kaldi-native-fbank, on speech."""

import functools

import jax
import jax.numpy as jnp
import kaldi_native_fbank as knf
import numpy as np
import pytest

from jaxkit import Clip
from jaxkit.audio.kaldi import kaldi_fbank, kaldi_mfcc
from tests.audio.speech import clips

CAPACITY = 120_000
SAMPLES = 16_100
# Our names of settings, and those of the reference.
NAMES = {
    "n_mels": ("mel_opts", "num_bins"),
    "low": ("mel_opts", "low_freq"),
    "high": ("mel_opts", "high_freq"),
    "frame_ms": ("frame_opts", "frame_length_ms"),
    "hop_ms": ("frame_opts", "frame_shift_ms"),
    "window": ("frame_opts", "window_type"),
    "preemphasis": ("frame_opts", "preemph_coeff"),
    "remove_dc": ("frame_opts", "remove_dc_offset"),
    "snip_edges": ("frame_opts", "snip_edges"),
    "power_of_two": ("frame_opts", "round_to_power_of_two"),
    "n_ceps": (None, "num_ceps"),
    "lifter": (None, "cepstral_lifter"),
    "log": (None, "use_log_fbank"),
    "use_power": (None, "use_power"),
    "floor": (None, "eps"),
    "use_energy": (None, "use_energy"),
    "raw_energy": (None, "raw_energy"),
    "energy_floor": (None, "energy_floor"),
    "htk_compat": (None, "htk_compat"),
}
FBANKS = {
    "80 mels": {"n_mels": 80},
    "40 mels in a band": {"n_mels": 40, "low": 60.0, "high": 7000.0},
    "lhotse": {"n_mels": 80, "snip_edges": False, "high": -400.0, "input_scale": "unit"},
    "energy": {"use_energy": True, "window": "hamming"},
    "energy after the window, last": {"use_energy": True, "raw_energy": False, "htk_compat": True},
    "energy floor": {"use_energy": True, "energy_floor": 1e6, "window": "hann"},
    "as it comes": {"remove_dc": False, "preemphasis": 0.0, "window": "rectangular"},
    "other times": {"frame_ms": 32.0, "hop_ms": 12.5, "snip_edges": False},
    "a hop that is odd": {"frame_ms": 20.0, "hop_ms": 7.0625, "snip_edges": False},
    "no power of two": {"power_of_two": False, "window": "blackman"},
    "a floor": {"floor": 1e6, "window": "sine"},
    "linear magnitudes": {"log": False, "use_power": False},
}
MFCCS = {
    "default": {},
    "no energy": {"use_energy": False, "n_mels": 40, "n_ceps": 20, "high": -200.0},
    "htk": {"htk_compat": True, "use_energy": False, "lifter": 0.0},
    "htk with energy": {"htk_compat": True, "raw_energy": False, "snip_edges": False},
}


def named(table):
    """Parametrises over a table of names and settings."""
    return pytest.mark.parametrize("settings", table.values(), ids=list(table))


def _reference(wave, kind="Fbank", *, rate=16000, input_scale="int16", **settings):
    options = getattr(knf, f"{kind}Options")()
    options.frame_opts.dither, options.frame_opts.samp_freq = 0.0, rate
    for name, value in settings.items():
        group, theirs = NAMES[name]
        # What others call hann is `hanning` there; its `hann` is periodic.
        value = {"hann": "hanning"}.get(value, value) if name == "window" else value
        setattr(getattr(options, group) if group else options, theirs, value)
    made = getattr(knf, f"Online{kind}")(options)
    made.accept_waveform(rate, wave * np.float32(32768 if input_scale == "int16" else 1))
    made.input_finished()
    return np.stack([made.get_frame(i) for i in range(made.num_frames_ready)])


def _alike(ours, expected):
    """Log energies agree. Where they are 80 dB below the loudest of their frame, they hold what rounding left."""
    off = np.abs(ours - expected)
    heard = expected > expected.max(axis=1, keepdims=True) - np.log(1e8)
    assert off[heard].max() < 1e-3 and off.max() < 2e-2


def _excerpt():
    """Noise, so that no value depends on what rounding leaves of a cancelled bin, with an offset and a quiet part."""
    wave = clips()[0][1][8000 : 8000 + SAMPLES] + np.float32(0.05)
    return wave + np.random.default_rng(2).normal(0, 1e-3, SAMPLES).astype(np.float32)


@pytest.mark.parametrize("snip_edges", [True, False])
def test_fbank_of_speech_differs_from_kaldi_by_rounding(snip_edges):
    waves = [wave[:CAPACITY] for _, wave in clips()]
    padded = np.stack([np.pad(wave, (0, CAPACITY - len(wave)), constant_values=np.nan) for wave in waves])
    function = jax.jit(jax.vmap(functools.partial(kaldi_fbank, n_mels=80, snip_edges=snip_edges)))
    features = function(Clip(jnp.asarray(padded), jnp.array([len(wave) for wave in waves], jnp.int32)))
    values = np.asarray(features.values)
    for wave, ours, length in zip(waves, values, np.asarray(features.length), strict=True):
        expected = _reference(wave, n_mels=80, snip_edges=snip_edges)
        assert len(expected) == length
        _alike(ours[:length], expected)
        assert np.abs(ours[:length] - expected).mean() < 1e-5
        np.testing.assert_array_equal(ours[length:], 0)


@named(FBANKS)
def test_fbank_with_settings(settings):
    wave = _excerpt()
    expected = _reference(wave, **settings)
    ours = np.asarray(jax.jit(functools.partial(kaldi_fbank, **settings))(Clip(jnp.asarray(wave))).values)
    assert ours.shape == expected.shape
    if settings.get("log", True):
        _alike(ours, expected)
    else:
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-5 * expected.max())


@named(MFCCS)
def test_mfcc_with_settings(settings):
    wave = _excerpt()
    expected = _reference(wave, "Mfcc", **settings)
    ours = np.asarray(jax.jit(functools.partial(kaldi_mfcc, **settings))(Clip(jnp.asarray(wave))).values)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-3)


@pytest.mark.parametrize("rate", [8000, 11025])
def test_other_rates(rate):
    wave = _excerpt()
    settings = {"n_mels": 40, "snip_edges": False}
    expected = _reference(wave, rate=rate, **settings)
    ours = jax.jit(functools.partial(kaldi_fbank, **settings))(Clip(jnp.asarray(wave), rate=rate)).values
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-3)


def test_a_large_offset_is_removed():
    wave = _excerpt() + np.float32(30.0)
    ours = jax.jit(kaldi_fbank)(Clip(jnp.asarray(wave))).values
    np.testing.assert_allclose(ours, _reference(wave), rtol=0, atol=3e-2)


def test_silence_is_the_floor():
    clip = Clip(jnp.zeros(1000))
    eps = np.log(np.finfo(np.float32).eps)
    banks, cepstra = jax.jit(lambda clip: (kaldi_fbank(clip), kaldi_mfcc(clip, use_energy=False)))(clip)
    np.testing.assert_allclose(banks.values, eps, rtol=1e-6)
    np.testing.assert_allclose(cepstra.values[:, 0], eps * np.sqrt(23), rtol=1e-6)


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"n_mels": 0}, "n_mels"),
        ({"low": 9000.0}, "9000"),
        ({"high": -8000.0}, "0.0"),
        ({"window": "kaiser"}, "kaiser"),
        ({"input_scale": 32768}, "32768"),
        ({"frame_ms": 0.01}, "0.01 ms"),
        ({"hop_ms": float("nan")}, "nan"),
        ({"preemphasis": "much"}, "much"),
        ({"energy_floor": None}, "None"),
    ],
)
def test_wrong_settings_are_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        kaldi_fbank(Clip(jnp.zeros(800)), **settings)


def test_more_cepstra_than_filters_are_refused():
    with pytest.raises(ValueError, match="n_ceps"):
        kaldi_mfcc(Clip(jnp.zeros(800)), n_ceps=24)
