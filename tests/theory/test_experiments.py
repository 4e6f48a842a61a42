"""Whole experiments at small size: documents, verdicts, commands, figures, bad settings."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

from padir import cli
from padir.commands import theory
from padir.config import theory as settings
from padir.config.read import check_config
from padir.config.theory import EXPERIMENTS
from padir.files import InputError, read_json, write_json
from padir.report import theory_figures
from padir.report.results import Results
from padir.report.theory import theorems
from padir.theory import counterexamples, experiments
from padir.theory.covariance import information, relative_eigenvalues
from padir.theory.enumeration import exact_law
from padir.theory.experiments import identities, mode_reaching
from padir.theory.ising import ising_on_graph
from padir.theory.masks import uniform_masks
from padir.theory.runs import mean_interval, plain, run_experiment, share_interval
from padir.theory.tensorisation import tensorisation_lower_bound
from tests.unit.config.small import changed

pytestmark = pytest.mark.slow

SMALL = {
    "estimation": {
        "samples": [1000, 4000],
        "trials": 40,
        "block_sizes": [1, 2, 6],
        "large": {"spins": 30, "samples": 800, "trials": 2, "block_sizes": [1, 4]},
    },
    "mode_reaching": {
        "panels": [
            {"spins": 8, "clique": 4, "couplings": [0.4, 0.8], "block_sizes": [1, 4, 7],
             "steps": 60, "chains": 200}
        ],
        "weak": {"spins": 8, "clique": 4, "couplings": [0.02], "block_sizes": [1, 4],
                 "steps": 60, "chains": 200},
    },
    "identities": {"models": 4},
    "tensorisation": {"trials": 40, "random_laws": 20},
    "product_kernels": {"spins": 3, "couplings": [0.0, 0.3, 1.0]},
    "mask_design": {"random_weights": 20},
    "dependent_blocks": {"block_sizes": [2], "samples": 50},
    "errata": {"models": 8},
}  # fmt: skip


@pytest.fixture(name="documents", scope="module")
def small_documents():
    return {
        name: run_experiment(name, EXPERIMENTS[name].model_validate(values), 1)
        for name, values in SMALL.items()
    }


def test_every_experiment_returns_complete_claims(documents):
    assert set(documents) == set(EXPERIMENTS)
    ids = [claim["id"] for document in documents.values() for claim in document["claims"]]
    assert len(ids) == len(set(ids))
    claims = [claim for document in documents.values() for claim in document["claims"]]
    printed = [claim["statement"] for claim in claims if claim["id"].endswith(".printed")]
    assert len(printed) == len(set(printed)) > 0
    for document in documents.values():
        json.dumps(document, allow_nan=False)
        for claim in document["claims"]:
            assert set(claim) == {
                "id", "section", "statement", "paper", "measured", "verdict", "test", "seeds",
                "interval", "dataset",
            }  # fmt: skip
            assert claim["verdict"] in ("reproduced", "not reproduced")
            assert all(claim[key] for key in ("statement", "paper", "measured", "test", "dataset"))


def verdicts(document):
    return {claim["id"].removeprefix("theory."): claim["verdict"] for claim in document["claims"]}


@pytest.mark.parametrize("name", ["identities", "tensorisation", "product_kernels", "mask_design"])
def test_theorems_hold(documents, name):
    assert set(verdicts(documents[name]).values()) == {"reproduced"}


def test_the_variance_bound_holds_at_strong_couplings():
    # Fisher's information has a condition number of 2e14 here.
    values = settings.Identities(models=4, coupling_scale=3.0)
    verdict = verdicts(run_experiment("identities", values, 3))
    assert verdict["variance_bound.fixed"] == verdict["variance_bound.adaptive"] == "reproduced"


def test_relative_variances_equal_the_eigenvalues_and_those_of_60_digits():
    rng = np.random.default_rng(3)
    case = identities.random_case(rng, settings.Identities())
    for masks in case.masks.values():
        matrices = information(case.family, masks)
        values = relative_eigenvalues(np.linalg.inv(matrices.hessian), matrices.fisher)
        least, most = identities._relative_variances(case.family, masks)
        assert (least, most) == pytest.approx((values[0], values[-1]), rel=1e-10)
    rng = np.random.default_rng(3)
    strong = settings.Identities(coupling_scale=3.0)
    cases = [identities.random_case(rng, strong) for _ in range(4)]
    largest = [identities._relative_variances(c.family, c.masks["fixed"])[1] for c in cases]
    # By mpmath, from the same couplings and weights.
    assert largest[0] == pytest.approx(22.419700402435, rel=1e-10)
    assert largest[3] == pytest.approx(62.507059098717, rel=1e-10)


def test_errata_fail_as_printed_and_hold_as_corrected(documents):
    for name, verdict in verdicts(documents["errata"]).items():
        assert verdict == ("not reproduced" if name.endswith(".printed") else "reproduced"), name


def test_masking_more_lowers_the_error(documents):
    verdict = verdicts(documents["estimation"])
    assert verdict["masking_more.ordinary"] == verdict["masking_more.peaky"] == "reproduced"
    assert verdict["averaged_masks_are_flat.ordinary"] == "reproduced"


def test_the_claims_on_reaching_modes_are_reproduced(documents):
    verdict = verdicts(documents["mode_reaching"])
    for name in (
        "larger_k_is_faster", "simulation_agrees", "separation", "k_gibbs_is_fast",
        "independent_parallel_is_slow", "peaky_is_slower.holds",
    ):  # fmt: skip
        assert verdict[name] == "reproduced", name


def hitting(sampler: str, k: int | None, *exact: float, mean_time: float = 1.0) -> dict:
    """A curve of one sampler at J = 1."""
    return {"sampler": sampler, "k": k, "coupling": 1, "exact": np.array(exact)} | {
        "mean_time": mean_time
    }


@pytest.mark.parametrize(
    ("largest", "passed"), [((0.2, 0.6), True), ((0.05, 0.6), False), ((0.2, 0.4), False)]
)
def test_larger_blocks_must_be_no_slower_and_arrive(largest, passed):
    curves = [hitting("parallel", None, 0, 0), hitting("1", 1, 0.1, 0.3), hitting("6", 6, *largest)]
    panel = {"curves": curves, "settings": {"couplings": [1]}}
    assert mode_reaching._block_size_claim([panel]).passed == passed


@pytest.mark.parametrize(("parallel", "passed"), [(0.4, True), (0.6, False)])
def test_parallel_sampling_must_not_arrive(parallel, passed):
    curves = [
        hitting("parallel", None, 0, parallel, mean_time=9.0),
        hitting("6", 6, 0.5, 0.9, mean_time=2.0),
    ]
    panel = {"curves": curves, "settings": {"couplings": [1], "clique": 6}}
    assert mode_reaching._parallel_claims([panel])[0].passed == passed


@pytest.mark.parametrize("smallest", [1, 3])
def test_the_weak_claim_names_the_smallest_block_size(smallest):
    curves = [hitting("parallel", None, mean_time=2.0)]
    curves += [hitting(f"{k}", k, mean_time=9.0 / k) for k in (smallest, 9)]
    panel = {"curves": curves, "settings": {"clique": 6, "spins": 12, "field": 0.1}}
    panel["settings"]["couplings"] = [0.02]
    claim = mode_reaching._weak_claim(panel)
    assert claim.passed
    assert claim.test == f"parallel has a smaller exact mean time than {smallest}-Gibbs"


def test_truths_tensorisation_constant_is_too_small_for_the_fit():
    constant, ratio = counterexamples.tensorisation_of_fit()
    assert (constant, ratio) == pytest.approx((3.0, 6.2761), abs=5e-5)
    truth = exact_law(ising_on_graph(3, [], 0.0, 1.0))
    lower, _ = tensorisation_lower_bound(truth, uniform_masks(3, 1), np.random.default_rng(0))
    assert lower == pytest.approx(constant, rel=1e-3)


def test_poincare_inequality_on_states_is_attained():
    pair = counterexamples.pair_chain(np.random.default_rng(0))
    assert pair.worst_ratio == pytest.approx(1, abs=1e-10)


def test_the_conditionals_against_lemma_2_are_a_quarter_and_a_half():
    assert counterexamples.lemma_2_conditionals() == pytest.approx((0.25, 0.5), abs=1e-15)


def test_averaged_masks_break_the_order():
    assert counterexamples.averaged_relative_variance() == pytest.approx(
        [1.0383, 1.1495, 1.0], abs=5e-5
    )


def test_the_hessians_of_the_tied_path_have_the_documented_values():
    assert counterexamples.tied_path_hessians() == pytest.approx([0.6199, 1.2695, 1.2695], abs=5e-5)


def test_couplings_of_the_crossover_have_the_documented_values():
    couplings = dict(counterexamples.crossover_couplings())
    assert couplings == pytest.approx({1: 0.555, 3: 0.419, 6: 0.038, 9: 0.008}, abs=6e-4)


def test_weak_coupling_reverses_coordinate_updates():
    updates = counterexamples.updates_at_weak_coupling()
    assert (round(updates[0]), round(updates[-1])) == (113, 164)
    assert np.all(np.diff(updates) > 0)


def test_hitting_is_not_monotone_in_the_coupling():
    for k, expected in (
        (6, [0.18, 0.33, 0.40, 0.25, 0.04, 0.01]),
        # Above the clique's size no coupling is too strong in the end.
        (9, [0.26, 0.55, 0.80, 0.78, 0.57, 0.52]),
    ):
        shares = [share for _, share in counterexamples.hitting_against_coupling(k)]
        assert shares == pytest.approx(expected, abs=6e-3)


def test_regimes_are_stated_for_every_experiment(documents):
    for name, document in documents.items():
        assert document["regimes"], name
    stated = documents["errata"]["regimes"]
    # 5 * 0.02 is below the fields' sum of 0.6, 5 * 0.2 above it.
    assert not stated["J=0.02, k=9"]["assumption_5"]
    assert stated["J=0.2, k=9"]["assumption_5"]
    assert not any(regime["assumption_7"] for regime in list(stated.values())[:-1])


def test_equal_drawings_give_equal_bytes(documents, tmp_path):
    for name, (experiment, draw) in theory_figures.DRAWINGS.items():
        drawing = draw(documents[experiment])
        svg, points = tmp_path / f"{name}.svg", tmp_path / f"{name}.csv"
        drawing.write(tmp_path)
        again = draw(documents[experiment])
        assert again.svg == svg.read_text()
        assert svg.read_text().lstrip().startswith("<?xml")
        rows = list(csv.DictReader(points.open()))
        assert rows
        assert set(rows[0]) == {"panel", "series", "x", "y", "low", "high"}


def test_figures_suit_light_and_dark_pages(documents):
    for experiment, draw in theory_figures.DRAWINGS.values():
        svg = draw(documents[experiment]).svg
        assert "fill: #ffffff" not in svg
        assert "fill: currentColor" in svg


def test_each_model_of_figure_3_has_one_legend(documents):
    drawing = theory_figures.figure3(documents["mode_reaching"])
    svg = drawing.svg
    assert drawing.panels[-1].title == "N = 8, m = 4, J = 0.02 (weak coupling)"
    for label in ("independent parallel", "1-Gibbs", "4-Gibbs", "7-Gibbs"):
        assert svg.count(f">{label}<") == 1


def test_figure_1_shows_the_numbers_of_the_document(documents):
    drawing = theory_figures.figure1(documents["estimation"])
    line = drawing.panels[0].lines[0]
    point = documents["estimation"]["series"]["ordinary"]["points"][0]
    assert (line.x[0], line.y[0], line.low[0]) == (1, point["mean"], point["low"])
    assert "cycle of 6 spins, J = 0.3, h = 0.2" in drawing.caption


def test_the_table_of_theorems_has_each_claim_once(documents):
    rows = theorems(Results(check_config(changed("theory", {})), theory=documents)).rows
    claims = [claim["id"] for document in documents.values() for claim in document["claims"]]
    assert [row["id"] for row in rows] == claims


def test_the_command_writes_results_and_their_provenance(tmp_path, capsys):
    write_json(tmp_path / "settings.json", SMALL["errata"])
    out = tmp_path / "errata.json"
    arguments = ["--settings", str(tmp_path / "settings.json"), "--seed", "3", "--out", str(out)]
    assert cli.main(["theory", "errata", *arguments]) == 0
    assert "theory.lemma_2" in capsys.readouterr().out
    tensorised = ["theory", "tensorisation", "--settings", str(tmp_path / "t.json")]
    write_json(tmp_path / "t.json", SMALL["tensorisation"])
    assert cli.main([*tensorised, "--out", str(tmp_path / "tensorisation.json")]) == 0
    assert capsys.readouterr().out.startswith("regime strongest: smallest_probability 0.0")
    document = read_json(out)
    assert (document["seed"], document["settings"]["models"]) == (3, 8)
    assert read_json(tmp_path / "errata.json.provenance.json")["seed"] == 3


def test_equal_seeds_give_equal_documents():
    values = settings.Identities.model_validate(SMALL["identities"])
    assert run_experiment("identities", values, 2) == run_experiment("identities", values, 2)


@pytest.mark.parametrize(
    ("experiment", "values"),
    [
        ("mask_design", {"model": {"graph": "path", "spins": 4, "coupling": 1e308}}),
        ("mask_design", {"model": {"graph": "path", "spins": 4, "coupling": 300}}),
        ("product_kernels", {"field": 10_000}),
        ("identities", {"models": 1, "spins": 3, "coupling_scale": 50}),
        ("tensorisation", {**SMALL["tensorisation"], "couplings": [0, 50]}),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_models_beyond_double_precision_are_one_line(tmp_path, capsys, experiment, values):
    write_json(tmp_path / "settings.json", values)
    arguments = ["--settings", str(tmp_path / "settings.json"), "--out", str(tmp_path / "x.json")]
    assert cli.main(["theory", experiment, *arguments]) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"padir theory: error: {experiment}: some probabilities are too sm")
    assert message.count("\n") == 1


def test_masks_of_independent_spins_are_designed():
    model = settings.IsingModel(graph="path", spins=3, coupling=0.0)
    values = settings.MaskDesign(model=model, random_weights=10)
    assert run_experiment("mask_design", values, 0)["claims"]


def test_too_few_samples_to_fit_are_refused():
    values = {**SMALL["estimation"], "samples": [2], "trials": 30}
    with pytest.raises(InputError, match=r"k = 1, 2 samples: only \d+ of 30 fits .* more samples"):
        run_experiment("estimation", settings.Estimation.model_validate(values), 0)


def test_every_experiment_has_a_module_and_a_line_of_help():
    folder = Path(experiments.__file__).parent
    assert {path.stem for path in folder.glob("*.py")} == {"__init__", *EXPERIMENTS}
    explained = re.findall(r"^  (\w+) +\w+ ", str(theory.__doc__).partition("\n\nIn: ")[0], re.M)
    assert explained == [*EXPERIMENTS]


def test_intervals_by_hand():
    # Tables of Student's t: 12.706 with one degree of freedom, 2.776 with four.
    assert mean_interval(np.array([1.0, 3.0])) == pytest.approx(
        (2, 2 - 12.706, 2 + 12.706), rel=1e-4
    )
    five = mean_interval(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert five[2] - 3 == pytest.approx(2.776 * (2.5 / 5) ** 0.5, rel=1e-3)
    low, high = share_interval(50, 100)
    assert (low, high) == pytest.approx((0.4038, 0.5962), abs=1e-4)
    assert share_interval(0, 10)[0] == 0.0


def test_plain_turns_non_finite_numbers_into_null():
    assert plain({"a": np.array([1.0, np.nan]), 2: (np.int64(3), np.bool_(True))}) == {
        "a": [1.0, None],
        "2": [3, True],
    }
