"""Settings of teachers for sequence-level distillation: an AR model, files, or a paid service."""

import os
from ipaddress import ip_address
from pathlib import Path, PurePath
from typing import Annotated, Literal

from pydantic import Field, model_validator

from padir.config.base import FilePath, Settings
from padir.config.rows import RowText
from padir.files import InputError


class ModelTeacher(Settings):
    """Targets written by an AR model of the experiment: sequence-level distillation."""

    kind: Literal["model"] = "model"
    row: RowText
    """AR training and decoder that translate, such as ar/beam; of the training's seeds, the
    first."""
    shards: int = Field(default=1, ge=1, le=1024)
    """Jobs that the translation of the training set is divided into."""
    extra_sources: bool = False
    """Whether the dataset's `extra_sources` are translated besides the training sources. Students
    of this teacher train on both. Directions without extra text use the training sources only.
    Tables and cards say so."""


class FileTeacher(Settings):
    """Ready-made translations of the training (and validation) sources, line for line, for a config
    of one dataset in one direction."""

    kind: Literal["files"] = "files"
    train: FilePath = Field(description="Path of the translations of the cleaned training sources.")
    valid: FilePath = Field(description="Path of the translations of the validation sources.")


class CloudTeacher(Settings):
    """Translations by the Cloud Translation API v3, each paid for once (docs/cloud-translation.md).

    Credentials are Application Default Credentials and no setting.
    """

    kind: Literal["cloud"] = "cloud"
    max_usd: float | None = Field(default=None, ge=0)
    """Spending limit in dollars, over all requests in the ledger, those of earlier runs and other
    datasets included; null: nothing is sent."""
    usd_per_million: float = Field(default=20.0, gt=0)
    """Price of a million characters, in dollars."""
    price_date: str = Field(default="2026-11", pattern=r"^[0-9]{4}-[0-9]{2}(-[0-9]{2})?$")
    """Date of the price `usd_per_million`; shown with every estimate."""
    project: str | None = Field(default=None, pattern=r"^[a-z0-9.:-]{1,100}$")
    """Google Cloud project; null: that of the credentials."""
    location: str = Field(default="global", pattern=r"^[a-z0-9-]{1,40}$")
    """Location of the service in Google Cloud."""
    model: Literal["general/nmt"] = "general/nmt"
    """Translation model. Others bill their output too, which no estimate knows."""
    characters_per_minute: int = Field(default=6_000_000, ge=30_000, le=10_000_000_000)
    """Characters sent per minute, at most: the project's quota, shared by all processes with one
    ledger."""
    concurrency: int = Field(default=8, ge=1, le=64, description="Concurrent requests.")
    request_characters: int = Field(default=30_000, ge=1, le=30_000)
    """Characters per request, at most. After a killed run, up to `concurrency` requests of this
    size may be billed twice."""
    refused: Literal["stop", "leave_empty"] = "stop"
    """Treatment of a line that the service refuses. stop: an error; leave_empty: an empty
    translation, counted and listed."""
    ledger: str = Field(default="~/.local/share/padir/translations.sqlite", min_length=1)
    """Path of the SQLite file with all translations paid for, not below `results`. If it is lost,
    everything is paid for again."""
    endpoint: str | None = None
    """ADDRESS:PORT of a test server on this machine, used without credentials; null: the real
    service."""

    @property
    def ledger_path(self) -> Path:
        """The ledger, with a home folder for `~`. Raises InputError where none is known."""
        path = os.path.expanduser(self.ledger)
        if path.startswith("~"):
            raise InputError(
                f"ledger is {self.ledger!r}, and no home folder is known: set HOME, or give the"
                " ledger's path in full"
            )
        return Path(path)

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

    def translation_settings(self) -> dict[str, str | None]:
        """The settings that its translations depend on: none about money, speed or location.

        Nor is `refused`: where `stop` has written a file, no line was refused.
        """
        return {"kind": self.kind, "model": self.model, "endpoint": self.endpoint}


Teacher = Annotated[ModelTeacher | FileTeacher | CloudTeacher, Field(discriminator="kind")]
