"""The data card repeats statistics, and survives odd paths."""

import yaml

from padir.cards import with_license
from padir.config.data import Cleaning, Dataset
from padir.data.card import data_card
from padir.data.clean import clean


def test_the_card_has_metadata_files_and_counts(tmp_path):
    odd = "a`b | c"
    files = {s: {"files": {"de": odd, "en": f"{s}.en"}} for s in ("train", "valid", "test")}
    files["test"]["files"]["en"] = {"url": "https://example.org/t.gz", "sha256": "a" * 64}
    dataset = Dataset(source={"kind": "files", **files}, directions=["de-en"])
    for split, text in (("train", "x\n\n"), ("valid", "v\nw\n"), ("test", "t\nu\n")):
        for language in ("de", "en"):
            (tmp_path / f"{split}.{language}").write_text(text)
    statistics = clean(Cleaning(), "de-en", tmp_path, tmp_path / "out")
    card = data_card(dataset, statistics)
    assert yaml.safe_load(card.split("---\n")[1]) == {
        "language": ["de", "en"],
        "license": "unknown",
        "task_categories": ["translation"],
        "multilinguality": ["translation"],
        "size_categories": ["n<1K"],
    }
    assert "# Parallel text de-en\n" in card
    assert "2 pairs read, 1 kept." in card
    assert "| empty | a side is empty or blank | 1 | 2 |" in card
    assert "| train | train.de | 1 | words | 1.0 | 1 | 1 | 1 | 1 | 1 | 0 | 0 | 0 |" in card
    assert f"- test en: `https://example.org/t.gz`, SHA-256 {'a' * 64}" in card
    assert "- train de: `` a`b | c ``" in card
    assert statistics["splits"]["test"]["files"][0]["sha256"] in card
    assert card.endswith(
        "\n\n## Licence of the dataset\n\nNot stated here. The report shows this card with the"
        " setting `license` of the dataset. Look it up before you publish.\n"
    )
    stated = with_license(card, "cc-by-4.0")
    assert yaml.safe_load(stated.split("---\n")[1])["license"] == "cc-by-4.0"
    assert stated.endswith("\n\n## Licence of the dataset\n\nStated in the config: cc-by-4.0.\n")
    unstated = with_license(stated, None)
    assert "The config does not state it (`license` of the dataset)." in unstated
    assert with_license(unstated, "cc-by-4.0") == stated


def test_a_card_of_synthetic_data_names_seed_and_no_language(tmp_path):
    for split in ("train", "valid", "test"):
        for language in ("xs", "xt"):
            (tmp_path / f"{split}.{language}").write_text(f"{split}\n")
    dataset = Dataset(source={"kind": "synthetic", "seed": 7}, directions=["xs-xt"])
    statistics = clean(Cleaning(), "xs-xt", tmp_path, tmp_path / "out")
    card = data_card(dataset, statistics)
    assert "synthetic language pair" in card
    assert "seed 7" in card
    metadata = yaml.safe_load(card.split("---\n")[1])
    assert "language" not in metadata and metadata["license"] == "apache-2.0"
    assert "digests" not in metadata
    card = data_card(dataset, statistics | {"digests": {"data": "0123"}})
    assert yaml.safe_load(card.split("---\n")[1])["digests"] == {"data": "0123"}
    for lines, category in (
        (997, "n<1K"),
        (998, "1K<n<10K"),
        (29_000, "10K<n<100K"),
        (999_998, "1M<n<10M"),
        (4_500_000, "1M<n<10M"),
        (25_000_000, "10M<n<100M"),
    ):
        statistics["splits"]["train"]["files"][0]["lines"] = lines
        metadata = yaml.safe_load(data_card(dataset, statistics).split("---\n")[1])
        assert metadata["size_categories"] == [category]


def test_each_count_stands_in_its_own_column(tmp_path):
    texts = {"train": "x\n", "valid": "v\n", "test": "a a\r\n\r\n\r\n\ufeffb\n"}
    for split, text in texts.items():
        for language in ("de", "en"):
            (tmp_path / f"{split}.{language}").write_bytes(text.encode())
    statistics = clean(Cleaning(), "de-en", tmp_path, tmp_path / "out")
    source = {"kind": "tfds", "name": "wmt14_translate/de-en", "leave_out": ["commoncrawl"]}
    card = data_card(Dataset(source=source, directions=["de-en"]), statistics)
    # Lengths 2, 0, 0 and 1; two empty lines are one that is repeated.
    assert "| test | test.de | 4 | words | 0.8 | 0 | 2 | 2 | 2 | 2 | 2 | 1 | 1 |" in card
    digest = statistics["splits"]["test"]["files"][0]["sha256"]
    assert f"| test.de | {digest} | 3 | 1 |" in card
    assert " Parts left out of its training text: commoncrawl." in card
    source["leave_out"] = []
    whole = data_card(Dataset(source=source, directions=["de-en"]), statistics)
    assert "left out of its" not in whole
    files = {s: {"files": {"de": f"{s}.de", "en": f"{s}.en"}} for s in texts}
    files["test"]["references"] = {"en": ["other.en", "third.en"]}
    card = data_card(Dataset(source={"kind": "files", **files}, directions=["de-en"]), statistics)
    listed = [line for line in card.splitlines() if line.startswith("- test ")]
    names = ("de: `test.de`", "en: `test.en`", "en: `other.en`", "en: `third.en`")
    assert listed == [f"- test {name}" for name in names]
