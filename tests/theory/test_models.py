"""Ising models, enumeration, masks: hand-worked values and refused input."""

import numpy as np
import pytest

from padir.config.theory import IsingModel
from padir.files import InputError
from padir.theory import dynamics, enumeration, estimators, families, ising, masks


def test_two_spins_by_hand():
    model = ising.ising_on_graph(2, [(0, 1)], 0.5, [0.2, -0.1])
    weights = {(s, t): np.exp(0.2 * s - 0.1 * t + 0.5 * s * t) for s in (-1, 1) for t in (-1, 1)}
    expected = [weights[s, t] / sum(weights.values()) for s in (-1, 1) for t in (-1, 1)]
    np.testing.assert_allclose(enumeration.exact_law(model), expected, rtol=1e-14)


def test_each_edge_counts_once():
    law = enumeration.exact_law(ising.ising_on_graph(2, [(0, 1)], 0.5, 0.0))
    assert law[0] + law[3] == pytest.approx(1 / (1 + np.exp(-1.0)), abs=1e-15)


def test_local_field_gives_the_conditional():
    rng = np.random.default_rng(1)
    model = ising.random_ising(rng, 4, ising.complete_edges(4))
    law = enumeration.exact_law(model).reshape((2,) * 4)
    states = enumeration.all_states(4)
    for i in range(4):
        up = np.take(law, 1, axis=i) / law.sum(axis=i)
        rest = [j for j in range(4) if j != i]
        expected = up[tuple((states[:, rest].T > 0).astype(int))]
        conditional = 1 / (1 + np.exp(-2 * model.local_field(states)[:, i]))
        np.testing.assert_allclose(conditional, expected, rtol=1e-13)


@pytest.mark.parametrize(
    ("make", "count"),
    [
        (ising.path_edges, 8),
        (ising.cycle_edges, 9),
        (ising.complete_edges, 36),
        (ising.grid_edges, 12),
    ],
)
def test_every_graph_has_its_number_of_distinct_edges(make, count):
    edges = make(9)
    assert len(edges) == len(set(edges)) == count


def test_edges_of_small_graphs_by_hand():
    assert ising.cycle_edges(4) == [(0, 1), (1, 2), (2, 3), (0, 3)]
    # Rows 0 1 2, 3 4 5 and 6 7 8.
    right = [(0, 1), (1, 2), (3, 4), (4, 5), (6, 7), (7, 8)]
    below = [(0, 3), (1, 4), (2, 5), (3, 6), (4, 7), (5, 8)]
    assert ising.grid_edges(9) == sorted(right + below)
    with pytest.raises(InputError, match="grid of 8 spins: must be a square number, such as 9"):
        ising.grid_edges(8)
    with pytest.raises(InputError, match="cycle of 2 spins: at least 3 are needed"):
        ising.cycle_edges(2)


def test_settings_of_a_model_are_built_and_described():
    given = IsingModel(
        graph="edges", spins=3, edges=[[0, 2], [2, 1]], coupling=[0.5, -0.25], field=[0.1, 0.2, 0.3]
    )
    model = ising.build(given)
    assert model.coupling.tolist() == [[0, 0, 0.5], [0, 0, -0.25], [0.5, -0.25, 0]]
    assert model.field.tolist() == [0.1, 0.2, 0.3]
    assert ising.describe(given) == "edges of 3 spins, J = 0.5, -0.25, h = 0.1, 0.2, 0.3"
    cycle = IsingModel(graph="cycle", spins=4, coupling=0.3, field=0.2)
    assert ising.build(cycle).edges == [(0, 1), (0, 3), (1, 2), (2, 3)]
    assert ising.describe(cycle) == "cycle of 4 spins, J = 0.3, h = 0.2"


def test_random_models_have_the_scales_asked_for():
    edges = ising.complete_edges(40)
    for coupling, field in ((0.5, 0.1), (0.1, 0.5)):
        model = ising.random_ising(np.random.default_rng(0), 40, edges, coupling, field)
        drawn = [model.coupling[edge] for edge in edges]
        # Four standard errors of a deviation of 780 and of 40 numbers.
        assert np.std(drawn) == pytest.approx(coupling, rel=4 / np.sqrt(2 * 780))
        assert np.std(model.field) == pytest.approx(field, rel=4 / np.sqrt(2 * 40))


def test_clique_model_is_equation_6():
    model = ising.clique_model(5, 3, 0.7, 0.2, -0.1)
    assert model.edges == [(0, 1), (0, 2), (1, 2)]
    assert model.field.tolist() == [0.2, 0.2, 0.2, -0.1, -0.1]


