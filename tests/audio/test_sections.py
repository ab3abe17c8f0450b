"""Designs against SciPy's and the cookbook, by their responses in float64."""

import numpy as np
import pytest
from scipy import signal

from jaxkit.audio import sections

RATE = 16000
# Points on the unit circle, as the values of `s` that the bilinear transform gives them.
ANGLES = np.linspace(0.003, 3.1, 101)
POINTS = 1j * np.tan(ANGLES / 2)


def _response(made):
    """The product of the sections' ratios at `POINTS`."""
    scale = -1 if made.mirrored else 1
    s = POINTS[:, None] ** scale / (made.centre * made.spread**scale)
    high, low = (made.low, made.high) if made.mirrored else (made.high, made.low)
    return np.prod((high * s**2 + made.band * s + low) / (s**2 + made.damping * s + 1), axis=1)


def _system_response(made):
    """The response of the realised system at the same points."""
    system, identity = sections.cascade(made), np.eye(2 * len(made.damping))
    turns = (-1 if made.mirrored else 1) * np.exp(1j * ANGLES)
    states = np.linalg.solve(turns[:, None, None] * identity - identity - system.change, system.enter[:, None])[..., 0]
    return states @ system.leave + system.direct


def _assert_is(made, sos):
    _, expected = signal.sosfreqz(np.atleast_2d(sos), ANGLES)
    np.testing.assert_allclose(_response(made), expected, atol=1e-9)
    np.testing.assert_allclose(_system_response(made), expected, atol=1e-9)


def _edges(centre, q):
    """The edges in Hz of a band around a centre, so that the warped ones are `1 / q` of the warped centre apart."""
    middle = np.tan(np.pi * centre / RATE)
    low = middle * (np.sqrt(1 + 1 / (4 * q * q)) - 1 / (2 * q))
    return np.arctan([low, low + middle / q]) * RATE / np.pi


@pytest.mark.parametrize("order", range(1, 9))
@pytest.mark.parametrize("cutoff", [20.0, 300.0, 4000.0, 7200.0])
def test_butterworth_is_scipys(order, cutoff):
    low = sections.low_pass_sections(np.float64(cutoff), rate=RATE, order=order)
    high = sections.high_pass_sections(np.float64(cutoff), rate=RATE, order=order)
    _assert_is(low, signal.butter(order, cutoff, fs=RATE, output="sos"))
    _assert_is(high, signal.butter(order, cutoff, "highpass", fs=RATE, output="sos"))


@pytest.mark.parametrize("order", range(1, 5))
@pytest.mark.parametrize("centre, q", [(40.0, 30.0), (900.0, 0.5), (3000.0, 0.3), (7000.0, 5.0)])
def test_bands_are_scipys(order, centre, q):
    values = np.float64(centre), np.float64(q)
    for kind, design in (("bandpass", sections.band_pass_sections), ("bandstop", sections.band_stop_sections)):
        sos = signal.butter(order, _edges(centre, q), kind, fs=RATE, output="sos")
        _, expected = signal.sosfreqz(sos, ANGLES)
        np.testing.assert_allclose(_response(design(*values, rate=RATE, order=order)), expected, atol=1e-7)


def _cookbook(kind, frequency, gain_db, q):
    """R. Bristow-Johnson's formulae as they are written."""
    a, w = 10 ** (gain_db / 40), 2 * np.pi * frequency / RATE
    c, alpha = np.cos(w), np.sin(w) / (2 * q)
    root, plus, minus = 2 * np.sqrt(a) * alpha, a + 1, a - 1
    if kind == "peaking":
        return [1 + alpha * a, -2 * c, 1 - alpha * a, 1 + alpha / a, -2 * c, 1 - alpha / a]
    t = 1 if kind == "low" else -1
    return [
        a * (plus - t * minus * c + root),
        t * 2 * a * (minus - t * plus * c),
        a * (plus - t * minus * c - root),
        plus + t * minus * c + root,
        -t * 2 * (minus + t * plus * c),
        plus + t * minus * c - root,
    ]


@pytest.mark.parametrize("frequency", [30.0, 1000.0, 7000.0])
@pytest.mark.parametrize("gain_db, q", [(12.0, 0.7), (-24.0, 3.0), (0.0, 1.0)])
def test_equalisers_are_the_cookbooks(frequency, gain_db, q):
    values = tuple(map(np.float64, (frequency, gain_db, q)))
    for kind, design in (
        ("peaking", sections.peaking_sections),
        ("low", sections.low_shelf_sections),
        ("high", sections.high_shelf_sections),
    ):
        sos = np.array(_cookbook(kind, *values))
        _assert_is(design(*values, rate=RATE), sos / sos[3])


@pytest.mark.parametrize("sos", [signal.ellip(7, 1, 60, 0.3, output="sos"), [2, 1, 0, 2, -1.9, 0], [1, 0, 0, 1, 0, 0]])
def test_any_stable_sections_are_taken(sos):
    sos = np.atleast_2d(sos).astype(float)
    _assert_is(sections.from_sos(sos), sos / sos[:, 3:4])


def test_wrong_sections_are_refused():
    for wrong in (np.ones(6), np.ones((2, 5)), np.zeros((0, 6)), [[1, 0, 0, 0, 1, 0]], [[np.nan, 0, 0, 1, 0, 0]]):
        with pytest.raises(ValueError, match="finite"):
            sections.from_sos(wrong)
    for pole in (1.0, -1.0, 1.2):
        with pytest.raises(ValueError, match="inside the unit circle"):
            sections.from_sos([[1, 0, 0, 1, -pole, 0]])
