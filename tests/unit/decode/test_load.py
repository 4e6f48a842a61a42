"""What a decoder refuses, each with one line."""

import shlex
import shutil

import pytest

from padir.bundle import read_bundle, write_bundle
from padir.decode.candidates import LengthRule
from padir.decode.load import decoder_names, find_decoder, load
from padir.decode.translate import Translator
from padir.files import InputError, write_json
from padir.library import Model
from tests.decoding import tiny_decoder, tiny_model, write_decoder, write_tiny_bundle


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


@pytest.mark.parametrize("passes", [None, 0, 101])
def test_a_parallel_decoder_needs_a_number_of_passes_in_range(folders, passes):
    shown = "missing" if passes is None else passes
    with pytest.raises(InputError, match=f"passes is {shown}, allowed are 1 to 100$"):
        Translator(load(folders["padir"]), tiny_decoder("padir", LengthRule()), passes)


def test_an_ar_decoder_takes_no_number_of_passes(folders):
    with pytest.raises(InputError, match="beam makes one pass per token"):
        Translator(load(folders["ar"]), tiny_decoder("beam", LengthRule()), 4)


@pytest.mark.parametrize(
    ("system", "kind", "allowed"),
    [
        ("ar", "padir", "greedy or beam"),
        ("padir", "beam", "a decoder of a parallel system"),
        ("padir", "greedy", "a decoder of a parallel system"),
    ],
)
def test_a_decoder_of_the_other_system_is_refused(folders, system, kind, allowed):
    with pytest.raises(InputError, match=f"{kind}.*does not fit.*{system}: allowed is {allowed}$"):
        Translator(load(folders[system]), tiny_decoder(kind, LengthRule()), 4)


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
        ({"vocabulary_size": 15}, "vocabulary_size is 15, but spm.model has 16 pieces"),
        ({"vocabulary_size": None}, "vocabulary_size is None; a whole number"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": True}, "seed is True; a whole number"),
        ({"seed": 2**32}, "seed is 4294967296; a whole number from 0 to 4294967295 is needed"),
        ({"format": 2}, "format 2, this reads 1"),
        ({"run_spec": None}, "spec.json: run_spec"),
        ({"run_spec": {"dataset": "x"}}, "run_spec.direction: Field required"),
    ],
)
def test_a_broken_spec_is_refused(folders, tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        load(rewritten(folders, tmp_path / "broken", **changes))


@pytest.mark.parametrize("seed", [0, 2**32 - 1])
def test_the_least_and_the_greatest_seed_are_read(folders, tmp_path, seed):
    assert load(rewritten(folders, tmp_path / "seeded", seed=seed)).seed == seed


def test_a_missing_rule_is_asked_for(folders, tmp_path):
    text = "--source valid.xs --references valid.xt"
    for system, name, option in (
        ("padir", "padir", ""),
        ("padir", "sundae", " --decoder sundae"),
        ("ar", "beam", ""),
    ):
        with pytest.raises(InputError) as refused:
            Translator(load(folders[system]), tiny_decoder(name), None if system == "ar" else 2)
        folder = folders[system]
        assert str(refused.value) == (
            f"{folder}: decoder {name} has no length rule yet: run padir tune --bundle {folder}"
            f"{option} {text} --out {folder}/decoders/{name}.json"
        )

    padir, path = load(folders["padir"]), write_decoder(tmp_path / "mine", tiny_decoder("padir"))
    with pytest.raises(InputError, match=f" --decoder {path} {text} --out .*/decoders/padir.json$"):
        Translator(padir, find_decoder(padir, str(path)), 2)


def test_the_command_that_tunes_a_rule_can_be_pasted(folders, tmp_path):
    folder = shutil.copytree(folders["padir"], tmp_path / "my model's")
    with pytest.raises(InputError) as refused:
        Translator(load(folder), tiny_decoder("padir"), 2)
    words = shlex.split(str(refused.value).partition("rule yet: run ")[2])
    assert words[:4] == ["padir", "tune", "--bundle", str(folder)]
    assert words[-2:] == ["--out", str(folder / "decoders" / "padir.json")]


def test_a_decoder_with_a_single_length_rule_needs_no_tuning(folders, tmp_path):
    padir = load(folders["padir"])
    assert Translator(load(folders["ar"]), tiny_decoder("greedy"))
    assert Translator(padir, tiny_decoder("padir", length_candidates=1), 2)
    only = tiny_decoder("padir", length_alphas=[0.7], length_weights=[0.3])
    assert Translator(padir, only, 2).rule == LengthRule(0.7, 0.3)
    beam = Translator(load(folders["ar"]), tiny_decoder("beam", length_alphas=[0.7]))
    assert beam.rule == LengthRule(0.7, 0.0)
    for several in ({"length_alphas": [0.7]}, {"length_weights": [0.3]}):
        with pytest.raises(InputError, match="has no length rule yet"):
            Translator(padir, tiny_decoder("padir", **several), 2)


def copied(folders, tmp_path):
    return shutil.copytree(folders["padir"], tmp_path / "copy")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "no decoder: found no object with keys; needed is"),
        ({"a\nb": 1}, r"no decoder: found keys 'a\\nb'; needed is"),
        ({"kind": "padir", "passes": 4}, "no decoder: found keys kind, passes; needed is"),
        ({"name": "x"}, "settings: missing"),
        ({"name": "x", "settings": {"remask": "none"}}, "settings: missing kind; allowed: kind: b"),
        ({"name": "x", "settings": {"kind": "no"}}, "settings: found kind 'no'; allowed: 'greedy'"),
        (
            {"name": "x", "settings": {"kind": "padir", "remask": "no"}},
            r'settings\.remask: found "no"; allowed: \'none\', \'stutter\'',
        ),
        (
            {"name": "x", "settings": {"kind": "padir", "joint_reech": 2}},
            r"settings\.joint_reech: unknown key; nearest known key: joint_reach; allowed: context",
        ),
        *(
            ({"name": "x", "settings": {"kind": "padir"}, "length_rule": rule}, message)
            for rule, message in (
                (None, "length_rule: Input should be a valid dictionary"),
                ({"alpha": 1}, "length_rule.weight: Field required"),
                ({"alpha": "nan", "weight": 1}, "length_rule.alpha: Input should be a valid num"),
                ({"alpha": "inf", "weight": 1}, "length_rule.alpha: Input should be a valid num"),
                ({"alpha": 0.6, "weight": True}, "length_rule.weight: Input should be a valid num"),
                ({"alpha": 101.0, "weight": 0.0}, "length_rule.alpha: Input should be less than"),
            )
        ),
        ({"name": "x", "settings": {"kind": "padir"}, "digests": [1]}, "digests: Input should be"),
        ({"name": "x", "settings": {"kind": "padir"}, "digests": {"t": 1}}, "digests.t: Input sh"),
        *(
            ({"name": "x", "settings": {"kind": "padir"}, "draft_rule": rule}, message)
            for rule, message in (
                (2.5, "draft_rule: Input should be a dictionary"),
                ({"replacement": "repair"}, "draft_rule.margin: Field required"),
                ({"replacement": "no", "margin": 2}, "draft_rule.replacement: Input should be 're"),
                ({"replacement": "repair", "margin": "x"}, "draft_rule.margin: Input should be a"),
                ({"replacement": "repair", "margin": True}, "draft_rule.margin: Input should be a"),
                ({"replacement": "repair", "margin": -1}, "draft_rule.margin: Input should be gr"),
            )
        ),
    ],
)
def test_a_foreign_decoder_file_is_refused_in_one_line(folders, tmp_path, content, message):
    folder = copied(folders, tmp_path)
    write_json(folder / "decoders" / "padir.json", content)
    with pytest.raises(InputError, match=message) as refused:
        find_decoder(load(folder), "padir")
    assert "decoders/padir.json: " in str(refused.value) and "\n" not in str(refused.value)


