"""Image sources against an obvious loop in float64, and the decay that was asked for."""

import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.signal

from jaxkit.audio.rir import aligned_rir, order_within, simulate_rir, static_settings

RATE, SAMPLES, ORDER, TAPS = 16000, 800, (2, 3, 4), 16
ROOMS = (
    ((4.0, 3.5, 2.8), (1.0, 1.2, 1.5), (3.1, 2.2, 1.3), ((0.9, 0.8), (0.7, 0.95), (0.6, 0.85))),
    ((5.5, 3.0, 2.5), (5.0, 0.2, 1.0), (0.5, 2.9, 2.4), ((0.0, 1.0), (-0.5, 0.3), (0.99, 0.0))),
)


def _loop(room, source, microphone, walls, late=0.0):
    """One image after the other; the response is `late` samples late."""
    room, source, microphone, walls = map(np.asarray, (room, source, microphone, walls))
    out = np.zeros(SAMPLES)
    for repeat in itertools.product(*(range(-order, order + 1) for order in ORDER)):
        for mirrored in itertools.product((0, 1), repeat=3):
            n, q = np.array(repeat), np.array(mirrored)
            distance = np.linalg.norm((1 - 2 * q) * source + 2 * n * room - microphone)
            amplitude = np.prod(walls[:, 0] ** np.abs(n - q) * walls[:, 1] ** np.abs(n)) / (4 * np.pi * distance)
            place = distance / 343.0 * RATE + late
            steps = np.arange(math.floor(place) - TAPS // 2 + 1, math.floor(place) + TAPS // 2 + 1)
            steps = steps[(steps >= 0) & (steps < SAMPLES)] if place <= SAMPLES else steps[:0]
            out[steps] += amplitude * np.sinc(steps - place) * 0.5 * (1 + np.cos(2 * np.pi * (steps - place) / TAPS))
    return out


def _filtered(response, cut_off=100.0):
    """The high-pass filter of the paper, as a recursion."""
    angle = 2 * np.pi * cut_off / RATE
    radius = np.exp(-angle)
    return scipy.signal.lfilter([1, -(1 + radius), radius], [1, -2 * radius * np.cos(angle), radius**2], response)


@functools.cache
def _simulation(high_pass_hz):
    simulate = functools.partial(
        simulate_rir, order=ORDER, seconds=SAMPLES / RATE, taps=TAPS, high_pass_hz=high_pass_hz
    )
    return jax.jit(
        jax.vmap(lambda room, source, microphone, walls: simulate(room, source, microphone, reflection=walls))
    )


def _columns(rooms):
    return [jnp.asarray(column, jnp.float32) for column in zip(*rooms, strict=True)]


@pytest.mark.parametrize("high_pass_hz", [0.0, 100.0])
def test_responses_are_the_loop(high_pass_hz):
    responses = np.asarray(_simulation(high_pass_hz)(*_columns(ROOMS)))
    for response, room in zip(responses, ROOMS, strict=True):
        expected = _loop(*room) if high_pass_hz == 0 else _filtered(_loop(*room))
        assert response.shape == (SAMPLES,)
        np.testing.assert_allclose(response, expected, atol=5e-5 * np.abs(expected).max())


def test_without_reflections_there_is_the_straight_way_only():
    source, microphone = np.array([1.0, 1.0, 1.0]), np.array([1.0, 1.0, 1.0 + 343.0 * 50 / RATE])
    dead = functools.partial(simulate_rir, reflection=0.0, order=1, high_pass_hz=0.0)
    got = jax.jit(dead)(np.array([4.0, 4.0, 4.0], np.float32), source.astype(np.float32), microphone.astype(np.float32))
    assert got.shape == (8000,) and int(np.argmax(got)) == 50
    np.testing.assert_allclose(got[50], 1 / (4 * np.pi * 343.0 * 50 / RATE), rtol=1e-4)
    np.testing.assert_allclose(np.delete(np.asarray(got), 50), 0, atol=1e-5)


def _measured(response):
    """Three times the time from -5 to -25 dB of the energy to come."""
    left = np.cumsum(np.asarray(response, np.float64)[::-1] ** 2)[::-1]
    level = 10 * np.log10(left / left[0] + 1e-30)
    return 3 * (np.argmax(level < -25) - np.argmax(level < -5)) / RATE


@functools.cache
def _decaying():
    order = order_within((4.0, 3.5, 2.8), seconds=0.4)
    return jax.jit(jax.vmap(lambda *room, t60: simulate_rir(*room, t60=t60, order=order, seconds=0.4, taps=16)))


def test_sound_decays_as_asked_and_sixteen_rooms_are_one_program(programs):
    side = np.linspace(0, 1, 16)[:, None]
    rooms = jnp.asarray(np.array([[4.0, 3.5, 2.8]]) + side * np.array([[3.0, 1.5, 0.5]]), jnp.float32)
    spots = [rooms * jnp.asarray(part, jnp.float32)[None, :] for part in ((0.3, 0.4, 0.55), (0.7, 0.6, 0.4))]
    asked = np.linspace(0.15, 0.4, 16).astype(np.float32)
    before = len(programs)
    responses = np.asarray(_decaying()(rooms, *spots, t60=asked))
    assert len(programs) == before + 1
    measured = np.array([_measured(response) for response in responses])
    np.testing.assert_allclose(measured, asked, rtol=0.12)
    np.testing.assert_allclose(np.mean(measured / asked), 1, atol=0.05)


def test_an_aligned_response_starts_with_the_straight_way():
    settings = static_settings(ORDER, SAMPLES / RATE, RATE, TAPS, 0.0)
    response = jax.jit(functools.partial(aligned_rir, settings))(*(jnp.asarray(part, jnp.float32) for part in ROOMS[0]))
    late = TAPS // 2 - np.linalg.norm(np.subtract(ROOMS[0][1], ROOMS[0][2])) / 343.0 * RATE
    expected = _loop(*ROOMS[0], late=late)
    assert np.argmax(response) == TAPS // 2
    np.testing.assert_allclose(response, expected, atol=5e-5 * expected.max())


def test_a_room_in_a_batch_is_the_room_alone():
    columns = _columns(ROOMS)
    batched = np.asarray(_simulation(100.0)(*columns))
    swapped = np.asarray(_simulation(100.0)(*(column[::-1] for column in columns)))
    np.testing.assert_array_equal(swapped[::-1], batched)


def test_derivatives_are_finite_and_follow_differences():
    room, source, microphone = (jnp.asarray(part) for part in ROOMS[0][:3])
    weights = jnp.asarray(np.random.default_rng(0).normal(size=SAMPLES), jnp.float32)

    @jax.jit
    @functools.partial(jax.value_and_grad, argnums=(0, 1, 2, 3))
    def slopes(room, source, microphone, t60):
        settings = dict(t60=t60, order=1, seconds=SAMPLES / RATE, taps=TAPS, high_pass_hz=0.0)
        return jnp.vdot(simulate_rir(room, source, microphone, **settings), weights)

    _, at = slopes(room, source, microphone, jnp.float32(0.3))
    ahead, behind = (slopes(room, source, microphone, jnp.float32(0.3 + step))[0] for step in (0.01, -0.01))
    np.testing.assert_allclose(at[3], (ahead - behind) / 0.02, rtol=0.02)
    _, same = slopes(room, source, source, jnp.float32(0.0))
    assert all(np.isfinite(slope).all() for slope in (*at, *same))


@pytest.mark.parametrize(
    "settings, words",
    [
        ({}, "either t60 or reflection"),
        ({"t60": 0.3, "reflection": 0.5}, "either t60 or reflection"),
        ({"t60": 0.3, "order": -1}, "-1"),
        ({"t60": 0.3, "order": (1, 2)}, r"\(1, 2\)"),
        ({"t60": 0.3, "rate": 0}, "got 0"),
        ({"t60": 0.3, "taps": 5}, "got 5"),
        ({"t60": 0.3, "seconds": 0.0}, "0.0"),
        ({"t60": 0.3, "seconds": math.nan}, "nan"),
        ({"t60": 0.3, "high_pass_hz": 8000.0}, "8000"),
        ({"t60": 0.3, "formula": "norris"}, "norris"),
    ],
)
def test_nonsense_is_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        simulate_rir(*(jnp.asarray(part) for part in ROOMS[0][:3]), **settings)
