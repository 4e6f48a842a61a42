"""Damaged result files of every kind: a report of them, or one line; never a traceback."""

import copy
import json
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from padir import layout
from padir.config import identity
from padir.files import InputError
from padir.provenance import write_provenance
from padir.report import catalogue, claims
from padir.report.load import Reader
from padir.report.tables import Table
from padir.report.write import Report, make
from tests.unit.report.conftest import MadeUp
from tests.unit.report.test_dependency import analysis
from tests.unit.report.test_dependency import write as write_analysis
from tests.unit.report.test_samplers import sampled

OTHERS = (None, True, 0, -1, 10**400, 1e308, 1e-308, 0.5, "", "1", "\ud800", [], [1], {}, {"a": 1})
KERNELS = {"couplings": [0.5, 1.0], "spins": 2, "field": 0.25}


def everything() -> MadeUp:
    """One file of every kind that a report reads."""
    made_up = MadeUp()
    made_up.settings["theory"] = {"product_kernels": KERNELS}
    made_up.evaluate(
        samplers={"gibbs": {"training": "padir_raw"}},
        scorers={"chrf2": {"kind": "chrf++"}},
        analysis={"rows": ["padir_raw/padir/T1"]},
        systems=[{"trainings": ["ar"], "decoders": ["beam"]},
                 {"trainings": ["padir_raw"], "decoders": ["padir"], "passes": [1, 4]}],
    )  # fmt: skip
    made_up.all()
    chain = {"acceptance": 0.2, "energies": [3.0, 2.0], "energy": 2.0, "best_energy": 2.0}
    sampled(made_up, "gibbs", [{"chains": [chain]}])
    made_up.score("padir/padir/T4")
    write_analysis(made_up, analysis("padir_raw", "raw"))
    made_up.traces(sentences=1)
    distances = {"given_found": 0.1, "averaged_found": 0.1, "given_bound": 0.0}
    claim = json.loads(made_up.theory().read_text())["claims"][0]
    rows = [distances | {"k": k} for k in (1, 1, 2, 2)]
    made_up.experiment("product_kernels", series={"rows": rows}, claims=[claim])
    made_up.latency("systems")
    config, split = made_up.config, made_up.config.evaluation.split
    for row in config.core_rows():
        for seed in layout.seeds(config, row):
            path = layout.rating_path(made_up.place, row, seed, split, "chrf2")
            labels = json.loads(
                Path(layout.score_path(made_up.place, row, seed, split)).read_text()
            )
            made_up.write(path, labels | {
                "scorer": "chrf++", "status": "run", "reason": None, "score": 60.0,
                "signature": "chrF|x",
                "replicates": {"samples": 2, "seed": 1, "score": [59.0, 61.0]},
                "digests": identity.rating_digests(config, *made_up.place, row, seed, "chrf2"),
            })  # fmt: skip
    return made_up


# One of each kind: what is read in one place is read in all.
KINDS = (
    layout.RESULTS + "/runs/toy/xs-xt/padir_raw/seed0/score/test.padir.T4.json",
    layout.RESULTS + "/runs/toy/xs-xt/ar/seed0/score/test.beam.json",
    layout.RESULTS + "/runs/toy/xs-xt/padir_raw/seed0/rate/test.padir.T4.chrf2.json",
    layout.RESULTS + "/runs/toy/xs-xt/padir_raw/seed0/metrics.jsonl",
    layout.RESULTS + "/runs/toy/xs-xt/padir_raw/seed0/provenance.json",
    layout.RESULTS + "/runs/toy/xs-xt/padir_raw/seed0/trace/test.core.jsonl",
    layout.RESULTS + "/latency/toy/xs-xt/core.json",
    layout.RESULTS + "/samples/toy/xs-xt/test.gibbs.json",
    layout.RESULTS + "/samples/toy/xs-xt/test.gibbs.jsonl",
    layout.RESULTS + "/samples/toy/xs-xt/test.gibbs.jsonl.provenance.json",
    layout.RESULTS + "/analysis/toy/xs-xt/padir_raw/padir.seed0.json",
    layout.RESULTS + "/distill/toy/xs-xt/own/seed0/card.json",
    layout.RESULTS + "/data/toy/xs-xt/statistics.json",
    layout.RESULTS + "/theory/product_kernels/seed0.json",
)


@pytest.fixture(scope="module")
def complete(tmp_path_factory):
    """A folder with every kind of file, undamaged and complete."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("complete"))
        made_up = everything()
        for kind in KINDS:
            read = report(made_up, kind)
            assert read, kind
        yield made_up


def report(made_up: MadeUp, path: str) -> list[str]:
    """Names of the parts that read a file, all of which are made, as the claims are."""
    config, reader, names = made_up.config, Reader(made_up.config), []
    for part in catalogue.parts(config):
        needs = part.needs(config)
        beside = {b for a in needs for b in (a.path, *a.beside, f"{a.path}.provenance.json")}
        beside |= {f"{b}.provenance.json" for a in needs for b in a.beside}
        if path in beside:
            results = reader.load(needs)
            content = make(part, results)
            files = content.csv() if isinstance(content, Table) else content.svg
            assert files is not None
            if isinstance(content, Table):
                (content.markdown() + content.latex()).encode()
            else:
                content.table().csv().encode()
            records = claims.decide(config, {part.name: results})
            json.dumps([*records], allow_nan=False)
            names.append(part.name)
    if path.endswith("core.jsonl"):
        reader.load(layout.traces(config, "core"))
        names.append("traces")
    return names


def places(value, path=()):
    """Keys that lead to each value inside a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*path, key))