def test_a_decoder_is_a_file_or_one_of_the_bundle_or_built_in(folders, tmp_path):
    folder = copied(folders, tmp_path)
    loaded = load(folder)
    built_in = find_decoder(loaded, None)
    assert (built_in.name, built_in.rule, built_in.path) == ("padir", None, None)
    assert find_decoder(loaded, "cmlm").settings.kind == "cmlm"
    tuned = tiny_decoder("padir", LengthRule(1.0, 0.5), restarts=2)
    inside = write_decoder(folder / "decoders" / "padir.json", tuned)
    for choice in (None, "padir", str(inside)):
        decoder = find_decoder(loaded, choice)
        assert (decoder.name, decoder.settings, decoder.rule) == (
            "padir",
            tuned.settings,
            LengthRule(1.0, 0.5),
        )
        assert Translator(loaded, decoder, 2).files[-1] == inside
    assert find_decoder(load(folders["ar"]), None).name == "beam"
    with pytest.raises(
        InputError, match=r"decoder other: no such file.*: allowed are padir, sundae$"
    ):
        find_decoder(loaded, "other")
    with pytest.raises(InputError, match="decoder : no such file"):
        find_decoder(loaded, "")


def test_provenance_beside_a_decoder_is_no_decoder(folders, tmp_path):
    folder = copied(folders, tmp_path)
    write_decoder(folder / "decoders" / "mine.json", tiny_decoder("padir", LengthRule(1.0, 0.5)))
    write_json(folder / "decoders" / "mine.provenance.json", {})
    names = decoder_names(load(folder))
    assert names[0] == "mine" and "mine.provenance" not in names


