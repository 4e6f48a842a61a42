"""Choices of objective, decoder and rows that do not go together are refused before any job."""

import re

import pytest
from pydantic import TypeAdapter, ValidationError

from padir.config.decoder import Decoder, RefinementDecoder
from padir.config.read import check_config
from padir.config.rows import Decoding, Row
from padir.config.systems import SYSTEMS
from padir.config.training import TrainingRun
from padir.files import InputError
from tests.unit.config.small import SMALL, changed, set_value

MASKS = {"architecture": {"extra_ids": 256}}


def refused(config: dict) -> str:
    """The one line that refuses a config."""
    with pytest.raises(InputError) as caught:
        check_config(config)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_system_is_whole_and_decoded_by_its_own_decoder(system):
    run = TrainingRun(system=system)
    for group, values in SYSTEMS[system].training.items():
        assert values.items() <= getattr(run, group).model_dump().items()
    if run.parallel:
        decoder = RefinementDecoder(kind=system)
        assert SYSTEMS[system].decoder.items() <= decoder.model_dump().items()
        run.check_decoder(system, decoder)


def test_a_training_s_own_settings_come_over_its_system_s():
    run = TrainingRun(system="cmlm", objective={"stages": 3})
    assert (run.objective.stages, run.objective.corruption) == (3, "mask")


def test_a_decoder_s_own_settings_come_over_its_system_s():
    decoder = RefinementDecoder(kind="cmlm", remask="cosine")
    assert (decoder.remask, decoder.start, decoder.stop) == ("cosine", "mask", "fixed")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"objective": {"time_weight": "linear"}}, "time_weight linear needs hiding time"),
        ({"objective": {"coupled_times": True}}, "coupled_times needs hiding time"),
        ({"objective": {"consistency": 1, "stages": 1}}, "consistency needs 2 stages or more"),
        ({"objective": {"hiding": "context"}}, "stages 1, glancing 0 and loss_on all"),
        ({"architecture": {"disentangled": True}}, "do not go together"),
        (
            {"system": "disco", "architecture": {"input_positions": True}},
            "positions of its own",
        ),
        ({"objective": {"corruption": "position_mask"}}, "table row for each"),
        ({"seeds": [0, 0]}, "names a seed twice"),
        ({"training": {"steps": 5}, "optimizer": {"warmup_steps": 5}}, "must be below"),
        ({"training": {"buckets": [300]}}, "ends at 300, above architecture.max_positions 256"),
    ],
)
def test_a_training_that_contradicts_itself_is_refused(given, message):
    with pytest.raises(ValidationError, match=message):
        TrainingRun(**given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"temperature": 0.5}, "temperature it need not"),
        ({"update": "uncertain"}, "update: uncertain it need not"),
        ({"update": "hidden"}, "update: hidden it need not"),
        ({"remask": "linear"}, "remask: linear it need not"),
        ({"remask": "cosine"}, "remask: cosine it need not"),
        ({"replacement": "summed"}, "replacement: summed it need not"),
        (
            {"joint": "neighbours", "temperature": 0.5, "stop": "fixed"},
            "takes the likeliest tokens",
        ),
        ({"remask": "critic", "update": "hidden", "stop": "fixed"}, "needs update all"),
        (
            {
                **{"remask": "coupled", "update": "hidden", "stop": "fixed"},
                **{"joint": "attention", "coupled_by": "entropy"},
            },
            "joint neighbours or coupled_by attention are allowed",
        ),
        ({"coupling_threshold": 1.5}, "no overlap is above 1"),
        ({"beam": 5}, "beam"),
    ],
)
def test_a_decoder_that_contradicts_itself_is_refused(given, message):
    with pytest.raises(ValidationError, match=message):
        RefinementDecoder(**given)


