"""Settings of data: where pairs come from, which are dropped, and the vocabulary.

Paper: section L.2 (datasets, bilingual 32k vocabulary, no other preprocessing).
"""

from itertools import chain
from operator import not_
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from padir.config.base import Direction, FilePath, Language, Name, Settings

SYNTHETIC_PAIR = "xs-xt"
MOST_DOWNLOADED = 20_000_000_000
MOST_UNPACKED = 200_000_000_000
MOST_LINE_BYTES = 100_000_000
DOWNLOAD_LIMITS = ("max_bytes", "max_unpacked_bytes")


class SyntheticSource(Settings):
    """A seeded grammar of a synthetic language pair, with exact references and validity."""

    kind: Literal["synthetic"] = "synthetic"
    train: int = Field(
        default=24_000, ge=1, le=1_000_000_000, description="Number of training pairs."
    )
    valid: int = Field(
        default=500, ge=1, le=1_000_000_000, description="Number of validation pairs."
    )
    test: int = Field(default=500, ge=1, le=1_000_000_000, description="Number of test pairs.")
    seed: int = Field(
        default=1, ge=0, lt=2**32, description="Seed of the lexicon, the grammar and the sentences."
    )
    mode_strength: float = Field(
        default=0.8,
        ge=0,
        le=1,
        description="How evenly register and word order vary between translations: each binary"
        " mode takes its second value with probability half of this. 0: one mode; 1: even odds.",
    )
    references: int = Field(
        default=4, ge=1, le=4, description="References per validation and test source."
    )
    nouns: int = Field(default=40, ge=4, le=100_000, description="Nouns in the lexicon.")
    verbs: int = Field(default=24, ge=4, le=100_000, description="Verbs in the lexicon.")
    adjectives: int = Field(default=16, ge=2, le=100_000, description="Adjectives in the lexicon.")
    adverbs: int = Field(default=10, ge=2, le=100_000, description="Adverbs in the lexicon.")
    postpositions: int = Field(
        default=6, ge=2, le=100_000, description="Postpositions in the lexicon."
    )
    min_words: int = Field(
        default=4, ge=3, le=60, description="Shortest source sentence, in words."
    )
    max_words: int = Field(
        default=12, ge=6, le=60, description="Longest source sentence, in words."
    )

    def local_files(self) -> list[Path]:
        """Files that the data comes from: none."""
        return []

    def reference_count(self, split: str, language: str) -> int:
        """References per sentence of a split: 1 in training."""
        return 1 if split == "train" else self.references

    @model_validator(mode="after")
    def _ordered(self) -> "SyntheticSource":
        if self.min_words > self.max_words:
            raise ValueError(
                f"min_words ({self.min_words}) must not exceed max_words ({self.max_words})"
            )
        return self


class RemoteFile(Settings):
    """One file to download, accepted only with the right digest."""

    url: str = Field(
        description="http, https or file address; a name ending in .gz is unpacked, as with paths."
    )
    sha256: str = Field(
        pattern=r"^[0-9a-f]{64}$", description="SHA-256 of the file as downloaded, in hexadecimal."
    )
    # Limits change no text, and are not written while they are these.
    max_bytes: int = Field(
        default=MOST_DOWNLOADED,
        ge=1,
        le=1_000_000_000_000,
        exclude_if=MOST_DOWNLOADED.__eq__,
        description="Most bytes that are downloaded; a longer file is an error.",
    )
    max_unpacked_bytes: int = Field(
        default=MOST_UNPACKED,
        ge=1,
        le=10_000_000_000_000,
        exclude_if=MOST_UNPACKED.__eq__,
        description="Most bytes that a file ending in .gz is unpacked to; more is an error.",
    )

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
    """The aligned files of one split: language code -> path or address."""

    files: dict[Language, FilePath | RemoteFile] = Field(
        description="Language code -> path (relative paths start at `folder`) or {url, sha256}."
    )
    references: dict[Language, list[FilePath | RemoteFile]] = Field(
        default_factory=dict, description="Language code -> further reference files, if any."
    )