def test_an_unknown_decoder_names_those_that_fit_and_the_nearest_first(folders, tmp_path):
    folder = copied(folders, tmp_path)
    write_json(folder / "decoders" / "broken.json", {"name": "broken"})
    with pytest.raises(InputError, match=r": allowed are sundae, padir$"):
        find_decoder(load(folder), "sundea")
    with pytest.raises(InputError, match=r": allowed are beam, greedy$"):
        find_decoder(load(folders["ar"]), "baem")


def test_a_name_is_a_decoder_even_where_a_file_has_it(folders, tmp_path, monkeypatch):
    loaded = load(copied(folders, tmp_path))
    other = tiny_decoder("cmlm", LengthRule(1.0, 0.5))
    for name in ("padir", "cmlm"):
        write_decoder(tmp_path / name, other)
    monkeypatch.chdir(tmp_path)
    assert find_decoder(loaded, "padir").settings.kind == "padir"
    assert find_decoder(loaded, "cmlm").path is None
    assert find_decoder(loaded, "./cmlm").rule == LengthRule(1.0, 0.5)


def test_files_of_the_working_folder_are_no_default_decoder(folders, tmp_path, monkeypatch):
    folder = copied(folders, tmp_path)
    tuned = tiny_decoder("padir", LengthRule(1.0, 0.5), name="tuned")
    write_decoder(folder / "decoders" / "tuned.json", tuned)
    monkeypatch.chdir(tmp_path)
    for name in ("padir", "beam", "greedy", "tuned"):
        (tmp_path / name).write_text("no decoder")
    assert find_decoder(load(folder), None).name == "tuned"
    assert find_decoder(load(folders["padir"]), None).name == "padir"
    assert find_decoder(load(folders["ar"]), None).name == "beam"
    assert Model(load(folders["ar"])).translator().decoder.name == "greedy"
    with pytest.raises(InputError, match=r"padir: line 1: not JSON"):
        find_decoder(load(folder), "./padir")


def test_the_default_is_a_tuned_decoder_where_the_system_s_own_is_not_tuned(folders, tmp_path):
    folder = copied(folders, tmp_path)
    ranked = tiny_decoder("padir", LengthRule(1.0, 0.5), name="a_ranked", reranker="ar")
    write_decoder(folder / "decoders" / "a_ranked.json", ranked)
    write_json(folder / "decoders" / "b_foreign.json", {"name": "b_foreign"})
    for kind in ("beam", "disco"):
        unfit = tiny_decoder(kind, LengthRule(1.0, 0.5), name=f"c_{kind}")
        write_decoder(folder / "decoders" / f"c_{kind}.json", unfit)
    assert find_decoder(load(folder), None).name == "padir"
    masked = tiny_decoder("padir", LengthRule(1.0, 0.5), name="masked")
    write_decoder(folder / "decoders" / "masked.json", masked)
    assert find_decoder(load(folder), None).name == "masked"
    decoder = tiny_decoder("padir", LengthRule(1.0, 0.5))
    write_decoder(folder / "decoders" / "padir.json", decoder)
    assert find_decoder(load(folder), None).name == "padir"


def test_white_space_around_a_line_is_no_part_of_it(tmp_path):
    loaded = tiny_model(tmp_path / "bundle", "padir")
    around = [" ba ko", "\tba\r", "\u3000"]
    assert loaded.encode(around) == [*loaded.encode(["ba ko", "ba"]), []]
    assert loaded.encode(["ba\0ko", "\0ba\0"]) == loaded.encode(["ba ko", "ba"])


def test_more_candidates_than_lengths_are_refused(tmp_path):
    decoder = tiny_decoder("padir", LengthRule(), length_candidates=12)
    with pytest.raises(InputError, match="length_candidates is 12; this model has 11 lengths"):
        Translator(tiny_model(tmp_path / "bundle", "padir"), decoder, 1)
