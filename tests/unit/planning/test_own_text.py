"""`padir init` and what refuses or warns before a run: text, vocabulary, buckets, memory, time."""

import itertools
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from padir.cli import main
from padir.config.data import Cleaning
from padir.config.read import check_config, load_config
from padir.config.rows import Row
from padir.files import InputError, read_aligned, read_lines, write_text
from padir.planning import fit, propose
from padir.planning.cost import parameter_counts
from padir.planning.machine import Machine
from padir.planning.memory import about_parameters
from padir.planning.text import count, find_text

CPU = Machine(cores=2, memory=8 * 10**9, kind="cpu", accelerators=0, gflops=20.0)
WORDS = ["".join(letters) for letters in itertools.product("bkmrst", "aeiou", "lnp", "aou")]


def write_pairs(folder: Path, stem: str, pairs: int, languages=("de", "en"), seed=0) -> None:
    draw = random.Random(seed)
    folder.mkdir(exist_ok=True)
    sides = [[" ".join(draw.choices(WORDS, k=draw.randint(3, 9))) for _ in range(pairs)]] * 2
    for language, lines in zip(languages, sides, strict=True):
        (folder / f"{stem}.{language}").write_text("".join(f"{line}\n" for line in lines))


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("padir.planning.machine.measure", lambda: CPU)
    monkeypatch.setattr("padir.launch.prepare", lambda threads: None)
    write_pairs(tmp_path / "corpus", "train", 900)
    return tmp_path / "corpus"


def test_a_config_fits_one_screen_and_its_text(corpus, capsys):
    assert main(["init", "corpus", "--directions", "de-en", "en-de"]) == 0
    shown = capsys.readouterr().out
    lines = Path("corpus.yaml").read_text().splitlines()
    assert len(lines) <= 25 and max(map(len, lines)) <= 100
    config = load_config(["corpus.yaml"])
    assert config.datasets["corpus"].directions == ["de-en", "en-de"]
    assert not config.theory.seeds and config.default_target == "core"
    assert list(fit.check(config)) == []
    # Outside the project's folder the command says where the workflow is.
    snakefile = Path(__file__).resolve().parents[3] / "Snakefile"
    assert f"snakemake --snakefile {snakefile} --cores 2 --configfile corpus.yaml" in shown
    assert "results/runs/corpus/de-en/padir/seed0/bundle" in shown
    run = config.trainings["padir"]
    assert run.optimizer.warmup_steps < run.training.steps
    held = {split: read_aligned(f"data/corpus/{split}.de", f"data/corpus/{split}.en")
            for split in ("train", "valid", "test")}  # fmt: skip
    assert len(held["valid"][0]) == len(held["test"][0]) == 45
    sources = [set(sides[0]) for sides in held.values()]
    assert not any(a & b for a, b in itertools.combinations(sources, 2))
    assert sum(map(len, sources)) == len(set(read_lines("corpus/train.de")))
    assert all(a == b for sides in held.values() for a, b in zip(*sides, strict=True))


def test_the_documented_additions_load_alone_and_together(corpus):
    root = Path(__file__).resolve().parents[3]
    document = (root / "docs/own-text.md").read_text(encoding="utf-8")
    (masked,) = [text for text in re.findall(r"```yaml\n(.*?)```", document, re.S)
                 if "padir_masked" in text]  # fmt: skip
    Path("masked.yaml").write_text(masked)
    assert main(["init", "corpus"]) == 0
    alone = load_config(["corpus.yaml", "masked.yaml"])
    undecided = yaml.safe_load(masked)
    undecided["evaluation"].pop("candidate", None)
    Path("undecided.yaml").write_text(yaml.safe_dump(undecided))
    assert alone.candidate() == load_config(["corpus.yaml", "undecided.yaml"]).candidate()

    added = "extends: CLONE/config/grid.yaml"
    size = "vocabularies: {generic: {size: N, foreign_pairs: 7}}"
    assert f"`{added}`" in document and f"`{size}`" in document
    text = Path("corpus.yaml").read_text()
    line = next(line for line in text.splitlines() if line.strip().startswith("vocabulary:"))
    below = line.partition("vocabulary")[0] + size.replace("N", "300")
    text = text.replace(line, f"{line}\n{below}")
    Path("corpus.yaml").write_text(f"{added.replace('CLONE', str(root))}\n{text}")
    assert load_config(["corpus.yaml"]).candidate() == Row.parse("padir_distilled/padir/T4")
    together = load_config(["corpus.yaml", "masked.yaml"])
    assert together.candidate() == alone.candidate()
    assert together.core_rows() == alone.core_rows()
    assert together.evaluation.systems and together.evaluation.ablations


