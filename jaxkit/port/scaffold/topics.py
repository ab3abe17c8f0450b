"""The topics that a rewrite from NumPy or PyTorch to JAX needs care with: why, and what to do instead."""

from typing import NamedTuple


class Topic(NamedTuple):
    """One kind of trouble: its title, why it is trouble, and what to do instead."""

    title: str
    why: str
    instead: str


TOPICS = {
    "loop": Topic(
        "Python loop",
        "Each turn costs Python time; under jit the loop unrolls, so that compile time grows with the count.",
        "Write it over whole arrays, `jax.vmap` the body, or use `jax.lax.fori_loop` / `scan` where turns depend on "
        "each other. A loop over a few constants may stay.",
    ),
    "while": Topic(
        "`while` on data",
        "The number of turns is not known while JAX traces.",
        "`jax.lax.while_loop`, or a fixed number of turns with a mask.",
    ),
    "inplace": Topic(
        "write in place",
        "JAX arrays cannot be written; NumPy also changes the caller's array here.",
        "`x.at[i].set(v)` / `.add(v)`, or `jnp.where` for a mask; better still, compute the whole array in one "
        "expression. `.at[i].add` adds for every repeated index, `x[i] += v` in NumPy only once.",
    ),
    "random": Topic(
        "random numbers",
        "A hidden generator state does not exist in JAX, and the same seed gives other numbers.",
        "Split it: `draw(key) -> params` and `apply(params, x)`. Prove `apply` with injected draws and the draws with "
        "`SameDistribution`. One key for each draw; `fold_in(key, id)` for each example.",
    ),
    "state": Topic(
        "state outside the function",
        "A traced function runs its Python once: later changes of globals and attributes are not seen or not made.",
        "Pass the value in and return the new one.",
    ),
    "cast": Topic(
        "cast to a narrower integer",
        "Float to uint8 wraps in NumPy and saturates in JAX; both cut towards zero.",
        "Round and clip before the cast: `jnp.clip(jnp.rint(x), 0, 255).astype(jnp.uint8)`; state the difference in "
        "`deviations` if the old code wrapped.",
    ),
    "shape": Topic(
        "shape that depends on the data",
        "XLA needs every shape at compile time; under jit this raises.",
        "Keep the full shape and mask it: `jnp.where(mask, x, 0)`, `jnp.sum(x, where=mask)`; or give a `size=` to "
        "`jnp.nonzero` / `jnp.unique`, and pad.",
    ),
    "argument": Topic(
        "shape from an argument",
        "A size must be a Python number while JAX traces, and every new value compiles again.",
        "Mark it in `static_argnames`, or make it an argument of a factory.",
    ),
    "ddof": Topic(
        "standard deviation or variance",
        "NumPy and JAX divide by n, torch by n - 1.",
        "Say `ddof=` (`correction=` in torch) on both sides.",
    ),
    "float64": Topic(
        "64-bit numbers",
        "JAX narrows to 32 bits unless `jax_enable_x64` is on; NumPy makes float64 by default.",
        "Use float32 and prove it with `Close(truth=...)`. Where 32 bits do not hold (sums of many values, "
        "times, identifiers) centre or split the values first.",
    ),
    "file": Topic(
        "reading or writing files",
        "Under jit this happens once, while tracing.",
        "Leave it to the caller: arrays in, arrays out.",
    ),
    "print": Topic(
        "printing, logging, warnings",
        "Under jit this happens once, while tracing, and shows tracers.",
        "`jax.debug.print`, or return what is to be told.",
    ),
    "torch": Topic(
        "torch",
        "torch cannot be traced by JAX.",
        "Rewrite it in `jax.numpy`; `jaxkit.interop.torch_compatible` lets the finished function take and return "
        "tensors. Mind NCHW against NHWC, and `align_corners`.",
    ),
    "host": Topic(
        "value taken to the host",
        "`.item()`, `float(x)`, `.numpy()` wait for the device and cannot be traced.",
        "Keep the array; take the value out after the jitted call.",
    ),
    "append": Topic(
        "growing a list or array",
        "The size changes with every turn of the loop.",
        "Make the whole array at once (`jax.vmap`), let `jax.lax.scan` stack the outputs, or fill a padded array.",
    ),
    "except": Topic(
        "try / except, raise, assert",
        "Errors that depend on values do not exist under jit: NaN, inf and clamped indices come out instead.",
        "Check values before the call (shapes may be checked inside), or use `jax.experimental.checkify`.",
    ),
    "library": Topic(
        "call of another library",
        "It cannot be traced, and its border rule, rounding and coefficient precision are part of the result.",
        "See `jaxkit.warp`, `jaxkit.image` and `jax.scipy` for the same operation; compare the border and the "
        "rounding. For a rare host step `jax.pure_callback`.",
    ),
    "index": Topic(
        "computed index",
        "Out of bounds raises in NumPy; JAX clamps when it reads and drops what it writes. Negative ones wrap in both.",
        'Show that it stays inside, pad the array, or say it: `x.at[i].get(mode="fill", fill_value=0)`.',
    ),
    "slice": Topic(
        "computed slice",
        "The bounds fix the shape, so they must not be data; a negative start wraps silently in NumPy.",
        "`jax.lax.dynamic_slice` with a static size (it moves the start to stay inside), or shifted copies of a "
        "padded array.",
    ),
    "branch": Topic(
        "`if` on data",
        "The branch is chosen while tracing, when values are not known.",
        "`jnp.where`, `jax.lax.cond`, or a static argument if it is a setting. Under vmap both branches run.",
    ),
    "recursion": Topic(
        "recursion",
        "It unrolls while tracing, and cannot end on a value.",
        "A loop with an explicit stack, or levels of a fixed depth.",
    ),
    "generator": Topic(
        "`yield`",
        "A generator hands out one item at a time and cannot be traced or compared.",
        "Return the whole batch; leave the iteration to the caller.",
    ),
    "workers": Topic(
        "processes and threads",
        "A process forked after JAX has started hangs.",
        "One batched call uses all cores; where processes stay, use the start method spawn or forkserver.",
    ),
}
