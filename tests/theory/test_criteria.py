"""Criteria of theory claims: each passes on correct numbers and fails on wrong ones."""

import numpy as np
import pytest

from padir.config import theory as settings
from padir.report import theory_figures
from padir.theory.design import Design
from padir.theory.dynamics import block_kernel, parallel_kernel, poincare_constant
from padir.theory.enumeration import exact_law
from padir.theory.experiments import (
    dependent_blocks,
    errata,
    estimation,
    identities,
    mask_design,
    product_kernels,
    tensorisation,
)
from padir.theory.ising import complete_edges, ising_on_graph
from padir.theory.masks import uniform_masks
from padir.theory.product_kernels import nearest_product
from padir.theory.runs import share_interval


def estimation_claims(samples):
    truth = settings.IsingModel(spins=3, coupling=1.0, field=0.1)
    values = settings.Estimation(peaky=truth, samples=[samples], block_sizes=[1, 3], trials=300)
    panel = estimation._panel(truth, values, np.random.default_rng(0))
    claims = estimation._claims("peaky", "figure 2", "L.6", panel, values)
    return panel["points"], {claim.id: claim for claim in claims}


def test_a_fit_without_a_minimum_is_outside_every_bound():
    points, claims = estimation_claims(300)
    first = points[0]
    both = first["diverged"] + points[2]["diverged"]
    assert first["diverged"] > 30
    assert first["markov_share"] <= 1 - first["diverged"] / 300
    assert not claims["markov_bound.peaky"].passed
    assert not claims["asymptotic_normality.peaky"].passed
    assert f"{both} fits without" in claims["asymptotic_normality.peaky"].measured
    caption = theory_figures._left_out(points)
    assert f"most at k = 1, 300 samples: mean of {300 - first['diverged']}" in caption


def test_many_samples_are_normal_and_within_the_bound():
    points, claims = estimation_claims(16_000)
    assert claims["markov_bound.peaky"].passed
    assert claims["asymptotic_normality.peaky"].passed
    assert theory_figures._left_out(points) == ""


@pytest.mark.parametrize(
    ("matrix", "passed"),
    [([4.0, 1.0, 1.0], True), ([2.0, 2.0, 2.0], False), ([5.0, 0.5, 0.5], False)],
)
def test_normality_needs_the_covariance_not_only_its_trace(matrix, passed):
    deviation = np.random.default_rng(0).normal(size=(1000, 3)) * np.sqrt([4.0, 1.0, 1.0])
    error = np.sum(deviation**2, axis=1)
    point = {"trials": 1000, "diverged": 0, "mean": float(error.mean()), "theory": 6.0}
    point["standard_error"] = float(error.std(ddof=1)) / 1000**0.5
    point |= estimation._normality(deviation, np.diag(matrix), 1000)
    assert estimation._is_normal(point) == passed


def test_normality_needs_normal_estimates_and_an_error_that_is_not_lost_in_noise():
    point = {"trials": 300, "diverged": 0, "mean": 3.0, "theory": 3.0, "standard_error": 0.1}
    point |= {"least_variance": 1.0, "most_variance": 1.0, "ellipsoid_share": 0.95}
    assert estimation._is_normal(point)
    assert not estimation._is_normal({**point, "ellipsoid_share": 0.85})
    assert not estimation._is_normal({**point, "standard_error": 0.2})


def complete(spins, coupling, field=0.0):
    return ising_on_graph(spins, complete_edges(spins), coupling, field)


def test_the_worst_state_of_an_averaged_step_is_the_balanced_one():
    rng = np.random.default_rng(0)
    law = exact_law(complete(4, 0.7))
    kernel = block_kernel(law, uniform_masks(4, 1))
    every = [nearest_product(row, rng, starts=24)[0] for row in kernel]
    assert np.argmax(every) in (0b0011, 0b0101, 0b0110, 0b1001, 0b1010, 0b1100)
    row = product_kernels._row(law, 0.7, 1, rng)
    assert row["averaged_found"] == pytest.approx(max(every), abs=1e-3)


@pytest.mark.parametrize("field", [0.0, 0.3])
def test_laws_that_turn_into_each_other_are_searched_once(field):
    kernel = block_kernel(exact_law(complete(4, 0.7, field)), uniform_masks(4, 2))
    states = kernel[[0b0000, 0b0001, 0b0011, 0b0111, 0b1111]]
    assert len(product_kernels._different(states)) == (5 if field else 4)


