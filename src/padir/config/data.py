"""Settings of datasets: source, cleaning and vocabularies.

Paper: section L.2 (datasets, bilingual 32k vocabulary, no other preprocessing).
"""

from itertools import chain
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, field_validator, model_validator

from padir.config.base import Direction, FilePath, Language, Name, Settings, added
from padir.languages import base_language

SYNTHETIC_PAIR = "xs-xt"
MOST_LINE_BYTES = 100_000_000
MOST_LICENSE = 80
GENERATED_LICENSE = "apache-2.0"
MOST_DOWNLOADED = 20_000_000_000
MOST_UNPACKED = 200_000_000_000
DOWNLOAD_LIMITS = ("max_bytes", "max_unpacked_bytes")


def check_license(text: str) -> str:
    """A licence as cards show it.

    Raises:
        ValueError: it is not one line of 1 to `MOST_LICENSE` printable characters.
    """
    if not 0 < len(text) <= MOST_LICENSE or not text.isprintable() or text != text.strip():
        raise ValueError(
            f"one line of 1 to {MOST_LICENSE} printable characters is needed, such as cc-by-4.0;"
            f" found {text[:MOST_LICENSE]!a}"
        )
    return text


class SyntheticSource(Settings):
    """A synthetic language pair from a seeded grammar, with exact references and validity."""

    kind: Literal["synthetic"] = "synthetic"
    train: int = Field(default=24_000, ge=1, le=1_000_000_000)
    """Number of training pairs."""
    valid: int = Field(default=500, ge=1, le=1_000_000_000)
    """Number of validation pairs."""
    test: int = Field(default=500, ge=1, le=1_000_000_000, description="Number of test pairs.")
    seed: int = Field(default=1, ge=0, lt=2**32)
    """Seed of the lexicon, the grammar and the sentences."""
    mode_strength: float = Field(default=0.8, ge=0, le=1)
    """Strength of the two binary modes of a translation, register and word order: each takes its
    second value with probability `mode_strength` / 2. 0: one mode; 1: even odds."""
    references: int = Field(default=4, ge=1, le=4)
    """References per sentence of the validation and test splits."""
    nouns: int = Field(default=40, ge=4, le=100_000, description="Number of nouns in the lexicon.")
    verbs: int = Field(default=24, ge=4, le=100_000, description="Number of verbs in the lexicon.")
    adjectives: int = Field(default=16, ge=2, le=100_000)
    """Number of adjectives in the lexicon."""
    adverbs: int = Field(default=10, ge=2, le=100_000)
    """Number of adverbs in the lexicon."""
    postpositions: int = Field(default=6, ge=2, le=100_000)
    """Number of postpositions in the lexicon."""
    min_words: int = Field(default=4, ge=3, le=60)
    """Shortest source sentence, in words."""
    max_words: int = Field(default=12, ge=6, le=60)
    """Longest source sentence, in words."""

    def local_files(self) -> list[Path]:
        """Local files of the data: none, as the grammar generates it."""
        return []

    def further_references(self, split: str, language: str) -> int:
        """How many files of references a side of a split has besides the first."""
        is_scored = split != "train" and language == SYNTHETIC_PAIR.split("-")[1]
        return self.references - 1 if is_scored else 0

    @model_validator(mode="after")
    def _ordered(self) -> "SyntheticSource":
        if self.min_words > self.max_words:
            raise ValueError(
                f"min_words ({self.min_words}) must not exceed max_words ({self.max_words})"
            )
        return self


