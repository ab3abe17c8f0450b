"""Weights that make up for each other's errors: better where errors add up, nearest elsewhere."""

import itertools

import numpy as np
import pytest

from jaxkit.compress.compensated import compensated

FREE = 1000.0


def _free(kernel, products):
    return compensated(kernel, products, np.full(kernel.shape, -FREE), np.full(kernel.shape, FREE))


def _products(x):
    return np.einsum("ngk,ngl->gkl", x, x) / len(x)


def _errors(products, kernel, integers):
    """Mean square errors of the sums of every output, `[groups, O / groups]`."""
    groups, length, _ = products.shape
    off = (integers - kernel).reshape(length, groups, -1)
    return np.einsum("kgo,gkl,lgo->go", off, products, off)


@pytest.mark.parametrize("shape, groups", [((70, 16), 1), ((3, 3, 8, 5), 1), ((3, 3, 4, 6), 2), ((3, 3, 1, 12), 12)])
def test_errors_of_correlated_inputs_are_far_below_those_of_nearest(rng, shape, groups):
    length = int(np.prod(shape[:-1]))
    mixed = np.stack([rng.normal(size=(length // 3, length)) for _ in range(groups)])
    x = np.einsum("ngj,gjk->ngk", rng.normal(size=(500, groups, length // 3)), mixed)
    x += 0.1 * rng.normal(size=x.shape)
    kernel, products = rng.uniform(-20, 20, shape), _products(x)
    integers = _free(kernel, products)
    np.testing.assert_array_equal(integers, np.rint(integers))
    found, nearest = (_errors(products, kernel, w).sum() for w in (integers, np.rint(kernel)))
    assert found < 0.5 * nearest


def test_inputs_that_know_nothing_of_each_other_get_the_nearest_integers(rng):
    kernel = rng.uniform(-20, 20, (3, 3, 9, 4))
    products = np.stack([np.eye(81), 7 * np.eye(81)])
    np.testing.assert_array_equal(_free(kernel, products), np.rint(kernel))


def test_each_step_is_the_best_for_what_is_left(rng):
    # Obvious: after each rounding, least squares over the weights that are still real.
    x = rng.normal(size=(200, 1, 7)) @ rng.normal(size=(7, 7))
    products, kernel = _products(x), rng.uniform(-9, 9, (7, 3))
    h = products[0] + 0.01 * np.trace(products[0]) / 7 * np.eye(7)
    order = np.argsort(-np.diag(h))
    wanted = kernel.copy()
    for done in range(1, 8):
        fixed, left = order[:done], order[done:]
        wanted[fixed[-1]] = np.rint(wanted[fixed[-1]])
        off = wanted[fixed] - kernel[fixed]
        wanted[left] = kernel[left] - np.linalg.solve(h[np.ix_(left, left)], h[np.ix_(left, fixed)] @ off)
    np.testing.assert_array_equal(_free(kernel, products), wanted)


def test_limits_hold_and_others_make_up_for_what_they_cut(rng):
    x = rng.normal(size=(300, 1, 3)) @ rng.normal(size=(3, 12))
    kernel, products = rng.uniform(-9, 9, (12, 5)), _products(x)
    low, high = np.full(kernel.shape, -6.0), np.full(kernel.shape, 7.0)
    integers = compensated(kernel, products, low, high)
    assert integers.min() >= -6 and integers.max() <= 7
    cut = np.clip(np.rint(kernel), low, high)
    assert _errors(products, kernel, integers).sum() < 0.5 * _errors(products, kernel, cut).sum()


@pytest.mark.parametrize("kind", ["zeros", "some zeros", "one example", "subnormal", "not symmetric", "not definite"])
def test_products_that_have_no_inverse_do(rng, kind):
    x = rng.normal(size=(50, 4, 9))
    x[:, 1:3] *= {"zeros": 0, "some zeros": 0, "subnormal": 1e-160}.get(kind, 1)
    products = _products(x[:1] if kind == "one example" else x) * (kind != "zeros")
    if kind == "not symmetric":
        products *= 1 + 1e-5 * rng.normal(size=products.shape)
    if kind == "not definite":
        products -= 1e-4 * np.eye(9)
    kernel = rng.uniform(-5, 5, (3, 3, 1, 8))
    integers = _free(kernel, products)
    assert np.isfinite(integers).all() and np.abs(integers - kernel).max() < 40
    if kind in ("zeros", "subnormal", "some zeros"):
        dead = slice(None) if kind == "zeros" else slice(2, 6)
        np.testing.assert_array_equal(integers[..., dead], np.rint(kernel[..., dead]))


def test_a_few_weights_come_close_to_the_best_of_all_integers(rng):
    x = rng.normal(size=(100, 1, 4)) @ rng.normal(size=(4, 4))
    kernel, products = rng.uniform(-3, 3, (4, 30)), _products(x)
    around = np.array(list(itertools.product((-1, 0, 1), repeat=4))).T
    best = np.min([_errors(products, kernel, np.rint(kernel) + step[:, None]) for step in around.T], axis=0).sum()
    found, nearest = (_errors(products, kernel, w).sum() for w in (_free(kernel, products), np.rint(kernel)))
    assert best <= found + 1e-9 and found - best < 0.5 * (nearest - best)
