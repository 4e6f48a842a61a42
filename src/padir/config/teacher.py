"""Who writes the training targets: one of the project's own models, files, or a paid service."""

import os
from ipaddress import ip_address
from pathlib import PurePath
from typing import Annotated, Literal

from pydantic import Field, model_validator

from padir.config.base import FilePath, Settings
from padir.config.rows import RowText


class ModelTeacher(Settings):
    """Targets written by an AR model of the experiment: sequence-level distillation."""

    kind: Literal["model"] = "model"
    row: RowText = Field(
        description="AR training and its decoder, such as ar/beam; the first seed teaches."
    )
    shards: int = Field(
        default=1, ge=1, le=1024, description="Parts that the training set is cut into."
    )
    extra_sources: bool = Field(
        default=False,
        description="Translate the dataset's `extra_sources` besides the training sources; who"
        " learns from this teacher learns from both. Directions without such text have the"
        " training sources alone, and tables and cards say so.",
    )


class FileTeacher(Settings):
    """Ready-made translations of the training (and validation) sources, line for line."""

    kind: Literal["files"] = "files"
    train: FilePath = Field(description="Path of the translations of the cleaned training sources.")
    valid: FilePath = Field(description="Path of the translations of the validation sources.")


class CloudTeacher(Settings):
    """Translations by the Cloud Translation API v3, paid for once: see docs/cloud-translation.md.

    Credentials are Application Default Credentials and no setting.
    """

    kind: Literal["cloud"] = "cloud"
    max_usd: float | None = Field(
        default=None,
        ge=0,
        description="Dollars that all requests of the ledger together may cost, earlier runs and"
        " other datasets included; null: nothing is sent.",
    )
    usd_per_million: float = Field(
        default=20.0, gt=0, description="Price of a million characters, in dollars."
    )
    price_date: str = Field(
        default="2026-11",
        pattern=r"^[0-9]{4}-[0-9]{2}(-[0-9]{2})?$",
        description="When that price was looked up; shown with every estimate.",
    )
    project: str | None = Field(
        default=None,
        pattern=r"^[a-z0-9.:-]{1,100}$",
        description="Google Cloud project; null: that of the credentials.",
    )
    location: str = Field(
        default="global", pattern=r"^[a-z0-9-]{1,40}$", description="Where the service runs."
    )
    model: Literal["general/nmt"] = Field(
        default="general/nmt",
        description="Model; others are billed by what they write too, which no estimate knows.",
    )
    characters_per_minute: int = Field(
        default=6_000_000,
        ge=30_000,
        le=10_000_000_000,
        description="Quota of the project, shared by all processes with one ledger.",
    )
    concurrency: int = Field(default=8, ge=1, le=64, description="Requests at a time.")
    request_characters: int = Field(
        default=30_000,
        ge=1,
        le=30_000,
        description="Characters in a request. A killed run has at most this many times"
        " `concurrency` in doubt, which may be billed twice.",
    )
    refused: Literal["stop", "leave_empty"] = Field(
        default="stop",
        description="What to do about a line that the service refuses: stop, or leave its"
        " translation empty, which is counted and listed.",
    )
    ledger: str = Field(
        default="~/.local/share/padir/translations.sqlite",
        min_length=1,
        description="SQLite file with all translations ever paid for, not below `results`; without"
        " it everything is paid for again.",
    )
    endpoint: str | None = Field(
        default=None,
        description="ADDRESS:PORT of a test server on this machine, spoken to without credentials;"
        " null: the service.",
    )

    @model_validator(mode="after")
    def _is_safe(self) -> "CloudTeacher":
        ledger = PurePath(os.path.realpath(os.path.expanduser(self.ledger)))
        if ledger.is_relative_to(os.path.realpath("results")):
            raise ValueError(
                f"ledger is {self.ledger!r}: results may be deleted, and what was bought with them;"
                " allowed are other folders"
            )
        if self.endpoint is None:
            return self
        host, _, port = self.endpoint.rpartition(":")
        try:
            here = ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
        except ValueError:
            here = False
        if not here or not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
            raise ValueError(
                f"endpoint is {self.endpoint!r}: allowed are addresses of this machine with a port,"
                " such as 127.0.0.1:8080"
            )
        return self

    def what_it_writes(self) -> dict[str, str | None]:
        """The settings that its translations depend on; money, speed and places are none.

        Nor is `refused`: where `stop` has written a file, no line was refused.
        """
        return {"kind": self.kind, "model": self.model, "endpoint": self.endpoint}


Teacher = Annotated[ModelTeacher | FileTeacher | CloudTeacher, Field(discriminator="kind")]