class RemoteFile(Settings):
    """One file to download, accepted only with the right digest."""

    url: str
    """http, https or file address; a name ending in .gz is unpacked, as with paths."""
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    """SHA-256 of the file as downloaded, in hexadecimal."""
    max_bytes: int = added(MOST_DOWNLOADED, ge=1, le=1_000_000_000_000)
    """Most bytes that are downloaded; a longer file is an error."""
    max_unpacked_bytes: int = added(MOST_UNPACKED, ge=1, le=10_000_000_000_000)
    """Most bytes that a file ending in .gz is unpacked to; more is an error."""

    @field_validator("url")
    @classmethod
    def _fetchable(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https", "file"):
            raise ValueError(f"address must start with http:, https: or file:, found {url!r}")
        if "@" in parts.netloc:
            raise ValueError("address must not hold a user name or password")
        return url


class SplitFiles(Settings):
    """The aligned files of one split, local or to be downloaded."""

    files: dict[Language, FilePath | RemoteFile]
    """File of each language code: a path, relative to `folder`, or {url, sha256}."""
    references: dict[Language, list[FilePath | RemoteFile]] = Field(default_factory=dict)
    """Further reference files of each language code, if any."""


class FilesSource(Settings):
    """Aligned plain UTF-8 text, one sentence a line, split at newline only."""

    kind: Literal["files"] = "files"
    folder: FilePath = "."
    """Folder that relative paths of files start from."""
    train: SplitFiles = Field(description="Files of the training split.")
    valid: SplitFiles = Field(description="Files of the validation split.")
    test: SplitFiles = Field(description="Files of the test split.")

    def local_files(self) -> list[Path]:
        """Every file that is named by its path, with `folder` before relative ones."""
        named = [
            item
            for split in (self.train, self.valid, self.test)
            for item in (*split.files.values(), *chain(*split.references.values()))
        ]
        return [Path(self.folder, item) for item in named if isinstance(item, str)]

    def further_references(self, split: str, language: str) -> int:
        """How many files of references a side of a split has besides the first."""
        return len(getattr(self, split).references.get(language, []))


class TfdsSource(Settings):
    """A translation dataset of TensorFlow Datasets, such as the paper's three (section L.2)."""

    kind: Literal["tfds"] = "tfds"
    name: str = Field(
        pattern=r"^[a-z][a-z0-9_]*(/[A-Za-z0-9][A-Za-z0-9_.-]*)?(:[0-9]+\.[0-9]+\.[0-9]+)?$"
    )
    """Name in TFDS with its config, such as wmt14_translate/de-en, wmt16_translate/ro-en or
    wmt17_translate/zh-en."""
    data_dir: str = Field(default="data/tensorflow_datasets", min_length=1)
    """Folder of prepared TFDS datasets. Copies in array_record format need nothing else; TFRecord
    needs TensorFlow (the extra tf)."""
    download: bool = False
    """Whether a dataset that is not prepared yet is downloaded and prepared, in array_record
    format; false: a missing dataset is an error. Like `data_dir` it counts as a setting of the
    data: what was made with one value is made anew with another."""
    leave_out: list[Name] = Field(default_factory=list)
    """Parts of a WMT training set to leave out, by their TFDS names, such as casia2015. The dataset
    prepared without them has its own folder."""
    train: str = Field(default="train", min_length=1)
    """TFDS split for training, or a slice of one such as train[:1000000]."""
    valid: str = Field(default="validation", min_length=1)
    """TFDS split for validation, or a slice."""
    test: str = Field(default="test", min_length=1)
    """TFDS split for testing, or a slice."""
    pairs: dict[
        Literal["train", "valid", "test"], Annotated[int, Field(ge=1, le=10_000_000_000)] | None
    ] = Field(default_factory=dict)
    """Expected number of pairs of each split; another number is an error. null: any number, as with
    `leave_out`. `padir plan` uses these before the text exists."""

    def local_files(self) -> list[Path]:
        """Files that must exist beforehand: none, as the folder may still be filled."""
        return []

    def further_references(self, split: str, language: str) -> int:
        """How many files of references a side of a split has besides the first: none."""
        return 0


DataSource = Annotated[SyntheticSource | FilesSource | TfdsSource, Field(discriminator="kind")]


class Cleaning(Settings):
    """Rules by which training pairs are dropped. Validation and test sets are kept whole: a line
    over `max_bytes` is an error there, empty lines are counted and kept, and of the other rules
    only `romanian_letters` applies."""

    drop_duplicates: bool = True
    """Drop training pairs that occurred before, with both sides equal."""
    drop_overlap: bool = True
    """Drop training pairs of which a side is in the validation or test split."""
    drop_empty: bool = Field(default=True, description="Drop training pairs with an empty side.")
    min_words: int = Field(default=1, ge=0, le=1_000_000)
    """Minimum length of each side of a training pair, as `max_words` counts it."""
    max_words: int = Field(default=250, ge=1, le=1_000_000)
    """Maximum length of each side of a training pair, in words (in zh, ja, th, lo, km and my, which
    have no spaces between words, in characters)."""
    max_ratio: float = Field(default=9.0, ge=1)
    """Maximum ratio of the lengths of both sides, as `max_words` counts them."""
    max_bytes: int = Field(default=20_000, ge=16, le=MOST_LINE_BYTES)
    """Maximum length of a line of any split, in bytes."""
    romanian_letters: Literal["comma", "cedilla"] | None = added(None)
    """Normalisation of the Romanian letters s and t with a mark below, references included. comma:
    the standard; cedilla: as in older files; null: left as they are. Scores into Romanian compare
    only with scores on references normalised in the same way. Text of one's own that a trained
    model translates is not normalised: write it with the same letters."""

    @model_validator(mode="after")
    def _ordered(self) -> "Cleaning":
        if self.min_words > self.max_words:
            raise ValueError(
                f"min_words ({self.min_words}) must not exceed max_words ({self.max_words})"
            )
        return self


class VocabularySettings(Settings):
    """One SentencePiece model for both languages of a pair. Paper: L.2, Kudo & Richardson 2018."""

    kind: Literal["unigram", "bpe", "word"] = "unigram"
    """SentencePiece model type."""
    size: int = Field(default=32_000, ge=16, le=10_000_000)
    """Vocabulary size in pieces, special and reserved ids included; kind word may have fewer, as
    there are only as many pieces as words."""
    character_coverage: float = Field(default=1.0, gt=0.9, le=1)
    """Share of the characters of the training text that pieces cover."""
    byte_fallback: bool = False
    """Encode unknown characters as bytes, so that no token is unknown."""
    max_lines: int = Field(default=2_000_000, ge=100, le=10_000_000_000)
    """Maximum number of lines that the vocabulary is learnt from, drawn with a fixed seed."""
    foreign_pairs: int = added(0, ge=0, le=1_000)
    """Number of further synthetic language pairs, of the next seeds, whose text the vocabulary is
    learnt from too: `source.train` pairs of each, or for other data sources as many as synthetic
    data has by default."""
    extra_text: list[FilePath] = added([])
    """Further UTF-8 text files that the vocabulary is learnt from, one sentence a line; relative
    paths start at the working folder."""

    @model_validator(mode="after")
    def _spellable(self) -> "VocabularySettings":
        if self.kind == "word" and self.byte_fallback:
            raise ValueError(
                "byte_fallback needs kind unigram or bpe: kind word has whole words only"
            )
        return self


class VocabularySpec(VocabularySettings):
    """Content of a vocabulary's `settings.json`, with the source that foreign pairs vary."""

    source: SyntheticSource | None = added(None)

    @model_validator(mode="after")
    def _drawable(self) -> "VocabularySpec":
        if self.foreign_pairs and self.source is None:
            raise ValueError(f"foreign_pairs is {self.foreign_pairs}, but there is no source")
        return self


class ExtraSources(Settings):
    """Monolingual source text that teachers translate besides the training sources."""

    files: dict[Language, FilePath | RemoteFile] = Field(min_length=1)
    """Text file of each language code, one sentence a line: a path or {url, sha256}. It is cleaned
    like training text, and lines of the training, validation and test text are dropped. Relative
    paths start at `source.folder`, or else at the working folder."""


class Dataset(Settings):
    """One language pair: source of the text, cleaning, vocabularies and directions."""

    source: DataSource
    directions: list[Direction] = Field(
        min_length=1,
        description="Translation directions to train, such as de-en (German to English).",
    )
    cleaning: Cleaning = Cleaning()
    vocabulary: VocabularySettings = VocabularySettings()
    vocabularies: dict[Name, VocabularySettings] = Field(
        default_factory=dict,
        description="Further vocabularies, by name, for trainings that do not use `vocabulary`.",
    )
    extra_sources: ExtraSources | None = Field(
        default=None,
        description="Monolingual text that teachers with `extra_sources` translate too, in"
        " directions from its language; null: none.",
    )
    # Shown on the page; no result depends on it (`padir.config.identity.data_spec`).
    license: Annotated[str, AfterValidator(check_license)] | None = Field(
        default=None,
        description="Licence of the text, by a hub's identifier such as cc-by-4.0, at most"
        f" {MOST_LICENSE} characters. The report shows it in the data card and the cards of models"
        " trained on the dataset; null: not stated (generated text: apache-2.0).",
    )

    @model_validator(mode="after")
    def _one_pair(self) -> "Dataset":
        pairs = set()
        for direction in self.directions:
            source, target = direction.split("-")
            if source == target:
                raise ValueError(f"direction {direction!r} must name two languages")
            pairs.add("-".join(sorted((source, target))))
        if len(set(self.directions)) < len(self.directions):
            raise ValueError(f"directions {', '.join(self.directions)}: one is given twice")
        if len(pairs) > 1:
            raise ValueError(f"directions must be of one language pair, found {sorted(pairs)}")
        if isinstance(self.source, SyntheticSource) and self.directions != [SYNTHETIC_PAIR]:
            raise ValueError(
                f"directions of synthetic data are [{SYNTHETIC_PAIR}], as the grammar reads sources"
                f" of one side; found {', '.join(self.directions)}"
            )
        letters = self.cleaning.romanian_letters
        if letters and "ro" not in map(base_language, self.pair.split("-")):
            raise ValueError(
                f"cleaning.romanian_letters is {letters!r}, which is for Romanian (ro, ron or rum);"
                f" found the pair {self.pair}"
            )
        if self.extra_sources and not set(self.extra_sources.files) <= set(self.pair.split("-")):
            raise ValueError(
                f"extra_sources.files must name languages of {self.pair},"
                f" found {', '.join(sorted(self.extra_sources.files))}"
            )
        if isinstance(self.source, FilesSource):
            for split in ("train", "valid", "test"):
                files = getattr(self.source, split).files
                if sorted(files) != self.pair.split("-"):
                    raise ValueError(
                        f"source.{split}.files must name the languages of {self.pair},"
                        f" found {', '.join(sorted(files)) or 'none'}"
                    )
                further = set(getattr(self.source, split).references)
                if further and (split == "train" or not further <= set(files)):
                    allowed = "none in training" if split == "train" else ", ".join(sorted(files))
                    raise ValueError(
                        f"source.{split}.references names {', '.join(sorted(further))};"
                        f" allowed: {allowed}"
                    )
        return self

    def vocabulary_named(self, name: str | None) -> VocabularySettings:
        """An entry of `vocabularies`; for None the dataset's own."""
        return self.vocabulary if name is None else self.vocabularies[name]

    def extra_file(self, language: str) -> Path | RemoteFile | None:
        """The extra source text in a language, its folder before a relative path; None: there is
        none."""
        item = self.extra_sources.files.get(language) if self.extra_sources else None
        folder = self.source.folder if isinstance(self.source, FilesSource) else "."
        return Path(folder, item) if isinstance(item, str) else item

    def local_files(self) -> list[Path]:
        """Local files of source and extra source text."""
        extra = map(self.extra_file, self.extra_sources.files if self.extra_sources else ())
        return [*self.source.local_files(), *(file for file in extra if isinstance(file, Path))]

    @property
    def stated_license(self) -> str | None:
        """The licence that cards name; of generated text the project's, unless another is set."""
        generated = isinstance(self.source, SyntheticSource)
        return self.license or (GENERATED_LICENSE if generated else None)

    @property
    def pair(self) -> str:
        """The pair's two codes in alphabetical order, such as de-en for both directions."""
        return "-".join(sorted(self.directions[0].split("-")))
