"""`padir serve` in this process, for tests."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from padir.library import Model
from padir.server.api import Server


@contextmanager
def serving(model: Model, host: str = "127.0.0.1") -> Iterator[Server]:
    """A server of the model on a free port."""
    with Server(model, host, 0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()
