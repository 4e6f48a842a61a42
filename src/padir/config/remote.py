"""Settings of files that are fetched from an address."""

from urllib.parse import urlsplit

from pydantic import Field, field_validator

from padir.config.base import Settings

MOST_DOWNLOADED = 20_000_000_000
MOST_UNPACKED = 200_000_000_000
DOWNLOAD_LIMITS = ("max_bytes", "max_unpacked_bytes")


class RemoteFile(Settings):
    """One file to download, accepted only with the right digest."""

    url: str
    """http, https or file address; a name ending in .gz is unpacked, as with paths."""
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    """SHA-256 of the file as downloaded, in hexadecimal."""
    # Limits change no text, and are not written while they are these.
    max_bytes: int = Field(
        default=MOST_DOWNLOADED, ge=1, le=1_000_000_000_000, exclude_if=MOST_DOWNLOADED.__eq__
    )
    """Most bytes that are downloaded; a longer file is an error."""
    max_unpacked_bytes: int = Field(
        default=MOST_UNPACKED, ge=1, le=10_000_000_000_000, exclude_if=MOST_UNPACKED.__eq__
    )
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
