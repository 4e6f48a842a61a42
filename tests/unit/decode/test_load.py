"""What a decoder refuses, each with one line."""

import shutil

import pytest

from padir.decode.load import Decoding, load
from padir.decode.rank import LengthRule
from padir.decode.translate import Translator
from padir.files import InputError, read_bundle, write_bundle, write_json
from tests.decoding import tiny_model, write_tiny_bundle


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundles")
    return {system: write_tiny_bundle(folder / system, system) for system in ("ar", "padir")}


def rewritten(folders, target, system="padir", vocabulary=None, arrays=None, **changes):
    """A well-formed bundle with other contents."""
    bundle = read_bundle(folders[system])
    write_bundle(
        target, arrays or bundle.arrays, bundle.spec | changes, bundle.vocabulary, "changed\n"
    )
    return target


@pytest.mark.parametrize("name", ["T0", "T101", "t4", "T4 ", "T", "T-1", "beam5", "", "T1.5"])
def test_no_such_decoding(name):
    with pytest.raises(InputError, match="allowed are greedy, beam and T1 to T100"):
        Decoding.parse(name)


def test_decodings():
    assert Decoding.parse("T100") == Decoding("T100", 100)
    assert not Decoding.parse("beam").parallel


@pytest.mark.parametrize(
    ("system", "name", "allowed"),
    [("ar", "T4", "greedy and beam"), ("padir", "beam", "T1 to T100"), ("padir", "greedy", "T1")],
)
def test_a_decoding_of_the_other_system_is_refused(folders, system, name, allowed):
    with pytest.raises(InputError, match=f"{name} does not fit.*{system}: allowed are {allowed}"):
        Translator(load(folders[system]), Decoding.parse(name), LengthRule())


def test_parameters_of_the_other_system_are_refused(folders, tmp_path):
    arrays = read_bundle(folders["ar"]).arrays
    with pytest.raises(InputError, match=r"parameter '.*' is missing from this padir model"):
        load(rewritten(folders, tmp_path / "mixed", arrays=arrays))


def test_a_vocabulary_larger_than_the_table_is_refused(folders, tmp_path):
    with pytest.raises(InputError, match="16 pieces, but the model's table has 10 rows"):
        load(rewritten(folders, tmp_path / "small", table_size=10))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"table_size": "18"}, "table_size is '18'; a whole number"),
        ({"seed": -1}, "seed is -1"),
        ({"format": 2}, "format 2, this reads 1"),
        ({"run_spec": None}, "spec.json: run_spec"),
        ({"run_spec": {"dataset": "x"}}, "run_spec.direction: Field required"),
    ],
)
def test_a_broken_spec_is_refused(folders, tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        load(rewritten(folders, tmp_path / "broken", **changes))


def test_a_missing_rule_is_asked_for(folders):
    with pytest.raises(InputError, match="run padir tune"):
        Translator(load(folders["padir"]), Decoding.parse("T2"))
    with pytest.raises(InputError, match="run padir tune"):
        Translator(load(folders["ar"]), Decoding.parse("beam"))


def test_where_there_is_no_choice_no_rule_is_needed(folders, tmp_path):
    assert Translator(load(folders["ar"]), Decoding.parse("greedy"))
    assert Translator(load(folders["padir"]), Decoding.parse("T2"), candidates=1)
    only = tiny_model(tmp_path / "only", "padir", length_alphas=[0.7], length_weights=[0.3])
    assert Translator(only, Decoding.parse("T2")).rule == LengthRule(0.7, 0.3)


@pytest.mark.parametrize("content", [{}, [], {"chosen": {"alpha": "1", "weight": 0}}])
def test_a_foreign_rule_file_is_refused(folders, tmp_path, content):
    folder = shutil.copytree(folders["padir"], tmp_path / "copy")
    write_json(folder / "decoding.json", content)
    with pytest.raises(InputError, match=r"decoding\.json: no numbers chosen\.alpha"):
        load(folder)


def test_the_rule_file_is_used(folders, tmp_path):
    folder = shutil.copytree(folders["padir"], tmp_path / "copy")
    write_json(folder / "decoding.json", {"chosen": {"alpha": 1, "weight": 0.5}})
    loaded = load(folder)
    assert loaded.rule == LengthRule(1.0, 0.5)
    assert [path.name for path in loaded.files][-1] == "decoding.json"


def test_more_candidates_than_lengths_are_refused(tmp_path):
    loaded = tiny_model(tmp_path / "bundle", "padir", length_candidates=12)
    with pytest.raises(InputError, match="12 asked, this model has 11 lengths"):
        Translator(loaded, Decoding.parse("T1"), LengthRule())