def damaged(text: str, lines: bool, chance: random.Random) -> str:
    """A file with a value removed or replaced, a list shortened, or its end cut off."""
    if chance.random() < 0.1:
        return text[: chance.randrange(len(text))]
    documents = [json.loads(line) for line in text.splitlines()] if lines else [json.loads(text)]
    document = chance.choice(documents)
    # Few of the values are in the long lists: each depth has its share.
    by_depth: dict[int, list] = {}
    for keys in places(document):
        by_depth.setdefault(len(keys), []).append(keys)
    keys = chance.choice(by_depth[chance.choice(list(by_depth))])
    holder = document
    for key in keys[:-1]:
        holder = holder[key]
    value = holder[keys[-1]]
    action = chance.choice(("delete", "replace", "replace", "shorten"))
    if action == "delete":
        del holder[keys[-1]]
    elif action == "shorten" and isinstance(value, list) and value:
        del value[chance.randrange(len(value)) :]
    else:
        holder[keys[-1]] = copy.deepcopy(chance.choice(OTHERS))
    return "".join(json.dumps(each) + "\n" for each in documents)


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(chance=st.randoms(use_true_random=False), number=st.integers(0, 2**32))
@pytest.mark.parametrize("path", KINDS)
def test_a_damaged_file_is_reported_or_refused_in_one_line(complete, path, chance, number):
    file = Path(path)
    text = file.read_text()
    try:
        file.write_text(damaged(text, path.endswith(".jsonl"), random.Random(number)))
        report(complete, path)
    except InputError as error:
        message = str(error)
        assert "\n" not in message and message.isprintable()
        assert file.name.split(".")[0] in message
    finally:
        file.write_text(text)


@pytest.mark.parametrize("path", KINDS)
def test_a_key_of_another_type_is_named(complete, path):
    """Deep inside, in the file that the line names."""
    keys = {
        "score": ("bleu", "score"), "rate": ("replicates", "score"),
        "latency": ("rows", 0, "p50_ms"),
        "metrics.jsonl": ("step",), "provenance.json": ("git", "commit"),
        "trace": ("candidates", 0, "states"), "samples": ("bleu", "score"),
        "test.gibbs.jsonl": ("chains", 0, "energy"),
        "test.gibbs.jsonl.provenance.json": ("digests",),
        "analysis": ("passes", 0, "heads", "self_attention", "effect"),
        "distill": ("lines", "train"), "data": ("splits", "test", "files"),
        "theory": ("claims", 0, "seeds"),
    }  # fmt: skip
    file = Path(path)
    names = [file.name, *(part.name for part in file.parents)]
    wrong = keys[next(name for name in names if name in keys)]
    text = file.read_text()
    first, *rest = text.splitlines()
    document = json.loads(text if file.suffix == ".json" else first)
    holder = document
    for key in wrong[:-1]:
        holder = holder[key]
    holder[wrong[-1]] = {"text": "1"} if wrong[-1] != "digests" else "text"
    file.write_text("\n".join([json.dumps(document), *rest]) + "\n")
    try:
        with pytest.raises(InputError) as caught:
            report(complete, path)
    finally:
        file.write_text(text)
    line = "" if file.suffix == ".json" else "line 1: "
    assert str(caught.value).startswith(f"{path}: {line}key {'.'.join(map(str, wrong))}: found ")


def test_the_command_ends_with_one_line(made_up, capsys):
    from padir import cli

    path = made_up.score("padir/padir/T4", bleu=1.0)
    document = json.loads(path.read_text())
    document["stutter"]["words"] = [1]
    made_up.write(str(path), document)
    made_up.write("config.json", made_up.config.model_dump(mode="json"))
    capsys.readouterr()
    for only in ([], ["--only", "page"], ["--only", "table1"]):
        assert cli.main(["report", "--config", "config.json", "--out", "out", *only]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"padir report: error: {path}: key stutter.words: found [1], ")


def test_a_page_of_every_kind_of_file(complete):
    """What the damaged copies are made of is whole: nothing of it is absent."""
    wanted = Report(complete.config, "everything")
    absent = {a.artifact.path for results in wanted.results.values() for a in results.absent}
    assert not absent & set(KINDS)


def test_a_score_with_another_digit_is_no_number_of_a_table(made_up):
    """Its provenance has the SHA-256 of what `padir score` wrote."""
    path = made_up.score("padir/padir/T4", bleu=31.0)
    write_provenance(path, ["score"])
    config = made_up.config
    (part,) = (part for part in catalogue.parts(config) if part.name == "table1")
    assert Reader(config).load(part.needs(config)).rows
    document = json.loads(path.read_text())
    document["bleu"]["score"] = 34.0
    made_up.write(str(path), document)
    with pytest.raises(InputError, match=rf"{path}: damaged or edited: its SHA-256"):
        Reader(config).load(part.needs(config))


def test_a_curve_that_its_training_did_not_write_is_refused(made_up):
    """A file of lines: the provenance of the training has its SHA-256."""
    made_up.curves()
    config = made_up.config
    (part,) = (part for part in catalogue.parts(config) if part.name == "training")
    assert Reader(config).load(part.needs(config)).curves
    path = Path(layout.metrics_path(made_up.place, "padir", 0))
    document = json.loads((path.parent / "provenance.json").read_text())
    made_up.write(f"{path.parent}/provenance.json", document | {"outputs": {path.name: "0" * 64}})
    with pytest.raises(InputError, match=rf"{path}: damaged or edited: its SHA-256"):
        Reader(config).load(part.needs(config))
