"""Documents that do not agree in themselves are refused: lists of other lengths, missing parts."""

import json

import pytest

from padir.files import InputError
from padir.report import claim_documents as documents
from padir.report.checked import checked
from tests.unit.report.test_dependency import analysis, claim

CLAIM = claim("masking_more", "reproduced")
EXPERIMENT = {"experiment": "x", "seed": 0, "claims": [CLAIM]}
CURVE = {"coupling": 0.5, "sampler": "gibbs", "exact": [0.1, 0.2], "simulated": [0.1, 0.3]}
MODEL = {
    "spins": 3, "clique": 2, "field": 0.0, "outside_field": 0.1, "chains": 5, "couplings": [0.5]
}  # fmt: skip
REACHING = EXPERIMENT | {
    "series": {
        "panels": [{"settings": MODEL, "curves": [CURVE, CURVE]}],
        "weak": {"settings": MODEL, "curves": [CURVE]},
    }
}
DISTANCES = {"given_found": 0.1, "given_bound": 0.2, "averaged_found": 0.1}
KERNELS = EXPERIMENT | {
    "settings": {"spins": 2, "couplings": [0.5, 1.0], "field": 0.0},
    "series": {"rows": [{"k": k} | DISTANCES for k in (1, 1, 2, 2)]},
}
MEASURES = {"gap": 0.1, "efficiency": 0.2, "trace": 0.3}
MASKS = EXPERIMENT | {
    "settings": {
        "block_size": 1,
        "model": {"graph": "ring", "spins": 3, "coupling": 0.5, "field": 0.0},
    },
    "series": {
        "sets": [[0], [1], [2]],
        "measures": {"uniform": MEASURES, "best": MEASURES},
        "random": {name: [0.1, 0.2] for name in MEASURES},
        "weights": {"uniform": [0.3, 0.3, 0.4], "best": [0.5, 0.5, 0.0]},
    },
}
ANALYSIS = analysis("padir", "own")
EXACT = ("exact", "prediction", 1)
HEADS = ("passes", 1, "heads", "total_variation")


@pytest.mark.parametrize(
    ("shape", "document"),
    [
        (documents.Analysis, ANALYSIS),
        (documents.ModeReaching, REACHING),
        (documents.ProductKernels, KERNELS),
        (documents.MaskDesign, MASKS),
    ],
)
def test_a_whole_document_is_taken_as_it_is(shape, document):
    assert checked("a.json", document, shape) is document


def copied(document):
    """A copy in which nothing is shared."""
    return json.loads(json.dumps(document))


def changed(document, where, value):
    """A copy with another value at a place; None: without it."""
    inner = document = copied(document)
    for key in where[:-1]:
        inner = inner[key]
    if value is None:
        del inner[where[-1]]
    else:
        inner[where[-1]] = value
    return document


@pytest.mark.parametrize(
    ("shape", "document", "where", "value", "message"),
    [
        (
            documents.ModeReaching, REACHING, ("series", "panels", 0, "curves", 1, "simulated"),
            [0.1], "key series.panels.0.curves.1: simulated has 1 values, 2 are needed",
        ),
        (
            documents.ProductKernels, KERNELS, ("settings", "spins"), 5,
            "key series.rows has too few rows",
        ),
        (
            documents.ProductKernels, KERNELS, ("series", "rows", 3, "k"), 1,
            "key series.rows of k = 1 has 3 values, 2 are needed",
        ),
        (
            documents.ProductKernels, KERNELS, ("series", "rows", 3), None,
            "key series.rows of k = 2 has 1 values, 2 are needed",
        ),
        (
            documents.MaskDesign, MASKS, ("series", "random", "trace"), [0.1],
            "key series.random: trace has 1 values, 2 are needed",
        ),
        (
            documents.MaskDesign, MASKS, ("series", "weights", "best"), [0.5, 0.5],
            "key series: weights.best has 2 values, 3 are needed",
        ),
        (
            documents.MaskDesign, MASKS, ("series", "weights", "best"), None,
            "key series: weights.best has 0 values, 3 are needed",
        ),
        (
            documents.Analysis, ANALYSIS, (*HEADS, "p_value"), [[0.5, 0.1]],
            "key passes.1.heads.total_variation: p_value.0 has 2 values, 3 are needed",
        ),
        (
            documents.Analysis, ANALYSIS, (*HEADS, "within_effect"), [[0.1] * 3] * 2,
            "key passes.1.heads.total_variation: within_effect has 2 values, 1 are needed",
        ),
        (
            documents.Analysis, ANALYSIS, ("passes", 0, "contrasts", "cosine max"), None,
            "key passes.0: contrasts has no 'cosine max'",
        ),
        (
            documents.Analysis, ANALYSIS, ("passes", 0, "contrasts", "first_in_few"), None,
            "key passes.0: contrasts has no 'first_in_few'",
        ),
        (
            documents.Analysis, ANALYSIS, ("passes", 0, "prediction", 2, "interval"), None,
            "key passes.0.prediction.2: auc is there, interval is not",
        ),
        (
            documents.Analysis, ANALYSIS, (*EXACT, "correlation"), None,
            "key exact.prediction.1: correlation and correlation_interval are needed",
        ),
        (
            documents.Analysis, ANALYSIS, (*EXACT, "correlation_interval"), None,
            "key exact.prediction.1: correlation and correlation_interval are needed",
        ),
    ],
)  # fmt: skip
def test_what_does_not_agree_in_itself_is_named(shape, document, where, value, message):
    with pytest.raises(InputError) as refused:
        checked("a.json", changed(document, where, value), shape)
    assert str(refused.value).startswith(f"a.json: {message}; damaged")


@pytest.mark.parametrize("key", ["measured", "test"])
def test_a_claim_that_says_nothing_is_refused(key):
    document = EXPERIMENT | {"claims": [CLAIM, CLAIM | {key: None}]}
    with pytest.raises(InputError, match=rf"^a\.json: key claims\.1: {key} is null; "):
        checked("a.json", document, documents.Experiment)


def test_what_a_prediction_need_not_have_may_be_absent():
    """No value of its own, and outside the exact dependence no correlation."""
    document = copied(ANALYSIS)
    document["passes"][0]["prediction"] = [
        {"target": "stutter", "pairs": "adjacent", "predictor": "probe", "auc": None},
        {"target": "probe", "pairs": "near", "predictor": "overlap", "auc": 0.5,
         "interval": [0.4, 0.6]},
    ]  # fmt: skip
    assert checked("a.json", document, documents.Analysis) is document
