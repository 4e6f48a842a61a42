"""Codes of languages: which name the same one, and which are written without spaces."""

import re
from functools import lru_cache
from typing import Any

from padir.files import InputError

_CODE = re.compile("[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8}){0,3}")
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


def checked_code(code: Any) -> str:
    """A language's code, such as de, zho or zh-CN. Raises InputError for anything else."""
    if not isinstance(code, str) or not _CODE.fullmatch(code):
        found = ascii(code[:40]) if isinstance(code, str) else type(code).__name__
        raise InputError(f"found {found}, allowed: codes such as zh or de")
    return code


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