@pytest.mark.parametrize(
    ("field", "coupling", "message"),
    [
        ([0.0, 0.0], [[0, 1], [2, 0]], r"coupling\[0, 1\].*coupling\[1, 0\].*symmetric"),
        ([0.0, 0.0], [[0, np.nan], [np.nan, 0]], r"coupling\[0, 1\] is nan: must be finite"),
        ([np.inf, 0.0], [[0, 1], [1, 0]], r"field\[0\] is inf: must be finite"),
        ([0.0, 0.0], [[0, 1], [1, 3]], r"coupling\[1, 1\].*self-loops"),
        ([0.0, 0.0], [[0.0]], r"shape \(1, 1\), allowed is \(2, 2\)"),
    ],
)
def test_bad_models_are_refused(field, coupling, message):
    with pytest.raises(InputError, match=message):
        ising.Ising(np.array(field), np.array(coupling, dtype=float))


@pytest.mark.parametrize(
    ("edges", "message"),
    [([(0, 0)], "self-loops"), ([(0, 1), (1, 0)], "twice"), ([(0, 9)], "vertices are 0 to 2")],
)
def test_bad_edges_are_refused(edges, message):
    with pytest.raises(InputError, match=message):
        ising.ising_on_graph(3, edges, 0.5, 0.0)


def test_too_many_spins_name_the_memory():
    with pytest.raises(InputError, match=r"30 spins.*2\^33 bytes = 8 GiB; allowed are up to 16"):
        enumeration.all_states(30)
    with pytest.raises(InputError, match=r"2\^33 bytes = 8 GiB; allowed are up to 12"):
        enumeration.check_enumerable(15, enumeration.MAX_KERNEL_SPINS)


def test_too_many_masks_name_the_memory():
    with pytest.raises(InputError, match=r"masks of 20 among 40 .* need .* GiB"):
        masks.all_subsets(40, 20)
    law = np.full(4096, 1 / 4096)
    with pytest.raises(InputError, match=r"924 .*transition matrices .* need 115.5 GiB"):
        dynamics.mask_kernels(law, masks.uniform_masks(12, 6))
    family = families.ising_family(ising.ising_on_graph(12, ising.path_edges(12), 0.1, 0.0))
    with pytest.raises(InputError, match=r"counts .* need 5.64 GiB"):
        estimators.draw_counts(
            np.random.default_rng(0), family.law(), masks.uniform_masks(12, 6), 10, 200
        )


def test_wrong_lengths_are_refused():
    with pytest.raises(InputError, match="coupling: 2 numbers for 3 edges"):
        ising.ising_on_graph(4, ising.path_edges(4), [0.1, 0.2], 0.0)
    with pytest.raises(InputError, match="field: 2 numbers for 4 spins"):
        ising.ising_on_graph(4, ising.path_edges(4), 0.1, [0.1, 0.2])


def test_conditional_mean_by_hand():
    law = np.array([0.1, 0.2, 0.3, 0.4])
    f = np.array([1.0, 2.0, 3.0, 4.0])
    over_second = enumeration.conditional_mean(law, f, (1,))
    np.testing.assert_allclose(over_second, [5 / 3, 5 / 3, 25 / 7, 25 / 7])


def test_exact_samples_follow_the_law():
    law = enumeration.exact_law(ising.clique_model(3, 3, 0.4, 0.2))
    size = 200_000
    spins = enumeration.exact_sample(np.random.default_rng(0), law, size)
    counts = np.bincount((spins > 0) @ np.array([4, 2, 1]), minlength=8)
    # Each count is binomial; 5 standard deviations over 8 cells.
    assert np.all(np.abs(counts - size * law) < 5 * np.sqrt(size * law))
    # Only the ratios of the weights count, as their sum may differ from 1 by rounding.
    again = enumeration.exact_sample(np.random.default_rng(0), law / 2, size)
    np.testing.assert_array_equal(again, spins)
    with pytest.raises(InputError, match=r"3 entries: a law over spins has 2\^N"):
        enumeration.spin_count(np.ones(3))


def test_uniform_masks_weigh_the_same_and_k_outside_its_range_is_refused():
    assert masks.uniform_masks(4, 2).sets[0] == (0, 1)
    assert masks.uniform_masks(4, 2).weights.tolist() == [1 / 6] * 6
    for k in (0, 5):
        with pytest.raises(InputError, match=f"k is {k}: allowed is 1 to 4"):
            masks.uniform_masks(4, k)


@pytest.mark.parametrize(
    ("sets", "weights", "message"),
    [
        ([], [], "empty"),
        ([(0, 1)], [1.0], "never covers position 2"),
        ([(0, 1), (2,)], [0.5, 0.4], "sum to one"),
        ([(0, 1), (2,)], [1.5, -0.5], "not negative"),
        ([(0, 1), (2,)], [1.0], "shape"),
        ([(0, 3), (1, 2)], [0.5, 0.5], "positions are 0 to 2"),
        ([(0, 1, 2), (2, 1, 0)], [0.5, 0.5], "twice"),
        ([(), (0, 1, 2)], [0.5, 0.5], "non-empty"),
    ],
)
def test_bad_mask_families_are_refused(sets, weights, message):
    with pytest.raises(InputError, match=message):
        masks.Masks(3, tuple(sets), np.array(weights))