@pytest.mark.parametrize(("coupling", "field", "passed"), [(0.4, 0.1, True), (0.2, 0.1, False)])
def test_a_parallel_step_draws_from_the_conditionals_of_the_joint_law(coupling, field, passed):
    law = exact_law(complete(3, 0.4, 0.1))
    kernel = parallel_kernel(complete(3, coupling, field))
    distance = product_kernels._distance_from_conditionals(kernel, law)
    assert product_kernels._parallel_claim(distance).passed == passed


@pytest.mark.parametrize(("one_step", "passed"), [(0.01, True), (0.0, False)])
def test_a_product_law_at_one_coupling_is_noticed(one_step, passed):
    values = settings.ProductKernels(spins=2, couplings=[0.0, 0.3, 1.0])
    # A search that stops early finds a distance where there is none.
    found = {"given_found": 2e-6, "given_bound": 0.1, "averaged_found": 0.1}
    rows = [
        {**found, "k": k, "coupling": j, "given_marginals": one_step if j == 0.3 else 0.2}
        for j in values.couplings
        for k in (1, 2)
    ]
    assert product_kernels._claims(values, rows, [(0.3, 0.1, 0.1)])[0].passed == passed


def test_masks_must_cover_each_position(monkeypatch):
    # Once each on average, and one position never.
    monkeypatch.setattr(errata, "all_subsets", lambda spins, size: ((0, 1), (0,)))
    claims = errata._order_claims(settings.Errata(models=5), np.random.default_rng(0))
    assert [bool(claim.passed) for claim in claims[:2]] == [False, False]


@pytest.mark.parametrize(("still", "sizes"), [(0.0, (1, 2, 3)), (0.2, (3,)), (0.8, (1, 2))])
def test_a_chain_that_stands_still_contracts_too_little(monkeypatch, still, sizes):
    law = exact_law(complete(3, 0.5, 0.4))
    values = settings.Tensorisation(random_laws=20)
    constants = []
    for k in sizes:
        constant = poincare_constant(law, block_kernel(law, uniform_masks(3, k)))
        with monkeypatch.context() as patch:
            patch.setattr(
                tensorisation,
                "block_kernel",
                lambda q, masks: still * np.eye(q.size) + (1 - still) * block_kernel(q, masks),
            )
            patch.setattr(tensorisation, "poincare_constant", lambda *_, c=constant: c)
            rng = np.random.default_rng(0)
            constants.append(tensorisation._constants(law, k, values, rng))
    assert bool(tensorisation._constant_claim(constants).passed) == (still == 0)


def coverage_row(bound, off_truth):
    return {
        "k": 1, "data": "in the grid", "samples": 1000, "distance": 0.1, "off_truth": off_truth,
        "covered": {"model_free": 0.97, "uniform": 0.95, "realizable": 0.96, "paper": 1.0},
        "model_free": 0.5, "realizable": bound, "paper": 90.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("bound", "off_truth", "passed"), [(0.9, 0.1, True), (1.2, 0.1, False), (0.9, 0.0, False)]
)
def test_a_bound_that_no_fit_could_break_is_not_reproduced(bound, off_truth, passed):
    values = settings.Tensorisation(samples=[1000], trials=100)
    free, realizable, paper, _ = tensorisation._bound_claims(
        [coverage_row(bound, off_truth)], values
    )
    assert realizable.passed == passed
    assert free.measured.endswith("smallest coverage 0.950")
    assert free.interval == share_interval(95, 100)
    assert "some fits differ from the truth): none" in paper.measured


def test_dependence_must_worsen_all_three(monkeypatch):
    claim = identities._dependence_claim()
    assert claim.passed
    assert "Poincare constant 4, 8.62, 25.1, 345, 6.25e+03;" in claim.measured
    # Masks of all spins: one step is enough at every coupling.
    monkeypatch.setattr(identities, "uniform_masks", lambda spins, size: uniform_masks(spins, 4))
    assert not identities._dependence_claim().passed


def passed(claims) -> list[bool]:
    return [bool(claim.passed) for claim in claims]