@pytest.mark.parametrize(
    ("training", "decoder", "message"),
    [
        ({"system": "ar"}, {}, r"\(kind padir\) does not fit system ar: allowed is greedy or beam"),
        (
            {},
            {"kind": "beam"},
            r"\(kind beam\) does not fit system padir: allowed is a decoder of a parallel system",
        ),
        ({}, {"kind": "greedy"}, "kind greedy.* allowed is a decoder of a parallel system"),
        ({}, {"start": "mask"}, "with mask, .*corruption random never trains that: .* use random"),
        ({}, {"replacement": "mask"}, "with mask, but objective.corruption random never trains"),
        ({}, {"start": "position_mask"}, "with position_mask, but .* random never trains that"),
        ({"system": "cmlm"}, {}, "with random, but objective.corruption mask never trains that"),
        ({"system": "cmlm"}, {"kind": "disco"}, "needs context easy_first, any other context all"),
        ({}, {"kind": "disco"}, "context easy_first, the training has .*disentangled false"),
        ({}, {"context": "easy_first"}, "needs context easy_first, any other context all"),
        ({"system": "disco"}, {}, "context all, the training has architecture.disentangled true"),
        ({"system": "cmlm"}, {"start": "mask", "replacement": "mask"}, "all, but .* update hidden"),
        ({"system": "disco"}, {"kind": "disco", "remask": "stutter"}, "it needs remask none"),
        ({}, {"remask": "critic"}, "remask critic needs objective.critic_weight above 0"),
    ],
)
def test_a_decoder_that_does_not_fit_a_training_is_refused(training, decoder, message):
    settings = TypeAdapter(Decoder).validate_python({"kind": "padir", **decoder})
    with pytest.raises(ValueError, match=rf"^decoder x[ :].*{message}"):
        TrainingRun(**training).check_decoder("x", settings)
    # As one line of the config, wherever a row may stand.
    config = changed("decoders.x", {"kind": "padir", **decoder})
    config["trainings"]["learnt"] = training
    text = Row("learnt", Decoding("x", 4 if settings.parallel else None)).name
    pair = {"name": "n", "base": text, "variant": text}
    for key, value in (("core", [rows(text)]), ("ablations", [pair])):
        line = refused(set_value(config, "evaluation", {key: value}))
        assert re.match(rf"config: evaluation\.{key}[^:]*: training learnt: decoder x", line)
        assert re.search(message, line)


def rows(text: str) -> dict:
    """One row as a group of rows."""
    row = Row.parse(text)
    passes = [] if row.decoding.passes is None else [row.decoding.passes]
    return {"trainings": [row.training], "decoders": [row.decoding.decoder], "passes": passes}


@pytest.mark.parametrize(
    ("training", "decoder"),
    [
        ({"objective": {"corruption": "mixed"}}, {"start": "mask"}),
        ({"objective": {"corruption": "mixed"}}, {"start": "random", "replacement": "mask"}),
        ({"objective": {"corruption": "position_mask"}, **MASKS}, {"start": "position_mask"}),
        ({"objective": {"critic_weight": 1.0}}, {"remask": "critic"}),
        # What is never remasked is never replaced.
        ({}, {"remask": "none", "replacement": "mask"}),
        ({"system": "disco"}, {"kind": "disco"}),
        ({"system": "cmlm"}, {"kind": "rdm"}),
        ({"system": "cmlm", "objective": {"stages": 2}}, {"start": "mask", "replacement": "mask"}),
        ({"system": "sundae"}, {}),
    ],
)
def test_a_decoder_decodes_every_training_that_it_fits(training, decoder):
    TrainingRun(**training).check_decoder("x", RefinementDecoder(**decoder))


NO_ROW = "is no row: write TRAINING/DECODER/T4, or TRAINING/DECODER for AR"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("padir/joint", "the decoder of padir/joint is 'joint': allowed are beam, "),
        ("padir/padir", "padir/padir needs a number of passes, such as padir/padir/T4"),
        ("ar/beam/T4", "ar/beam/T4: beam search has no number of passes: write ar/beam"),
        ("none/padir/T4", "the training of none/padir/T4 is 'none': allowed are ar, padir"),
        ("", f"'' {NO_ROW}"),
        ("padir", f"'padir' {NO_ROW}"),
        ("a/b/T4/d", f"'a/b/T4/d' {NO_ROW}"),
        ("/padir/T4", "'/padir/T4': '' is no name of a training or decoder"),
        ("padir//T4", "'padir//T4': '' is no name of a training or decoder"),
        ("padir/pa dir/T4", "'pa dir' is no name of a training or decoder"),
        ("../padir/T4", "'..' is no name of a training or decoder"),
        ("padir/padir.T4", "'padir.T4' is no name of a training or decoder"),
        *(
            (f"padir/padir/{passes}", f"passes are {passes!r}, allowed: T1 to T100")
            for passes in (
                "T0",
                "T101",
                "T1000",
                "T04",
                "T",
                "t4",
                "4",
                "T-4",
                "T4 ",
                "T\u0664",
                "",
            )
        ),
    ],
)
def test_a_text_that_is_no_row_is_refused(text, message):
    for key in ("evaluation.baseline", "evaluation.candidate", "teachers.ar.row"):
        line = refused(changed(key, text))
        assert line.startswith(f"config: {key}: ")
        assert message in line
    ablation = {"name": "x", "base": "padir/padir/T4", "variant": text}
    line = refused(changed("evaluation.ablations", [ablation]))
    assert line.startswith("config: evaluation.ablations.0.variant: ")
    assert message in line
    assert message in refused(changed("evaluation.analysis", {"rows": [text]}))


