"""Weights rounded one after the other, so that those still to come make up for the errors of those before.

Frantar & Alistarh, "Optimal Brain Compression" (2022), with the Cholesky factor of Frantar et al., "GPTQ" (2022): a
weight's error is spread over the weights of its channel that are still real, such that the mean square error of the
channel's sums is the least. Two things differ. Every integer stays within limits of its own; what a limit cuts off is
an error like any other, which later weights make up for. And where a bias takes up the mean error, the products that
come in are about the mean: what is left to be small is the error's variance.
"""

import numpy as np

Array = np.ndarray
DAMPING = 0.01  # of the mean of the diagonal, as in the paper
BLOCK = 64  # of weights, whose errors reach those far behind in one product of matrices


def compensated(kernel: Array, products: Array, low: Array, high: Array) -> Array:
    """Integers for the weights of a layer, in steps of their scale.

    Args:
      kernel: `[..., I / groups, O]`, in steps.
      products: mean products of the patches that the kernel meets, `[groups, K, K]`; see `Moments`. With a multiple of
        the identity in each group, the integers are the nearest ones.
      low, high: integers that bound the results, of the kernel's shape.

    Returns:
      float64 integers of the kernel's shape.
    """
    order, factor = _factor(products)
    rows, low, high = (_ordered(x, order) for x in (kernel, low, high))
    ordered = _rounded(rows, factor, low, high)
    integers = np.empty_like(ordered)
    np.put_along_axis(integers, np.broadcast_to(order[..., None], ordered.shape), ordered, axis=1)
    return integers.transpose(1, 0, 2).reshape(kernel.shape)


def _factor(products: Array) -> tuple[Array, Array]:
    """The order of rounding, largest first, `[groups, K]`, and the upper factor of the inverse: `U.T @ U`."""
    diagonal = np.einsum("gkk->gk", products)
    order = np.argsort(-diagonal, axis=1, kind="stable")
    size = diagonal.mean(axis=1)[:, None, None]
    # Inputs that are always 0, or next to it, must not make noise of their products.
    size = np.maximum(size, max(1e-6 * size.max(), 1e-30))
    h = np.take_along_axis(np.take_along_axis(products, order[:, :, None], 1), order[:, None, :], 2)
    h = h / size + DAMPING * np.eye(h.shape[1])
    # Factored from its end, `h` is V @ V.T with V upper; the factor of its inverse is the inverse of V.
    return order, np.linalg.inv(np.linalg.cholesky(h[:, ::-1, ::-1])[:, ::-1, ::-1])


def _ordered(x: Array, order: Array) -> Array:
    """Rows of a kernel in their order, `[groups, K, O / groups]`."""
    groups, length = order.shape
    rows = np.asarray(x, np.float64).reshape(length, groups, -1).transpose(1, 0, 2)
    return np.take_along_axis(rows, order[..., None], axis=1)


def _rounded(rows: Array, factor: Array, low: Array, high: Array) -> Array:
    integers, length = np.empty_like(rows), rows.shape[1]
    for start in range(0, length, BLOCK):
        stop = min(start + BLOCK, length)
        errors = np.empty_like(rows[:, start:stop])
        for i in range(start, stop):
            integers[:, i] = np.clip(np.rint(rows[:, i]), low[:, i], high[:, i])
            error = (rows[:, i] - integers[:, i]) / factor[:, i, i, None]
            rows[:, i + 1 : stop] -= factor[:, i, i + 1 : stop, None] * error[:, None]
            errors[:, i - start] = error
        rows[:, stop:] -= factor[:, start:stop, stop:].transpose(0, 2, 1) @ errors
    return integers