@pytest.mark.parametrize(
    ("masks", "key", "value", "expected"),
    [
        ("uniform", "gap", 0.2, [True, True, True]),
        ("smallest trace", "trace", 10.0, [False, True, False]),
        ("best worst direction", "efficiency", 0.3, [False, True, True]),
        ("largest gap", "gap", 0.2, [False, True, True]),
        ("largest gap", "efficiency", 0.47, [True, False, True]),
        ("largest gap", "trace", 8.05, [True, True, False]),
        ("random", "gap", 0.31, [True, False, True]),
        *((masks, "bound", 1.002, [False, True, True]) for masks in ("smallest trace",
          "best worst direction", "largest gap")),
    ],
)  # fmt: skip
def test_designed_masks_must_improve_each_criterion_within_its_proven_bound(
    masks, key, value, expected
):
    measures = {
        "uniform": {"trace": 10.0, "efficiency": 0.3, "gap": 0.2},
        "smallest trace": {"trace": 8.0, "efficiency": 0.4, "gap": 0.3},
        "best worst direction": {"trace": 9.0, "efficiency": 0.5, "gap": 0.35},
        "largest gap": {"trace": 9.0, "efficiency": 0.49, "gap": 0.4},
        "random": {"trace": 11.0, "efficiency": 0.3, "gap": 0.25},
    }
    bounds = {name: 1.0 for name in list(measures)[1:4]}
    (bounds if key == "bound" else measures[masks])[masks if key == "bound" else key] = value
    designs = {name: Design(np.ones(1), 1.0, bound) for name, bound in bounds.items()}
    random = measures.pop("random")
    second = {"trace": 9.0, "efficiency": 0.27, "gap": 0.2}
    columns = {name: np.array([number, second[name]]) for name, number in random.items()}
    assert passed(mask_design._claims(designs, measures, columns)) == expected


FALLING = {1: 4.0, 2: 2.0, 6: 1.0}


def line(samples, estimator="one_mask", means=FALLING, **changes):
    """Points of one estimator and sample size; an error as asymptotic theory has it."""
    return [
        {
            "estimator": estimator, "k": k, "samples": samples, "trials": 300, "diverged": 0,
            "mean": mean, "low": mean - 0.04, "high": mean + 0.04, "standard_error": 0.02,
            "theory": mean, "least_variance": 1.0, "most_variance": 1.0, "ellipsoid_share": 0.95,
            "markov_share": 0.95, **changes,
        }
        for k, mean in means.items()
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], [True, True, True, True]),
        # Errors that overlap at one sample size, or rise with k by more than the noise.
        ([line(1000, means={1: 1.06, 2: 1.03, 6: 1.0})], [False, True, True, True]),
        ([line(1000, means={1: 4.0, 2: 1.0, 6: 1.1})], [False, True, True, True]),
        ([line(1000, means={1: 4.0, 2: 1.0, 6: 1.08})], [True, True, True, True]),
        # Few samples need not be normal.
        ([line(1000, ellipsoid_share=0.5)], [True, True, True, True]),
        ([line(4000)[:2] + line(4000, ellipsoid_share=0.5)[2:]], [True, False, True, True]),
        ([line(1000, markov_share=0.9)], [True, True, True, True]),
        ([line(1000, "averaged", markov_share=0.89)], [True, True, False, True]),
        ([line(4000, "averaged", {1: 1.3, 6: 1.0})], [True, True, True, False]),
        ([line(4000, "averaged", {1: 0.7, 6: 1.0})], [True, True, True, False]),
        ([line(4000, means={1: 1.9, 6: 1.0})], [True, True, True, False]),
    ],
)
def test_the_claims_of_figures_1_and_2_are_decided_by_their_own_points(lines, expected):
    points = {}
    flat = {1: 1.2, 6: 1.0}
    given = [line(n, *kind) for n in (1000, 4000) for kind in ((), ("averaged", flat))]
    for each in (*given, *lines):
        points[each[0]["estimator"], each[0]["samples"]] = each
    panel = {"model": "m", "points": [point for each in points.values() for point in each]}
    values = settings.Estimation(samples=[1000, 4000], block_sizes=[1, 2, 6], trials=300)
    claims = estimation._claims("ordinary", "figure 1", "3.1", panel, values)
    assert passed(claims) == expected
    if not lines:
        assert claims[0].measured.endswith("error at k=1 over that at k=6, 4000 samples: 4")
        # A relative error of 0.005 and one of 0.02.
        noise = 1.96 * 4 * np.hypot(0.005, 0.02)
        assert claims[0].interval == pytest.approx((4 - noise, 4 + noise))


@pytest.mark.parametrize(
    ("errors", "expected"), [([4.0, 2.0], True), ([0.8, 2.0], False), ([4.0, 0.5], False)]
)
def test_a_large_model_s_error_must_fall_in_every_data_set(errors, expected):
    errors_by_k = {1: errors, 4: [0.9, 0.6]}
    points = [{"k": k, "mean": float(np.mean(values))} for k, values in errors_by_k.items()]
    large = {"points": points, "errors": errors_by_k}
    assert estimation._large_claim(large, settings.LargeEstimation()).passed == expected