class FilesSource(Settings):
    """Aligned plain UTF-8 text, one sentence a line, split at newline only."""

    kind: Literal["files"] = "files"
    folder: FilePath = Field(default=".", description="Folder that relative paths start from.")
    train: SplitFiles = Field(description="Training pairs.")
    valid: SplitFiles = Field(description="Validation pairs.")
    test: SplitFiles = Field(description="Test pairs.")

    def local_files(self) -> list[Path]:
        """Every file that is named by its path, with `folder` before relative ones."""
        named = [
            item
            for split in (self.train, self.valid, self.test)
            for item in (*split.files.values(), *chain(*split.references.values()))
        ]
        return [Path(self.folder, item) for item in named if isinstance(item, str)]

    def reference_count(self, split: str, language: str) -> int:
        """References per sentence of a split into a language."""
        return 1 + len(getattr(self, split).references.get(language, []))


class TfdsSource(Settings):
    """A translation dataset of TensorFlow Datasets, such as the paper's three (section L.2)."""

    kind: Literal["tfds"] = "tfds"
    name: str = Field(
        pattern=r"^[a-z][a-z0-9_]*(/[A-Za-z0-9][A-Za-z0-9_.-]*)?(:[0-9]+\.[0-9]+\.[0-9]+)?$",
        description="Name in TFDS with its config, such as wmt14_translate/de-en,"
        " wmt16_translate/ro-en or wmt17_translate/zh-en.",
    )
    data_dir: str = Field(
        default="data/tensorflow_datasets",
        min_length=1,
        description="TFDS's folder, where prepared datasets lie or are put. A copy in array_record"
        " is read as it is; one in TFRecord needs TensorFlow (the extra tf).",
    )
    download: bool = Field(
        default=False,
        description="Whether a dataset that is not prepared yet is downloaded and prepared, as"
        " array_record; false: that is an error.",
    )
    leave_out: list[Name] = Field(
        default_factory=list,
        description="Parts of a WMT dataset's training text that are not downloaded, by their TFDS"
        " names, such as casia2015. What is prepared then has a folder of its own.",
    )
    train: str = Field(
        default="train",
        min_length=1,
        description="TFDS's split for training, or a slice of one such as train[:1000000].",
    )
    valid: str = Field(default="validation", min_length=1, description="Same, for validation.")
    test: str = Field(default="test", min_length=1, description="Same, for testing.")
    pairs: dict[
        Literal["train", "valid", "test"], Annotated[int, Field(ge=1, le=10_000_000_000)] | None
    ] = Field(
        default_factory=dict,
        description="Pairs that a split must have; another number is an error. null: any number,"
        " as with `leave_out`. `padir plan` goes by them before the text is there.",
    )

    def local_files(self) -> list[Path]:
        """Files that must exist beforehand: none, as the folder may still be filled."""
        return []

    def reference_count(self, split: str, language: str) -> int:
        """References per sentence of a split: one."""
        return 1


DataSource = Annotated[SyntheticSource | FilesSource | TfdsSource, Field(discriminator="kind")]


class Cleaning(Settings):
    """Which training pairs are dropped. Validation and test sets stay whole: there a line over
    `max_bytes` is an error, empty lines are counted and kept, and no other rule applies but
    `romanian_letters`."""

    drop_duplicates: bool = Field(
        default=True, description="Drop training pairs whose two sides both occurred before."
    )
    drop_overlap: bool = Field(
        default=True,
        description="Drop training pairs that share a side with the validation or test split.",
    )
    drop_empty: bool = Field(default=True, description="Drop training pairs with an empty side.")
    min_words: int = Field(
        default=1, ge=0, le=1_000_000, description="Fewest words on either side."
    )
    max_words: int = Field(
        default=250,
        ge=1,
        le=1_000_000,
        description="Most words on either side (characters for zh).",
    )
    max_ratio: float = Field(
        default=9.0,
        ge=1,
        description="Largest ratio of the two lengths, in words (characters for zh).",
    )
    max_bytes: int = Field(
        default=20_000,
        ge=16,
        le=MOST_LINE_BYTES,
        description="Longest line in bytes, on either side.",
    )
    # Not written while it says nothing: what was made without it stays valid.
    romanian_letters: Literal["comma", "cedilla"] | None = Field(
        default=None,
        exclude_if=not_,
        description="Write s and t with a mark below in one way in all Romanian text, references"
        " included: with a comma (the standard) or a cedilla (older files). null: leave them as"
        " they are. Scores into Romanian then compare only with those on such references.",
    )


