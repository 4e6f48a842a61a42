"""Codes of languages: which name the same one, and which are written without spaces."""

from functools import lru_cache

_SAME = {
    "zho": "zh",
    "chi": "zh",
    "cmn": "zh",
    "jpn": "ja",
    "kor": "ko",
    "tha": "th",
    "lao": "lo",
    "khm": "km",
    "mya": "my",
    "bur": "my",
    "ron": "ro",
    "rum": "ro",
}
"""Codes of ISO 639-2 and 639-3, by that of ISO 639-1, of languages that are treated apart."""
_SCORED_BY_CHARACTER = frozenset({"zh", "ja"})
# Thai, Lao, Khmer and Burmese have spaces between phrases.
_WITHOUT_SPACES = _SCORED_BY_CHARACTER | {"th", "lo", "km", "my"}
_PACKAGED_TOKENIZER = frozenset({"ja", "ko"})


@lru_cache(maxsize=256)
def base_language(code: str) -> str:
    """The language of a code in small letters, without its region or script.

    `zh-CN`, `ZH`, `zh_Hans` and `zho` are `zh`, whose BLEU has a tokenizer of its own.
    """
    language = code.replace("_", "-").partition("-")[0].lower()
    return _SAME.get(language, language)


def needs_tokenizer(code: str) -> bool:
    """Whether BLEU of a language needs a package besides sacreBLEU: Japanese and Korean."""
    return base_language(code) in _PACKAGED_TOKENIZER


def scored_by_character(code: str) -> bool:
    """Whether a language is Chinese or Japanese, of which scores count characters, not words."""
    return base_language(code) in _SCORED_BY_CHARACTER


def written_without_spaces(code: str) -> bool:
    """Whether a language has no spaces between words: lengths of its lines are in characters."""
    return base_language(code) in _WITHOUT_SPACES