@pytest.mark.parametrize("passes", [0, 101, -1])
def test_passes_of_a_group_of_rows_are_1_to_100(passes):
    group = {"trainings": ["padir"], "decoders": ["padir"], "passes": [4, passes]}
    line = refused(changed("evaluation.core", [group]))
    assert f"evaluation.core.0.passes.1: found {passes}; allowed: " in line


@pytest.mark.parametrize("name", ["padir/joint/T4", "ar/beam", "padir/padir/T100", "a/b/T1"])
def test_rows_survive_their_texts(name):
    row = Row.parse(name)
    assert row.name == name
    assert Decoding.parse(row.decoding.name) == row.decoding


@pytest.mark.parametrize("text", ["padir.T0", "padir.T101", "padir.T4.T4", "padir.", ".T4", "a/b"])
def test_a_decoding_of_a_file_name_is_read_as_strictly(text):
    with pytest.raises(ValueError, match=re.escape(repr(text))):
        Decoding.parse(text)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (
            "trainings.padir.targets",
            "none",
            "trainings.padir.targets is 'none': allowed are ar, raw",
        ),
        ("teachers.raw", {"kind": "cloud"}, "the name raw is taken"),
        (
            "teachers.ar.row",
            "padir/padir/T4",
            "teachers.ar.row is 'padir/padir/T4': a teacher is an AR training on raw targets",
        ),
        ("trainings.ar.targets", "ar", "teachers.ar.row is 'ar/beam': a teacher is an AR training"),
        (
            "decoders.x",
            {"reranker": "none"},
            "decoders.x.reranker is 'none': allowed are AR trainings (ar)",
        ),
        (
            "decoders.x",
            {"reranker": "padir"},
            "decoders.x.reranker is 'padir': allowed are AR trainings (ar)",
        ),
        ("decoders.beam", {"reranker": "ar"}, "decoders.beam.reranker: unknown key; allowed: beam"),
        (
            "decoders.greedy",
            {"kind": "padir"},
            "decoders.greedy.kind is 'padir': the built-in decoder greedy has kind greedy",
        ),
        ("decoder_defaults", {"kind": "beam"}, "decoder_defaults.kind: decoders share no kind"),
        (
            "decoder_defaults",
            {"remsk": 1},
            "decoder_defaults.remsk: unknown key; nearest known key: rem",
        ),
        (
            "trainings.padir.vocabulary",
            "no",
            "config: trainings.padir.vocabulary is 'no': allowed are null and"
            " datasets.toy.vocabularies (none)",
        ),
        (
            "datasets.toy.vocabularies",
            {"a": {}, "b": {"foreign_pairs": -1}},
            "config: datasets.toy.vocabularies.b.foreign_pairs: found -1",
        ),
        (
            "evaluation.samplers",
            {"gibbs": {"training": "ar"}},
            "samplers.gibbs.training is 'ar': allowed are parallel trainings (padir)",
        ),
        (
            "evaluation.systems",
            [],
            "evaluation.systems is an empty list: allowed are rows, or null",
        ),
        ("evaluation.core", [], "evaluation.core is an empty list: allowed are rows, or null"),
        (
            "evaluation",
            {"baseline": "ar/beam", "core": [rows("padir/padir/T4")]},
            "evaluation.baseline is 'ar/beam', which is no row of evaluation.core: allowed",
        ),
        (
            "evaluation",
            {"candidate": "padir/padir/T2", "core": [rows("padir/padir/T4")]},
            "evaluation.candidate is 'padir/padir/T2', which is no row of evaluation.core",
        ),
        (
            "evaluation.baseline",
            "padir/padir/T4",
            "'padir/padir/T4': a training of system ar is needed",
        ),
        ("evaluation.candidate", "ar/beam", "'ar/beam': a training of system padir is needed"),
        (
            "evaluation.analysis",
            {"rows": ["ar/beam"]},
            "evaluation.analysis.rows holds 'ar/beam': allowed are rows of parallel trainings",
        ),
        (
            "evaluation.ablations",
            [{"name": "x", "base": "padir/padir/T4", "variant": "padir/padir/T1"}] * 2,
            "evaluation.ablations.1: x, padir/padir/T4, padir/padir/T1 is given twice",
        ),
        (
            "trainings.padir.training.warm_start",
            "padir",
            "allowed are AR trainings that start fresh (ar)",
        ),
        ("trainings.ar.training.warm_start", "ar", "AR trainings that start fresh (none)"),
        (
            "trainings.padir",
            {"training": {"warm_start": "ar"}, "architecture": {"width": 64}},
            "warm_start is 'ar', whose architecture.width is 512; here it is 64",
        ),
        ("theory.seeds", [1, 1], "theory: seeds [1, 1] names a seed twice"),
        ("theory.seeds", [2**32], f"theory.seeds.0: found {2**32}; allowed: less than {2**32}"),
    ],
)
def test_names_that_do_not_resolve_are_refused(path, value, message):
    assert message in refused(changed(path, value))


