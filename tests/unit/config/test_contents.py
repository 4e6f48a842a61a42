"""The user's own files count by their bytes."""

import copy
import json
import os

import pytest

from padir.config import identity
from padir.config.contents import _checksum
from padir.config.read import check_config, read_dataset
from tests.unit.config.small import SMALL, set_value


@pytest.fixture
def own_text(tmp_path, monkeypatch):
    """A working folder with the text of the small config's `real` dataset; writes one of its files
    and returns the digests of then."""
    monkeypatch.chdir(tmp_path)
    files = ("x.de", "x.en", "x.en.1", "mono.de", "more.txt", "taught.en")
    settings = copy.deepcopy(SMALL)
    del settings["datasets"]["toy"]
    settings["datasets"]["real"]["directions"] = ["de-en"]
    set_value(settings, "datasets.real.extra_sources", {"files": {"de": "mono.de"}})
    more = {"kind": "unigram", "size": 99, "extra_text": ["texts/more.txt"]}
    set_value(settings, "datasets.real.vocabularies", {"more": more})
    files_teacher = {"kind": "files", "train": "texts/taught.en", "valid": "texts/taught.en"}
    set_value(settings, "teachers.ready", files_teacher)
    set_value(settings, "teachers.ar.extra_sources", True)
    for name, targets, vocabulary in (("b", "raw", "more"), ("c", "ready", None)):
        training = {"targets": targets, **({"vocabulary": vocabulary} if vocabulary else {})}
        set_value(settings, f"trainings.{name}", training)
    (tmp_path / "texts").mkdir()
    for name in files:
        (tmp_path / "texts" / name).write_text("a\n")

    def digests(changed: str | None = None) -> dict[str, str]:
        if changed is not None:
            path = tmp_path / "texts" / changed
            # Same size, same time: only the bytes tell.
            before = path.stat()
            path.write_text(chr(ord(path.read_text()[0]) + 1) + "\n")
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        # Another process.
        for function in vars(identity).values():
            getattr(function, "cache_clear", lambda: None)()
        _checksum.cache_clear()
        config = check_config(settings)
        trainings = {
            name: identity.training_digests(config, "real", "de-en", name)["training"]
            for name in ("ar", "padir", "b", "c")
        }
        return trainings | identity.extra_digests(config, "real", "de")

    yield digests
    for function in vars(identity).values():
        getattr(function, "cache_clear", lambda: None)()
    _checksum.cache_clear()


@pytest.mark.parametrize(
    ("changed", "concerned"),
    [
        (None, set()),
        ("x.en", {"ar", "padir", "b", "c", "data", "extra_sources"}),
        ("x.en.1", {"ar", "padir", "b", "c", "data", "extra_sources"}),
        ("mono.de", {"padir", "extra_sources"}),
        ("more.txt", {"b"}),
        ("taught.en", {"c"}),
    ],
)
def test_edited_bytes_change_the_digests_of_what_reads_them(own_text, changed, concerned):
    before, after = own_text(), own_text(changed)
    assert {key for key in before if after[key] != before[key]} == concerned


def test_text_that_has_gone_counts_as_it_was_read(own_text, tmp_path):
    before = own_text()
    config = check_config(SMALL)
    spec = identity.data_spec(config, "real")
    assert set(spec["contents"]) == {"texts/x.de", "texts/x.en", "texts/x.en.1"}
    record = tmp_path / "results/data/real/de-en/dataset.json"
    record.parent.mkdir(parents=True)
    record.write_text(json.dumps(spec))
    assert read_dataset(record).source == config.datasets["real"].source
    (tmp_path / "texts/x.en").unlink()
    assert own_text() == before
    record.unlink()
    assert own_text()["data"] != before["data"]
