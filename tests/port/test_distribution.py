"""The distribution check finds wrong draws, and leaves right ones alone."""

import numpy as np
import pytest
from scipy import stats

from jaxkit.port import Request, SameDistribution
from jaxkit.port import significance as sig
from jaxkit.port.sides import SideError

LABELS = ("angle", "noise", "on")
QUICK = Request(quick=True)


def draws(seed, count, *, stream=0, scale=1.0, shift=0.0):
    rng = np.random.default_rng([seed, stream])
    angle, noise = rng.uniform(-5, 5, count), rng.normal(size=count)
    return np.stack([angle, noise * scale + shift, rng.random(count) < 0.3], 1)


def rewrite(seed, count):
    return draws(seed, count, stream=1).astype(np.float32)


def check(program, request=QUICK, reference=draws, labels=LABELS):
    return SameDistribution(reference, program, labels).check(None, request)


def test_right_draws_pass_on_fifty_seeds_and_are_rarely_tried_again():
    verdicts = [check(rewrite, Request(quick=True, seed=3 * seed)) for seed in range(50)]
    assert all(verdict.passed for verdict in verdicts)
    # With alpha 1e-3, two alarms of the first try in fifty have a chance of one in a thousand.
    assert sum(verdict.figures["retried"] == "yes" for verdict in verdicts) <= 1


@pytest.mark.slow
def test_a_scale_error_of_two_percent_of_normal_draws_is_found():
    verdict = check(lambda seed, count: draws(seed, count, stream=1, scale=1.02), Request())
    assert not verdict.passed and "variance of noise" in verdict.message
    assert verdict.figures["retried"] == "yes" and verdict.figures["draws"] == 1_000_000


def test_the_verdict_states_the_scale_error_that_it_could_see():
    verdict = check(rewrite, Request())
    assert verdict.passed and verdict.figures["least visible in"] == "noise"
    assert 0.01 < verdict.figures["visible scale error"] < 0.02
    assert check(rewrite).figures["visible scale error"] > 0.03


def test_the_range_of_a_bounded_draw_is_found_with_few_draws():
    def wide(seed, count):
        return rewrite(seed, count) * np.array([1.02, 1, 1], np.float32)

    verdict = SameDistribution(draws, wide, LABELS, count=4000).check(None, Request())
    assert not verdict.passed and "angle covers [-5.1, 5.1]" in verdict.message


def test_a_shifted_mean_is_found():
    verdict = check(lambda seed, count: draws(seed, count, stream=1, shift=0.05))
    assert not verdict.passed and "mean of noise differs" in verdict.message


def test_one_key_shared_by_a_batch_is_found():
    def shared(seed, count):
        few = rewrite(seed, count // 50 + 1)
        return np.repeat(few, 50, axis=0)[:count]

    verdict = check(shared)
    assert not verdict.passed and "one key shared by a batch" in verdict.message


def test_a_dependence_without_repeats_is_found_by_the_groups():
    def common_part(seed, count):
        table = rewrite(seed, count)
        common = np.random.default_rng([seed, 2]).normal(size=count // 64 + 1).repeat(64)[:count]
        table[:, 1] = np.sqrt(0.9) * table[:, 1] + np.sqrt(0.1) * common
        return table

    assert stats.kstest(common_part(0, 10_000)[:, 1], "norm").pvalue > 0.01, "the marginal distribution is right"
    verdict = check(common_part)
    assert not verdict.passed and "means over groups of 64 vary" in verdict.message


def test_values_that_repeat_are_found():
    verdict = check(lambda seed, count: np.tile(rewrite(seed, count // 2), (2, 1)))
    assert not verdict.passed and "values repeat in angle, noise, whole rows" in verdict.message


def test_one_key_for_two_parameters_is_found():
    def twice(seed, count):
        table = rewrite(seed, count)
        table[:, 0] = 10 * stats.norm.cdf(table[:, 1]) - 5
        return table

    verdict = check(twice)
    assert not verdict.passed and "angle and noise correlate" in verdict.message


def test_a_seed_that_is_ignored_is_found():
    verdict = check(lambda seed, count: draws(3, count, stream=1))
    assert not verdict.passed and "ignores its seed" in verdict.message


def test_discrete_and_constant_columns_pass_in_another_precision():
    def steps(seed, count, stream=0):
        rng = np.random.default_rng([seed, stream])
        return np.stack([rng.integers(0, 8, count) * 0.1, np.full(count, 0.1), rng.random(count) < 1e-3], 1)

    labels = ("step", "constant", "rare")
    single = lambda seed, count: steps(seed, count, 1).astype(np.float32)  # noqa: E731
    assert all(check(single, Request(quick=True, seed=3 * s), steps, labels).passed for s in range(20))

    def other_constant(seed, count):
        return single(seed, count) + np.array([0, 1e-3, 0], np.float32)

    verdict = check(other_constant, QUICK, steps, labels)
    assert not verdict.passed and "constant is always 0.101" in verdict.message


def test_draws_that_cannot_be_tested_are_reported():
    verdict = check(lambda seed, count: np.full((count, 3), np.nan))
    assert not verdict.passed and "not all finite" in verdict.message
    with pytest.raises(SideError, match=r"float64\[10000\]: \[10000, 3\] is needed"):
        check(lambda seed, count: np.zeros(count))
    with pytest.raises(ValueError, match="one name per column"):
        SameDistribution(draws, draws, "angle")
    with pytest.raises(ValueError, match="count=10"):
        SameDistribution(draws, draws, LABELS, count=10)


def test_kolmogorov_smirnov_agrees_with_scipy():
    rng = np.random.default_rng(0)
    for a, b in ((rng.normal(size=3000), rng.normal(size=2000)), (rng.normal(size=900), rng.normal(size=1500) * 1.2)):
        theirs = stats.ks_2samp(a, b, method="asymp")
        distance = sig.kolmogorov_distance(a, b)
        assert distance == pytest.approx(theirs.statistic, abs=1e-12)
        assert sig.kolmogorov_p(distance, a.size, b.size) == pytest.approx(theirs.pvalue, rel=0.1)
    assert sig.kolmogorov_p(0.0, 10, 10) == 1.0


def test_normal_and_welch_agree_with_scipy():
    assert sig.normal_p(-2.5) == pytest.approx(2 * stats.norm.sf(2.5), rel=1e-12)
    assert sig.normal_z(1e-6) == pytest.approx(stats.norm.isf(5e-7), abs=1e-9)
    a, b = np.random.default_rng(1).gamma(2, size=(2, 5000))
    assert -sig.mean_z(a, b) == pytest.approx(stats.ttest_ind(a, b, equal_var=False).statistic, rel=1e-12)


def test_p_values_are_uniform_where_nothing_differs():
    rng = np.random.default_rng(2)
    groups = [sig.group_ratio(rng.exponential(size=4096), 8)[1] for _ in range(400)]
    tails = [sig.tail_p(*rng.uniform(size=(2, 500))) for _ in range(400)]
    assert stats.kstest(groups, "uniform").pvalue > 1e-3
    # The tail test takes the least of four, corrected: it may be too careful but not too eager.
    assert np.mean(np.array(tails) < 0.05) < 0.08
    ratio, p = sig.group_ratio(np.repeat(rng.normal(size=64), 64), 64)
    assert ratio == pytest.approx(64, rel=0.05) and p < 1e-12