class VocabularySettings(Settings):
    """One SentencePiece model for both languages of a pair. Paper: L.2, Kudo & Richardson 2018."""

    kind: Literal["unigram", "bpe", "word"] = Field(
        default="unigram", description="SentencePiece model type."
    )
    size: int = Field(
        default=32_000,
        ge=16,
        le=10_000_000,
        description="Pieces, special and reserved ids included; of kind word at most this many,"
        " as there are no more pieces than words.",
    )
    character_coverage: float = Field(
        default=1.0,
        gt=0.9,
        le=1,
        description="Share of the training text's characters that must be covered.",
    )
    byte_fallback: bool = Field(
        default=False,
        description="Spell unknown characters as bytes, so that nothing becomes unknown.",
    )
    max_lines: int = Field(
        default=2_000_000,
        ge=100,
        le=10_000_000_000,
        description="Most lines that the vocabulary is learnt from, drawn evenly from all of them.",
    )
    # These two are not written while they say nothing: what was made without them stays valid.
    foreign_pairs: int = Field(
        default=0,
        ge=0,
        le=1_000,
        exclude_if=not_,
        description="Synthetic language pairs other than the dataset's own, those of the next"
        " seeds, that the vocabulary is learnt from too: `source.train` pairs of each. Beside other"
        " data they are drawn as synthetic data is by default.",
    )
    extra_text: list[FilePath] = Field(
        default_factory=list,
        exclude_if=not_,
        description="Paths of further UTF-8 text files, one sentence a line, that the vocabulary"
        " is learnt from too; relative paths start at the working folder.",
    )

    @model_validator(mode="after")
    def _spellable(self) -> "VocabularySettings":
        if self.kind == "word" and self.byte_fallback:
            raise ValueError(
                "byte_fallback needs kind unigram or bpe: kind word has whole words only"
            )
        return self


class VocabularySpec(VocabularySettings):
    """What a vocabulary's `settings.json` holds: also the source that foreign pairs vary."""

    source: SyntheticSource | None = Field(default=None, exclude_if=not_)

    @model_validator(mode="after")
    def _drawable(self) -> "VocabularySpec":
        if self.foreign_pairs and self.source is None:
            raise ValueError(f"foreign_pairs is {self.foreign_pairs}, but there is no source")
        return self


class ExtraSources(Settings):
    """Monolingual source text, which a teacher translates besides the training sources."""

    files: dict[Language, str | RemoteFile] = Field(
        min_length=1,
        description="Language code -> path or {url, sha256} of text in that language, one sentence"
        " a line. It is cleaned like training text: no line of it stands in the validation, test or"
        " training text. Relative paths start at `source.folder`, or at the working folder where"
        " the source has none.",
    )


class Dataset(Settings):
    """One language pair: its text, cleaning, vocabularies and the directions to run."""

    source: DataSource
    directions: list[Direction] = Field(
        min_length=1, description="Directions to run, such as de-en (German to English)."
    )
    cleaning: Cleaning = Cleaning()
    vocabulary: VocabularySettings = VocabularySettings()
    vocabularies: dict[Name, VocabularySettings] = Field(
        default_factory=dict,
        description="Further vocabularies, by name, that models may use instead of `vocabulary`.",
    )
    extra_sources: ExtraSources | None = Field(
        default=None,
        exclude_if=not_,
        description="Monolingual text that teachers with `extra_sources` translate too, in the"
        " directions that start from its language; null: none.",
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

    @property
    def pair(self) -> str:
        """The pair's two codes in alphabetical order, such as de-en for both directions."""
        return "-".join(sorted(self.directions[0].split("-")))