@pytest.mark.parametrize(
    ("blocks", "size", "changes", "expected"),
    [
        ("uniform", 2, {}, [True] * 4),
        ("together", 2, {"gap": 0.2}, [False, True, True, True]),
        ("together", 2, {"hitting": 9.0}, [False, True, True, True]),
        ("together", 4, {"gap": 0.2}, [True, False, True, True]),
        ("estimated", 4, {"hitting": 9.0}, [True, True, False, True]),
        ("apart", 4, {"bias": 0.2}, [True, True, True, False]),
        ("together", 4, {"bias": 0.2}, [True, True, True, False]),
    ],
)
def test_dependent_blocks_must_be_faster_in_gap_and_time(blocks, size, changes, expected):
    numbers = {
        "uniform": {"gap": 0.2, "hitting": 9.0, "bias": 0.2},
        "together": {"gap": 0.3, "hitting": 7.0, "bias": 0.3},
        "estimated": {"gap": 0.25, "hitting": 8.0, "bias": 0.25},
        "apart": {"gap": 0.1, "hitting": 10.0, "bias": 0.1},
    }
    rows = [
        {"model": "m", "size": k, "blocks": name, **values}
        | (changes if (name, k) == (blocks, size) else {})
        for k in (2, 4)
        for name, values in numbers.items()
    ]
    claims = dependent_blocks._claims(settings.DependentBlocks(samples=50), rows)
    assert passed(claims) == expected
    if not changes:
        assert claims[0].measured == (
            "m, k = 2: gap 0.2000 to 0.3000, steps to the larger mode 9.0 to 7.0"
        )
        assert claims[3].measured.startswith(
            "m, k = 2: total variation of the stationary law 0.1000 apart, 0.2000 uniform, 0.3000"
        )


@pytest.mark.parametrize(
    ("function", "value", "claims", "expected"),
    [
        ("tied_path_hessians", np.array([0.5, 1.0, 1.5]), "strictly_improves", [True, True]),
        ("tied_path_hessians", np.array([0.5, 1.0, 0.9]), "strictly_improves", [False, False]),
        ("averaged_relative_variance", np.ones(3), "order_needs_one_mask", [True, True]),
        ("averaged_order_violations", (0, 9, 1), "order_needs_one_mask", [False, False]),
        ("lemma_2_conditionals", (0.3, 0.5), "lemma_2", [False]),
        ("lemma_2_conditionals", (0.25, 0.4), "lemma_2", [False]),
        ("adaptive_minimisers", (1e-9, 0.02), "naive_adaptive_loss", [True]),
        ("adaptive_minimisers", (1e-5, 0.02), "naive_adaptive_loss", [False]),
        ("adaptive_minimisers", (1e-9, 0.005), "naive_adaptive_loss", [False]),
        ("frozen_hessian_eigenvalue", (0.1, 0.1), "identifiability", [True, True]),
        ("frozen_hessian_eigenvalue", (0.0, 0.0), "identifiability", [False, False]),
        ("single_spin_kernel_distance", (0.0, 0.1), "one_gibbs_product", [True, False]),
        ("tensorisation_of_fit", (3.0, 2.9), "tensorisation_of_fit", [False]),
        ("updates_at_weak_coupling", np.array([3.0, 4.0, 4.0]), "coordinate_updates", [False]),
        ("crossover_couplings", [(1, 0.5), (3, 0.5)], "crossover", [False]),
        ("crossover_couplings", [(1, 0.5), (3, 0.0)], "crossover", [False]),
    ],
)
def test_a_counterexample_decides_its_own_claim(monkeypatch, function, value, claims, expected):
    monkeypatch.setattr(errata.examples, function, lambda *_: value)
    random = np.random.default_rng(0)
    made = {
        "order": lambda: errata._order_claims(settings.Errata(models=5), random),
        "adaptive": lambda: errata._adaptive_claims(random),
        "chain": lambda: errata._chain_claims(random),
        "speed": errata._speed_claims,
    }
    kinds = {"tied": "order", "aver": "order", "sing": "chain", "tens": "chain"}
    kinds |= {"upda": "speed", "cros": "speed"}
    every = made[kinds.get(function[:4], "adaptive")]()
    assert passed(claim for claim in every if claim.id.partition(".")[0] == claims) == expected


@pytest.mark.parametrize(
    ("curve", "expected"),
    [([0.1, 0.3, 0.2], True), ([0.1, 0.2, 0.3], False), ([0.3, 0.2, 0.1], False),
     ([0.1, 0.3, 0.2, 0.25], False), ([0.2, 0.1, 0.3, 0.2], False)],
)  # fmt: skip
def test_a_curve_with_one_peak_rises_and_falls(curve, expected):
    assert errata._rises_then_falls(curve) == expected
