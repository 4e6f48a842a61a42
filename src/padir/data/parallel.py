"""Work on all cores whose result does not depend on how many there are: ordered, in few pieces."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import TypeVar

from padir.files import InputError

T = TypeVar("T")
R = TypeVar("R")


def cores() -> int:
    """CPU cores that this process may use."""
    return len(os.sched_getaffinity(0))


def ordered(function: Callable[[T], R], items: Iterable[T], workers: int) -> Iterator[R]:
    """`function(item)` of each item, in the order of the items.

    With more than one worker, processes do the work; few results wait at any time, so memory does
    not grow with the number of items.

    Args:
        function: of a module's top level (or a partial of one), as processes must find it.
        items: small things, such as places in a file.
        workers: processes; 1 works here.

    Raises:
        InputError: a process died, or what `function` raises.
    """
    if workers <= 1:
        yield from map(function, items)
        return
    # Forking a process that has threads (JAX, TensorFlow) may hang.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        waiting: deque[Future[R]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) > 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool as error:
            raise InputError(
                "a worker process died, perhaps for want of memory; use fewer --threads"
            ) from error
        finally:
            for future in waiting:
                future.cancel()
