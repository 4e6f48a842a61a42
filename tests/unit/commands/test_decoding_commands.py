"""decode, tune, distill and translate from files to files, with tiny random models."""

import io
import shutil
import sys
from types import SimpleNamespace

import pytest

from padir.commands import decode, distill, distill_card, translate, tune
from padir.config.decoder import decoder_digest
from padir.config.training import Training
from padir.data.batches import BatchPlan, in_order
from padir.data.encode import encode_pairs
from padir.decode.load import find_decoder, load
from padir.files import InputError, read_json, read_jsonl, read_lines, write_lines
from padir.vocab import Vocabulary
from tests.decoding import (
    LINES,
    decoding,
    run,
    tiny_decoder,
    write_decoder,
    write_tiny_bundle,
)

KEYS = [
    "id", "hypothesis", "before_drop", "tokens", "tokens_before_drop", "steps",
    "log_probability", "length", "candidates",
]  # fmt: skip


pytestmark = pytest.mark.usefixtures("no_set_up")


DECODERS = {"ar": "beam", "padir": "padir"}
DIGESTS = {"data": "d", "training": "t"}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with bundles of both systems and their tuned decoders, sources and references."""
    folder = tmp_path_factory.mktemp("commands")
    write_lines(folder / "source", LINES)
    write_lines(folder / "reference", [" ".join(line.split()[::-1]) for line in LINES])
    for system, kind in DECODERS.items():
        write_tiny_bundle(folder / system, system, digests=DIGESTS)
        decoder = tiny_decoder(kind, length_alphas=[0.0, 1.0])
        write_decoder(folder / f"{kind}.json", decoder, digest="given")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tune, "prepare", lambda threads: None)
            arguments = ["--bundle", folder / system, "--source", folder / "source"]
            arguments += ["--decoder", folder / f"{kind}.json"]
            arguments += ["--references", folder / "reference", folder / "reference"]
            arguments += ["--out", folder / system / "decoders" / f"{kind}.json"]
            assert tune.main(list(map(str, arguments))) == 0
    return folder


def test_tune_writes_every_rule_and_takes_the_best(place):
    for system, kind, count, passes in (("ar", "beam", 2, None), ("padir", "padir", 4, 4)):
        path = place / system / "decoders" / f"{kind}.json"
        content = read_json(path)
        assert (content["format"], content["name"], content["seed"]) == (2, kind, 2)
        assert content["settings"] == read_json(place / f"{kind}.json")["settings"]
        validation = content["validation"]
        assert (validation["sentences"], validation["passes"]) == (len(LINES), passes)
        assert len(validation["rules"]) == count
        best = max(validation["rules"], key=lambda row: row["bleu"])
        assert content["length_rule"] == {key: best[key] for key in ("alpha", "weight")}
        rule = find_decoder(load(place / system), kind).draft_rule
        assert content["draft_rule"] == (None if system == "ar" else vars(rule))
        settings = tiny_decoder(kind, length_alphas=[0.0, 1.0]).settings
        assert content["digests"] == {**DIGESTS, "decoder": decoder_digest(settings)}
        provenance = read_json(path.with_name(f"{kind}.json.provenance.json"))
        assert provenance["digests"] == content["digests"]
        assert provenance["labels"]["training"] == f"tiny_{system}"


def test_greedy_is_not_tuned(place, tmp_path, monkeypatch):
    monkeypatch.setattr("padir.decode.translate.Translator.candidates", None)
    arguments = [*decoding(place, "greedy"), "--references", place / "reference"]
    assert run(tune, *arguments, "--out", tmp_path / "greedy.json") == 0
    content = read_json(tmp_path / "greedy.json")
    assert content["length_rule"] == {"alpha": 0.0, "weight": 0.0}
    assert content["validation"] == {"sentences": len(LINES), "passes": None, "rules": []}


def test_batch_sentences_do_not_change_output(place, tmp_path):
    texts = []
    for sentences in (1, 7):
        arguments = ["--out", tmp_path / "o", "--text", tmp_path / "t"]
        run(decode, *decoding(place, "T2"), *arguments, "--batch-sentences", sentences)
        texts.append(read_lines(tmp_path / "t"))
    assert texts[0] == texts[1]
    with pytest.raises(InputError, match="--batch-sentences is 0: allowed are 1 to 1000000"):
        run(decode, *decoding(place, "T2"), *arguments, "--batch-sentences", 0)


@pytest.mark.parametrize("name", ["T2", "beam", "greedy"])
def test_decode_writes_records_and_text(place, tmp_path, name):
    out, text = tmp_path / "out.jsonl", tmp_path / "out.txt"
    arguments = decoding(place, name)
    assert run(decode, *arguments, "--out", out, "--text", text) == 0
    records = read_jsonl(out)
    assert [record["id"] for record in records] == list(range(len(LINES)))
    assert all(list(record) == KEYS for record in records)
    assert [record["hypothesis"] for record in records] == read_lines(text)
    assert records[LINES.index("")]["candidates"] == 0
    assert (tmp_path / "out.jsonl.provenance.json").exists()


@pytest.mark.parametrize("name", ["T2", "beam"])
def test_decode_and_tune_cut_a_line_that_is_too_long_and_say_so(place, tmp_path, capsys, name):
    bundle = tmp_path / "bundle"
    shutil.copytree(place / ("padir" if name == "T2" else "ar"), bundle)
    write_lines(tmp_path / "long", ["ba", "ba" + 19 * " ba"])
    write_lines(tmp_path / "cut", ["ba", "ba" + 14 * " ba"])
    texts = []
    for file in ("long", "cut"):
        arguments = ["--bundle", bundle, "--source", tmp_path / file]
        passes = ["--passes", 2] if name == "T2" else []
        run(decode, *passes, *arguments, "--out", tmp_path / "o", "--text", tmp_path / "t")
        texts.append(read_lines(tmp_path / "t"))
        said = [line for line in capsys.readouterr().err.splitlines() if "cut to" in line]
        run(tune, *arguments, "--references", tmp_path / "cut", "--out", tmp_path / "decoder.json")
        said += [line for line in capsys.readouterr().err.splitlines() if "cut to" in line]
        if file == "long":
            first, second = said
            told = "line 2: 20 tokens, cut to the first 15, all that this model reads"
            assert first == f"padir decode: {tmp_path / 'long'}: {told}"
            assert second == f"padir tune: {tmp_path / 'long'}: {told}"
        else:
            assert said == []
    assert texts[0] == texts[1]


def test_a_length_rule_that_does_not_fit_is_refused(place, tmp_path):
    written = ("--out", tmp_path / "o", "--text", tmp_path / "t")
    for name, rule, message in (
        ("T2", {"weight": 1, "alpha": "nan"}, "--length-alpha is nan: allowed are -100 to 100"),
        ("greedy", {"alpha": 1}, "--length-alpha: decoder greedy compares no hypotheses"),
        ("beam", {"alpha": 1, "weight": 1}, "--length-weight: decoder beam predicts no lengths"),
    ):
        options = [part for key, value in rule.items() for part in (f"--length-{key}", value)]
        with pytest.raises(InputError, match=message):
            run(decode, *decoding(place, name), *written, *options)


def test_distilled_shards_are_what_decode_gives(place, tmp_path):
    arguments = decoding(place, "greedy")
    text = tmp_path / "t"
    run(decode, *arguments, "--out", tmp_path / "o", "--text", text)
    parts = []
    for shard in ("1/2", "2/2"):
        out = tmp_path / shard.replace("/", "of")
        assert run(distill, *arguments, "--shard", shard, "--out", out) == 0
        parts += read_lines(out)
    assert parts == read_lines(text)
    assert not list(tmp_path.glob("*.parts"))


@pytest.mark.parametrize("decoder", ["greedy", "beam"])
def test_a_student_learns_without_the_line_that_its_teacher_cannot_read(
    place, tmp_path, capsys, decoder
):
    """As in `config/paper.yaml`, whose text keeps its long lines: a teacher of 16 positions."""
    lines = [*LINES[:3], "ba " * 20, LINES[4]]
    write_lines(tmp_path / "source", lines)
    write_lines(tmp_path / "reference", [line.strip()[::-1] for line in lines])
    out, card = tmp_path / "out", tmp_path / "card.json"
    arguments = ["--bundle", place / "ar", "--decoder", decoder]
    assert run(distill, *arguments, "--source", tmp_path / "source", "--out", out) == 0
    assert "source: 1 of 5 lines have more than the 15 tokens" in capsys.readouterr().err
    translations = read_lines(out)
    # This teacher, which nobody trained, has nothing to say about some short lines either.
    kept = {index for index, line in enumerate(translations) if line}
    assert kept and 3 not in kept
    provenance = read_json(tmp_path / "out.provenance.json")
    assert provenance["notes"] == {"lines_too_long": 1}
    assert provenance["digests"].items() >= DIGESTS.items()
    # The others are what they are without it.
    write_lines(tmp_path / "short", [line for line in lines if len(line) < 40])
    run(distill, *arguments, "--source", tmp_path / "short", "--out", tmp_path / "alone")
    assert read_lines(tmp_path / "alone") == [*translations[:3], translations[4]]
    assert read_json(tmp_path / "alone.provenance.json")["notes"] == {"lines_too_long": 0}

    arguments = ["--teacher", "ar", "--row", f"ar/{decoder}", "--target-language", "xt"]
    arguments += ["--train", out, "--train-reference", out]
    arguments += ["--valid", out, "--valid-references", out, "--out", card]
    assert run(distill_card, *arguments) == 0
    content = read_json(card)
    assert content["lines"] == {"train": 5, "valid": 5}
    assert content["empty"] == {"train": 5 - len(kept), "valid": 5 - len(kept)}

    vocabulary = Vocabulary.load(place / "ar" / "spm.model")
    pairs = encode_pairs(vocabulary, tmp_path / "source", out)
    training = Training(steps=1, batch_tokens=64, buckets=[16, 32])
    plan = BatchPlan(pairs, training, 0)
    groups = [plan.group_at(step) for step in range(plan.steps_per_epoch)]
    assert {int(row) for group in groups for row in group.rows.flat} == kept
    assert (plan.empty, plan.too_long) == (5 - len(kept), 0)
    valid = {int(row) for _, rows in in_order(pairs, training) for row in rows if row >= 0}
    assert valid == kept


def test_ready_made_translations_must_be_aligned(place, tmp_path):
    arguments = ["--source", place / "source", "--out", tmp_path / "out"]
    assert run(distill, "--ready", place / "reference", *arguments) == 0
    assert read_lines(tmp_path / "out") == read_lines(place / "reference")
    write_lines(tmp_path / "short", LINES[:-1])
    with pytest.raises(InputError, match=r"line counts differ: .*source has 10, .*short has 9"):
        run(distill, "--ready", tmp_path / "short", *arguments)


def test_a_teacher_that_equals_the_reference_has_bleu_100_on_its_card(place, tmp_path):
    write_lines(tmp_path / "long", ["one two three four five"] * 3)
    arguments = ["--teacher", "ar", "--row", "ar/beam", "--target-language", "xt"]
    for name in ("train", "train-reference", "valid", "valid-references"):
        arguments += [f"--{name}", tmp_path / "long"]
    assert run(distill_card, *arguments, "--out", tmp_path / "card.json") == 0
    card = read_json(tmp_path / "card.json")
    assert card["teacher_bleu"]["score"] == pytest.approx(100)
    assert "tok:13a" in card["agreement_with_raw"]["signature"]
    with pytest.raises(InputError, match="go together"):
        run(distill_card, *arguments, "--grammar", "g", "--out", tmp_path / "card.json")


def streamed(monkeypatch, capfd, content, *arguments):
    stdin = SimpleNamespace(buffer=io.BytesIO(content), isatty=lambda: False)
    monkeypatch.setattr(sys, "stdin", stdin)
    code = run(translate, *arguments)
    captured = capfd.readouterr()
    return code, captured.out, captured.err


def test_translate_keeps_line_for_line(place, monkeypatch, capfdbinary):
    content = "ba ko\n\nmi\rre\u2028su\x85ta\nba\tko\n \nno end".encode()
    code, out, err = streamed(
        monkeypatch, capfdbinary, content, "--model", place / "padir", "--chunk", 2
    )
    assert code == 0
    assert out.count(b"\n") == 6
    assert out.split(b"\n")[1] == b""
    # Of carriage return, U+2028 and NEL, which this vocabulary does not know.
    [told] = err.splitlines()
    assert b"line 3 holds text that this model's vocabulary cannot spell" in told


def test_translate_equals_decode(place, monkeypatch, capfd, tmp_path):
    content = "".join(f"{line}\n" for line in LINES).encode()
    for system, flags, name in (
        ("padir", ["--steps", "2"], "T2"),
        ("ar", [], "greedy"),
        ("ar", ["--beam", "3"], "beam"),
    ):
        _, out, _ = streamed(monkeypatch, capfd, content, "--model", place / system, *flags)
        run(decode, *decoding(place, name), "--out", tmp_path / "o", "--text", tmp_path / "t")
        capfd.readouterr()
        assert out.split("\n")[:-1] == read_lines(tmp_path / "t")


def test_translate_shows_each_pass_and_ends_with_the_output(place, monkeypatch, capfd):
    arguments = ["--model", place / "padir", "--steps", 3]
    plain = streamed(monkeypatch, capfd, b"ba ko mi\n", *arguments)[1]
    code, out, err = streamed(monkeypatch, capfd, b"ba ko mi\n\n", *arguments, "--trace")
    assert (code, out) == (0, plain + "\n"), "tracing changes no output; an empty line has no pass"
    passes = [line.split(maxsplit=1) for line in err.splitlines()]
    assert [int(number) for number, _ in passes] == list(range(len(passes)))
    assert 2 <= len(passes) <= 4
    start, *_, last = (pieces.split() for _, pieces in passes)
    assert all(piece.startswith("[") for piece in start), "all tokens are to be predicted"
    # The output lacks nothing but the repeats that the final drop takes.
    text = "".join(last).replace("\u2581", " ").translate({ord(mark): None for mark in "[]"})
    assert set(plain.split()) <= set(text.split())


def test_translate_cuts_long_lines_and_says_so(place, monkeypatch, capfd):
    content = ("ba\n" + "ko " * 30 + "\nmi\n").encode()
    code, out, err = streamed(monkeypatch, capfd, content, "--model", place / "padir")
    assert (code, out.count("\n")) == (0, 3)
    assert "warning: line 2: " in err
    assert "cut to the first 15" in err


def test_translate_refuses_what_is_not_text(place, monkeypatch, capfd):
    with pytest.raises(InputError, match="standard input: line 2, byte 3: not valid UTF-8"):
        streamed(monkeypatch, capfd, b"ba\nko\xff\n", "--model", place / "padir")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--beam", "0"], "--beam is 0"),
        (["--beam", "2"], "does not fit"),
        (["--beam", "2", "--decoder", "padir"], "--beam 2 needs beam search; decoder padir is"),
        (["--steps", "0"], "passes is 0, allowed are 1 to 100"),
        (["--chunk", "0"], "--chunk is 0"),
    ],
)
def test_translate_refuses_bad_options(place, monkeypatch, capfd, flags, message):
    with pytest.raises(InputError, match=message):
        streamed(monkeypatch, capfd, b"ba\n", "--model", place / "padir", *flags)


@pytest.fixture
def constrained(place, monkeypatch, capfd, tmp_path):
    """Translates `LINES` or other sources with PaDIR under constraints: option=lines."""

    def call(sources=LINES, model="padir", flags=("--chunk", "3"), **constraints):
        flags = list(flags)
        for option, lines in constraints.items():
            write_lines(tmp_path / option, lines)
            flags += [f"--{option}", tmp_path / option]
        content = "".join(f"{line}\n" for line in sources).encode()
        capfd.readouterr()  # what came before an error
        code, out, err = streamed(monkeypatch, capfd, content, "--model", place / model, *flags)
        assert (code, err) == (0, "")
        return out.split("\n")[:-1]

    return call


def test_translate_gives_what_is_asked_of_each_line(constrained):
    plain = constrained()
    for option in ("prefix", "suffix", "infill", "draft", "terms"):
        assert constrained(**{option: [""] * len(LINES)}) == plain
        for held in ("ba ko", "ve"):
            lines = [held if line and index % 2 else "" for index, line in enumerate(LINES)]
            if option == "infill":
                lines = [line and f"___ {line} ___" for line in lines]
            translations = constrained(**{option: lines})
            for translation, line, free in zip(translations, lines, plain, strict=True):
                if not line:
                    assert translation == free
                elif option == "prefix":
                    assert translation.startswith(f"{held} ")
                elif option == "suffix":
                    assert translation.endswith(f" {held}")
                elif option == "infill":
                    assert f" {held} " in translation
                elif option == "draft":
                    assert len(translation.split()) <= len(line.split())
                else:
                    assert f" {held} " in f" {translation} "
    both = constrained(["ba", "ko"], prefix=["su", ""], suffix=["re mi", "ta"])
    assert both[0].startswith("su ") and both[0].endswith(" re mi") and both[1].endswith(" ta")


def test_a_draft_margin_decides_whether_a_draft_is_replaced(constrained):
    drafts = [line and "ve no ve ko" for line in LINES]
    lowest = constrained(flags=("--draft-margin", "-1000"), draft=drafts)
    highest = constrained(flags=("--draft-margin", "1000"), draft=drafts)
    assert highest == drafts and not {line for line in lowest if line} & set(drafts)


@pytest.mark.parametrize("chunk", ["1", "2", "64"])
def test_constraints_and_input_have_as_many_lines(constrained, chunk):
    flags = ("--chunk", chunk)
    assert len(constrained(["ba"] * 3, flags=flags, prefix=["ba"] * 3)) == 3
    with pytest.raises(InputError, match=r"the input has 1, .*prefix has 3"):
        constrained(["ba"], flags=flags, prefix=["ba"] * 3)
    with pytest.raises(InputError, match=r"the input has more than the 2 of .*prefix"):
        constrained(["ba"] * 3, flags=flags, prefix=["ba"] * 2)
    assert constrained([], flags=flags, draft=[]) == []


@pytest.mark.parametrize(
    ("sources", "options", "message"),
    [
        (["ba"], {"model": "ar", "infill": ["ba"]}, "ar: a model of system ar writes token after"),
        (["ba"], {"draft": ["ba"], "suffix": ["ba"]}, "--suffix and --draft: only --prefix and"),
        (["ba"], {"terms": ["xyz"]}, "terms: line 1: this model's vocabulary cannot spell 'xyz'"),
        (["ba"], {"terms": ["ba"], "flags": ["--draft-margin", "2"]}, r"2.0: needs --draft"),
        (["ba"], {"draft": ["ba"], "flags": ["--draft-margin", "nan"]}, "nan: .* finite number"),
        (["ba", ""], {"terms": ["", "ba"]}, "line 2 of the input is empty, but that of .*terms"),
    ],
)
def test_constraints_that_cannot_be_kept(constrained, sources, options, message):
    with pytest.raises(InputError, match=message):
        constrained(sources, **options)


def test_translate_help_shows_every_constraint(capsys):
    with pytest.raises(SystemExit):
        run(translate, "--help")
    text = capsys.readouterr().out
    for option in translate.CONSTRAINTS:
        assert f"padir translate --model bundle --{option} " in text
        assert f"  --{option} F " in text