def test_one_comparison_may_answer_several_questions():
    pair = {"base": "padir/padir/T4", "variant": "padir/padir/T1"}
    config = changed("evaluation.ablations", [{"name": "x", **pair}, {"name": "y", **pair}])
    assert len(check_config(config).ablation_rows()) == 2
    same = changed("evaluation.ablations", [{"name": "x", **pair, "variant": pair["base"]}])
    assert "base and variant are both padir/padir/T4" in refused(same)


def test_decoder_defaults_hold_for_the_decoders_that_have_the_key():
    config = changed("decoder_defaults", {"beam": 3, "length_alphas": [0.5], "restarts": 2})
    config["decoders"] = {"wide": {"kind": "beam", "beam": 9}, "linear": {"stop": "fixed"}}
    decoders = check_config(config).decoders
    assert {decoder.length_alphas[0] for decoder in decoders.values()} == {0.5}
    beams = {name: decoders[name].beam for name in ("beam", "greedy", "wide")}
    assert beams == {"beam": 3, "greedy": 3, "wide": 9}
    assert {decoders[name].restarts for name in ("padir", "cmlm", "linear")} == {2}


def with_vocabulary(**datasets):
    """`SMALL` with training padir on vocabulary `other`, which the datasets given have."""
    config = changed("trainings.padir.vocabulary", "other")
    for name, settings in datasets.items():
        config["datasets"][name]["vocabularies"] = {"other": settings}
    return config


def test_every_dataset_must_have_a_training_s_vocabulary():
    assert "and datasets.real.vocabularies (none)" in refused(with_vocabulary(toy={}))
    config = check_config(with_vocabulary(toy={"foreign_pairs": 7}, real={"extra_text": ["x"]}))
    assert config.datasets["toy"].vocabulary_named("other").foreign_pairs == 7
    assert config.datasets["toy"].vocabulary_named(None) == config.datasets["toy"].vocabulary


def test_a_reranker_has_the_vocabulary_and_reads_the_lengths_of_what_it_ranks():
    decoders = {"ranked": {"reranker": "ar"}}
    evaluation = {"core": [rows("ar/beam"), rows("padir/ranked/T4")]}
    fitting = changed("decoders", decoders) | {"evaluation": evaluation}
    assert check_config(fitting).decoders["ranked"].reranker == "ar"
    assert check_config(fitting).trainings_behind([Row.parse("padir/ranked/T4")]) == ["ar", "padir"]
    other = with_vocabulary(toy={}, real={}) | {"decoders": decoders, "evaluation": evaluation}
    assert "reranker ar has vocabulary None, the training other" in refused(other)
    shorter = changed("trainings.ar.architecture.max_positions", 128)
    shorter |= {"decoders": decoders, "evaluation": evaluation}
    line = refused(shorter)
    assert "reranker ar reads 128 tokens (architecture.max_positions), at least 256" in line


def test_rows_without_settings_are_every_training_under_its_own_decoders():
    config = check_config(SMALL)
    names = ["ar/greedy", "ar/beam", *(f"padir/padir/T{passes}" for passes in (1, 2, 4, 8, 10))]
    assert [row.name for row in config.core_rows()] == names
    assert config.system_rows() == config.core_rows()
    assert str(config.baseline() and config.baseline().name) == "ar/beam"
    assert str(config.candidate() and config.candidate().name) == "padir/padir/T4"
    assert [row.name for row in config.analysed_rows()] == ["padir/padir/T1"]
    assert config.all_rows() == config.core_rows()


def test_dependency_rows_stand_after_their_plain_ones():
    config = changed("decoders", {"joint": {"joint": "neighbours"}})
    group = {"trainings": ["padir"], "decoders": ["joint", "padir"], "passes": [2, 4]}
    config["evaluation"] = {"dependency": [group]}
    names = [row.name for row in check_config(config).dependency_rows()]
    assert names == ["padir/padir/T2", "padir/joint/T2", "padir/padir/T4", "padir/joint/T4"]
