"""Downloads: a file is accepted with the right SHA-256 only."""

import hashlib
import http.client
import urllib.error
import urllib.request
from os import PathLike

from padir.config.data import RemoteFile
from padir.files import InputError, atomic_path, shown

TIMEOUT_SECONDS = 60
_BLOCK = 1 << 20


def download(remote: RemoteFile, path: str | PathLike[str]) -> None:
    """Download a file to `path`.

    Raises:
        InputError: unreachable, or of another digest (the message names both); `path` is then
            left as it was.
    """
    found = hashlib.sha256()
    with atomic_path(path) as temporary:
        try:
            with (
                urllib.request.urlopen(remote.url, timeout=TIMEOUT_SECONDS) as response,
                temporary.open("wb") as file,
            ):
                while block := response.read(_BLOCK):
                    found.update(block)
                    file.write(block)
        except urllib.error.URLError as error:
            raise InputError(f"{shown(remote.url)}: cannot download: {error.reason}") from error
        except (http.client.HTTPException, TimeoutError, ConnectionError, ValueError) as error:
            reason = str(error) or type(error).__name__
            raise InputError(f"{shown(remote.url)}: cannot download: {reason}") from error
        if found.hexdigest() != remote.sha256:
            raise InputError(
                f"{shown(remote.url)}: SHA-256 is {found.hexdigest()}, expected {remote.sha256}"
            )
