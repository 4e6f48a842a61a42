"""Romanian s and t with a mark below, which files write in two ways.

The standard letters have a comma (U+0218 to U+021B); older encodings lacked them, so much text
has a cedilla instead (U+015E, U+015F, U+0162, U+0163). For a model and for BLEU these are
different words. Decomposed letters are recognised too. Turkish names in Romanian text, whose s
has a cedilla by right, change with the rest.
"""

import re

_BASES = "SsTt"
LETTERS = {"comma": "ȘșȚț", "cedilla": "ŞşŢţ"}
_ANY = re.compile(f"[{_BASES}][\u0326\u0327]|[{''.join(LETTERS.values())}]")


def write_letters(line: str, style: str) -> str:
    """The line with all these letters in one style, comma or cedilla, composed."""
    wanted = LETTERS[style]
    known = {base: letter for base, letter in zip(_BASES, wanted, strict=True)}
    known |= {
        letter: wanted[index]
        for letters in LETTERS.values()
        for index, letter in enumerate(letters)
    }
    return _ANY.sub(lambda found: known[found[0][0]], line)
