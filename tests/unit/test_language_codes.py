"""Codes of languages: every spelling is scored alike."""

import pytest

from padir.config.read import check_config
from padir.data.statistics import line_length
from padir.files import InputError
from padir.languages import base_language
from padir.planning import fit
from padir.score import bleu
from padir.score.stutter import words
from tests.unit.config.small import changed

CHINESE = ("zh", "ZH", "zh-CN", "zh_Hans", "zho", "chi", "cmn")


@pytest.mark.parametrize("code", CHINESE)
def test_chinese_by_any_code_is_scored_by_characters(code):
    assert base_language(code) == "zh"
    assert words("\u72d7\u72d7 ab", code) == ["\u72d7", "\u72d7", "ab"]
    assert line_length("\u72d7\u72d7 ab", code) == 4
    signature = bleu.bleu_counts(["\u72d7"], [["\u72d7"]], code).signature
    assert "tok:zh" in signature
    assert "tok.zh" in bleu.paper_signature(code)


@pytest.mark.parametrize("code", ["de", "de-AT", "zha", "en_US", "zza"])
def test_other_languages_are_scored_by_words(code):
    assert words("\u72d7\u72d7 ab", code) == ["\u72d7\u72d7", "ab"]
    assert "tok:13a" in bleu.bleu_counts(["a"], [["a"]], code).signature


@pytest.mark.parametrize("code", ["th", "tha", "lo", "lao", "km", "khm", "my", "mya", "bur"])
def test_lengths_without_spaces_are_characters_and_scores_stay_by_words(code):
    assert line_length("\u0e01\u0e02\u0e03 ab", code) == 5
    assert words("\u0e01\u0e02\u0e03 ab", code) == ["\u0e01\u0e02\u0e03", "ab"]
    assert "tok:13a" in bleu.bleu_counts(["a"], [["a"]], code).signature


def config(direction):
    files = {code: f"text.{code}" for code in direction.split("-")}
    source = {split: {"files": files} for split in ("train", "valid", "test")}
    real = {"source": {"kind": "files", "folder": ".", **source}, "directions": [direction]}
    return check_config(changed("datasets.real", real))


@pytest.mark.parametrize("code", ["ja", "jpn"])
def test_a_missing_tokenizer_is_told_before_anything_runs(code, monkeypatch):
    def missing(trg_lang):
        assert trg_lang == "ja"
        raise RuntimeError("no MeCab")

    monkeypatch.setattr(bleu, "BLEU", missing)
    message = rf"datasets\.real\.directions: target language {code}: .*sacrebleu\[ja\]"
    with pytest.raises(InputError, match=message):
        list(fit.check(config(f"en-{code}")))
    # As a source it needs none.
    list(fit.check(config(f"{code}-en")))