def test_splits_that_are_there_are_used_and_nothing_is_written(corpus):
    for split in ("dev", "test2016"):
        write_pairs(corpus, split, 30, seed=1)
    assert main(["init", "corpus", "--name", "own"]) == 0
    source = load_config(["own.yaml"]).datasets["own"].source
    assert [Path(source.folder, getattr(source, split).files["de"]).name for split in
            ("train", "valid", "test")] == ["train.de", "dev.de", "test2016.de"]  # fmt: skip
    assert not Path("data").exists()


def test_a_name_that_yaml_reads_as_another_value_is_quoted(corpus):
    assert main(["init", "corpus", "--name", "no"]) == 0
    assert list(load_config(["no.yaml"]).datasets) == ["no"]


def test_an_existing_config_is_only_replaced_with_force(corpus, capsys):
    Path("corpus.yaml").write_text("mine")
    assert main(["init", "corpus"]) == 2
    assert "corpus.yaml: exists; --force replaces it" in capsys.readouterr().err
    assert Path("corpus.yaml").read_text() == "mine" and not Path("data").exists()
    assert main(["init", "corpus", "--force"]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere: no such file or folder"),
        (["."], ".: no parallel text: files with one name"),
        (["corpus/train.de"], "corpus/train.de: allowed is one folder, or two files"),
        (["corpus/train.de", "notes.txt"], "the endings name no two languages"),
        (["corpus", "--directions", "de-fr"], "allowed are de-en and en-de, each once"),
        (["corpus", "--name", "../x"], "--name is '../x': allowed are a letter"),
        (["corpus", "--minutes", "nan"], "--minutes is nan: allowed are numbers above 0"),
        (["corpus", "--minutes", "2e6"], "allowed are numbers above 0, below a million"),
        (["three"], "found de, en, fr: say which two languages"),
        (["corpus", "--languages", "DE", "EN"], "--languages DE EN: allowed are two codes of two"),
        (["corpus", "--languages", "de", "de"], "--languages de de: allowed are two codes of two"),
        (["few"], "20 pairs, at least 200 are needed"),
        (
            ["same"],
            "3 distinct source lines with text beside them; at least 20 are needed to draw a valid",
        ),
        (["uneven"], "line counts differ"),
        (["binary"], "line 1, byte 1: not valid UTF-8"),
        (["corpus", "--size", "paper"], "size paper: a training takes"),
    ],
)
def test_input_that_is_not_parallel_text_is_refused_in_one_line(arguments, message, corpus, capsys):
    write_pairs(Path("three"), "train", 300, ("de", "en"))
    write_pairs(Path("three"), "train", 300, ("de", "fr"))
    write_pairs(Path("few"), "train", 20)
    write_pairs(Path("same"), "train", 300)
    lines = Path("same/train.de").read_text().splitlines()
    Path("same/train.de").write_text("".join(f"{line}\n" for line in lines[:3] * 100))
    write_pairs(Path("uneven"), "train", 300)
    Path("uneven/train.en").write_text("a\n")
    write_pairs(Path("binary"), "train", 300)
    Path("binary/train.en").write_bytes(b"\xff\n" * 300)
    Path("notes.txt").write_text("a\n")
    assert main(["init", *arguments]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert message in line
    assert not Path("data").exists() and not list(Path().glob("*.yaml"))


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "line counts differ: corpus/dev.de has 60, corpus/dev.en has 0"),
     (None, "corpus/dev.de and corpus/dev.en: no line")],
)  # fmt: skip
def test_a_given_validation_set_that_is_empty_or_not_aligned_is_refused(
    corpus, capsys, text, message
):
    write_pairs(corpus, "dev", 0 if text is None else 60)
    (corpus / "dev.en").write_text(text or "")
    assert main(["init", "corpus"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    advice = "mend the valid set, or move its files away: padir init draws one"
    assert line.endswith(f"{message}; {advice}")
    assert not list(Path().glob("*.yaml"))


def test_an_absolute_folder_may_lack_one_held_out_set(corpus):
    write_pairs(corpus, "test", 60, seed=1)
    assert main(["init", str(corpus)]) == 0
    source = load_config(["corpus.yaml"]).datasets["corpus"].source
    for split, folder in (("train", "data/corpus"), ("valid", "data/corpus"), ("test", "corpus")):
        path = Path(source.folder, getattr(source, split).files["de"])
        assert path.samefile(Path(folder, f"{split}.de")), split


def test_a_time_that_is_too_short_is_told_as_the_fewest_steps(corpus, capsys):
    assert main(["init", "corpus", "--minutes", "0.1"]) == 0
    steps = f"{propose.FEWEST_STEPS} steps (the fewest that are proposed), "
    assert steps in capsys.readouterr().out
    assert main(["init", "corpus", "--force"]) == 0
    assert "fewest" not in capsys.readouterr().out


def test_more_time_and_text_give_a_larger_size_and_more_steps(corpus):
    counts = count(find_text([corpus]).splits["train"])
    few, more = (propose.propose(counts, CPU, minutes=minutes) for minutes in (4.0, 9.0))
    assert few.size == more.size == "tiny" and few.steps < more.steps
    assert few.minutes == pytest.approx(4.0, abs=0.5)
    assert few.warmup < few.steps
    large = propose.propose(replace(counts, pairs=50_000), CPU, minutes=600.0)
    assert large.size == "small"
    both = propose.propose(counts, CPU, directions=4, minutes=9.0)
    assert both.steps < more.steps


def test_the_time_counts_distillation_and_the_choice_of_length_rules(corpus, monkeypatch):
    counts = replace(count(find_text([corpus]).splits["train"]), pairs=20_000)
    whole = propose.propose(counts, CPU, size="tiny").minutes
    monkeypatch.setattr(propose, "held_out", lambda sources: 0)
    untuned = propose.propose(counts, CPU, size="tiny").minutes
    few = propose.propose(replace(counts, pairs=1_000), CPU, size="tiny").minutes
    # 1,000 held-out pairs are decoded four times by a beam of 5, and once in four passes of five
    # lengths, which costs as much as four times more; 19,000 pairs are decoded once by that beam.
    assert (whole - untuned) / (untuned - few) == pytest.approx(8 / 19, rel=0.1)


def test_what_cleaning_drops_is_neither_counted_nor_sampled(corpus, capsys):
    few, line = 300, "bal kel mil"
    long = [f"{' '.join(WORDS[:180] * 2)} {number}" for number in range(600)]
    for language in ("de", "en"):
        kept = (corpus / f"train.{language}").read_text().splitlines()[:few]
        huge, repeated = ["x" * 1_500_000], [line, line]
        lines = "".join(f"{each}\n" for each in [*long, *kept, *huge, *repeated])
        (corpus / f"train.{language}").write_text(lines)
        (corpus / f"valid.{language}").write_text(f"{kept[0]}\r\n")
    assert main(["init", "corpus"]) == 0
    shown = capsys.readouterr().out
    assert "text: 300 pairs of de and en" in shown
    assert (
        "\ncleaning will drop 603 of 903 pairs: too_many_bytes 1 (cleaning.max_bytes), too_long 600"
        " (cleaning.max_words), overlap 1 (cleaning.drop_overlap), duplicate 1"
        " (cleaning.drop_duplicates)\n"
    ) in shown
    config = load_config(["corpus.yaml"])
    assert config.trainings["padir"].training.buckets[-1] < 64
    assert list(fit.check(config)) == []
    text = find_text([corpus])
    counts = count(text.splits["train"], {"valid": text.splits["valid"]})
    assert counts.pairs == len(counts.sample) == few
    assert max(len(each.split()) for pair in counts.sample for each in pair) < 10


def test_pairs_that_cleaning_drops_do_not_count_as_enough(corpus):
    lines = read_lines(corpus / "train.en")
    (corpus / "train.en").write_text("".join(f"{line}\n" for line in [*lines[:50], *[""] * 850]))
    with pytest.raises(InputError) as caught:
        count(find_text([corpus]).splits["train"])
    needed = "50 pairs, at least 200 are needed"
    dropped = "cleaning drops 850 of 900 pairs: empty 850 (cleaning.drop_empty)"
    assert str(caught.value).endswith(f"train.en: {needed}; {dropped}")


def test_a_vocabulary_is_lowered_to_what_the_text_fills(corpus):
    lines = [line for path in corpus.iterdir() for line in read_lines(path)]
    size, vocabulary = propose.learn_vocabulary(lines, 32_000)
    assert size < 32_000 and vocabulary.size == size
    assert propose.learn_vocabulary(lines, 32_000, whole=False)[0] == 32_000


def test_few_words_have_a_vocabulary_below_a_hundred_pieces():
    draw = random.Random(0)
    words = ["red", "house", "big", "old", "dog", "small", "tree", "book"]
    lines = [" ".join(draw.choices(words, k=5)) for _ in range(200)]
    size, vocabulary = propose.learn_vocabulary(lines, 100)
    assert 16 <= size < 100 and vocabulary.size == size


def own_config(corpus: Path, **more):
    files = {"files": {"de": "train.de", "en": "train.en"}}
    source = {"kind": "files", "folder": str(corpus), "train": files, "valid": files, "test": files}
    dataset = {"source": source, "directions": ["de-en"], "vocabulary": {"size": 200}}
    given = {"size": "tiny", "trainings": {"ar": {"system": "ar"}}, "datasets": {"own": dataset}}
    return check_config(given | more) if more else given


def test_a_vocabulary_that_the_text_cannot_fill_is_refused_before_a_run(corpus):
    given = own_config(corpus)
    assert list(fit.check(check_config(given))) == []
    del given["datasets"]["own"]["vocabulary"]
    with pytest.raises(InputError, match=r"^config: datasets\.own\.vocabulary\.size is 32000: the"):
        list(fit.check(check_config(given)))


def test_buckets_that_leave_pairs_out_are_warned_of_or_refused(corpus, monkeypatch):
    monkeypatch.setattr(fit, "BYTES_PER_PIECE", 10_000)
    settings = check_config(own_config(corpus)).datasets["own"].vocabulary
    pairs = list(zip(*read_aligned(corpus / "train.de", corpus / "train.en"), strict=True))
    tokens = sorted(fit._lengths("x", settings, pairs))

    def with_bucket_at(share):
        bucket = tokens[int(share * len(tokens))]
        return own_config(corpus, training_defaults={"training": {"buckets": [bucket]}})

    [warning] = fit.check(with_bucket_at(0.7))
    assert "trainings.ar.training.buckets ends at" in warning and "are left out" in warning
    with pytest.raises(InputError, match="are left out; 99% have at most"):
        list(fit.check(with_bucket_at(0.2)))


def test_buckets_of_text_that_fills_any_vocabulary_are_checked_by_its_words(corpus, monkeypatch):
    # Pairs have 3 to 9 words, and EOS.
    [warning] = fit.check(own_config(corpus, training_defaults={"training": {"buckets": [8]}}))
    assert "of the pairs have more words and EOS and are left out" in warning
    with pytest.raises(InputError, match="have more words and EOS and are left out"):
        list(fit.check(own_config(corpus, training_defaults={"training": {"buckets": [5]}})))
    monkeypatch.setattr(fit, "READ_PAIRS", 40)
    [warning] = fit.check(own_config(corpus, training_defaults={"training": {"buckets": [5]}}))
    assert "of the first 40 pairs have more words and EOS and are left out" in warning


def test_the_check_by_words_counts_characters_where_cleaning_does(corpus):
    # Two words of three characters: fewer than five words, not fewer than five characters.
    lines = "\u6c49\u5b57\u597d \u4f60\u597d\u5440\n" * 3
    paths = {language: corpus / f"short.{language}" for language in ("zh", "ja", "de")}
    for path in paths.values():
        write_text(path, lines)
    cleaning = Cleaning(min_words=5)
    kept = {language: paths[language] for language in ("zh", "ja")}
    assert fit._word_counts(cleaning, kept).values == [3, 3, 3]
    assert fit._word_counts(cleaning, {"zh": paths["zh"], "de": paths["de"]}).values == []


def test_text_of_documents_is_refused(corpus):
    counts = count(find_text([corpus]).splits["train"])
    sample = [(" ".join([first] * 60), second) for first, second in counts.sample]
    with pytest.raises(InputError, match=r"\d+% of the pairs have more than 256 tokens.*: split"):
        propose.propose(replace(counts, sample=sample), CPU, minutes=4.0)


def test_the_start_check_reads_text_as_the_config_cleans_it(corpus, monkeypatch):
    monkeypatch.setattr(fit, "BYTES_PER_PIECE", 100_000)
    for language in ("de", "en"):
        with (corpus / f"train.{language}").open("a") as file:
            file.writelines(f"{' '.join(WORDS[:180] * 2)} {number}\n" for number in range(600))
    given = own_config(corpus)
    given["training_defaults"] = {"training": {"buckets": [64]}}
    assert list(fit.check(check_config(given))) == []
    given["datasets"]["own"]["cleaning"] = {"max_words": 1000}
    [warning] = fit.check(check_config(given))
    assert "40% of the pairs have more tokens" in warning


@pytest.mark.parametrize("language", ["de", "en"])
def test_an_empty_training_file_is_named(corpus, language):
    (corpus / f"train.{language}").write_text("")
    with pytest.raises(InputError) as caught:
        list(fit.check(check_config(own_config(corpus))))
    assert str(caught.value) == (
        f"config: datasets.own.source.train.files.{language}: {corpus}/train.{language} is empty"
    )


def test_text_that_cleaning_drops_whole_is_named(corpus):
    (corpus / "train.de").write_text("\n" * 900)
    (corpus / "train.en").write_text("bal\n" * 900)
    with pytest.raises(InputError) as caught:
        list(fit.check(check_config(own_config(corpus))))
    files = f"{corpus}/train.de and {corpus}/train.en"
    assert str(caught.value) == f"config: datasets.own: cleaning leaves no text of {files}"


def test_a_cpu_machine_is_warned_of_excessive_memory_and_time(monkeypatch, repository):
    paper = load_config([repository / "config/paper.yaml"])
    monkeypatch.setattr(fit, "has_accelerator", lambda: False)
    monkeypatch.setattr(fit, "machine_memory", lambda: 8 * 10**9)
    memory, hours = fit.check(paper)
    assert "GB of memory, this machine has 8.0" in memory and "hours of one CPU core" in hours
    assert list(fit.check(load_config([repository / "config/config.yaml"]))) == []
    monkeypatch.setattr(fit, "has_accelerator", lambda: True)
    assert list(fit.check(paper)) == []


def test_parameters_without_jax_are_nearly_those_of_the_model(repository):
    config = load_config([repository / "config/config.yaml"])
    for name in ("ar", "padir", "disco"):
        exact = parameter_counts(config.trainings[name], 1000)
        about = about_parameters(config.trainings[name], 1000)
        assert about.parameters == pytest.approx(exact.parameters, rel=0.05)


def test_parts_of_a_training_text_are_not_dropped_and_other_files_are_named(corpus):
    for name in ("train2.de", "train2.en"):
        (corpus / name).write_text("a\n")
    with pytest.raises(InputError, match=r"found train, train2: name the two files"):
        find_text([corpus])
    for name in ("train2.de", "train2.en"):
        (corpus / name).unlink()
    names = ["test.de", "test.en", "test2016.de", "test2016.en", "extra.de"]
    for name in names:
        (corpus / name).write_text("a\n")
    assert [path.name for path in find_text([corpus]).unused] == ["extra.de", *names[2:4]]


def test_where_no_size_fits_the_memory_the_least_is_named(corpus):
    counts = count(find_text([corpus]).splits["train"])
    with pytest.raises(InputError, match=r"no size fits: the smallest training takes 0\.\d+ GB"):
        propose.propose(counts, replace(CPU, memory=10**6), minutes=4.0)
