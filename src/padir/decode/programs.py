"""Compiled programs over rows of sentences, on one device or with the rows dealt out to all.

Sentences do not mix, so no device waits for another: each runs the same program on its share, and
stops when its own rows are finished.
"""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import jax

from padir.devices import data_mesh, replicated, split_sentences


class Programs:
    """Compiles functions of one model's values.

    A call whose rows the devices divide evenly is dealt out to them; any other, such as that of a
    single sentence, is one device's. With one device there is nothing but `jax.jit`.

    Args:
        leaves: the model's values.

    Attributes:
        devices: that share the rows.
    """

    def __init__(self, leaves: list[Any]):
        self._mesh = data_mesh()
        self._leaves = leaves
        self.devices: int = self._mesh.size

    @cached_property
    def _copies(self) -> list[Any]:
        # When first needed: a model that is timed sentence by sentence stays on one device.
        return jax.device_put(self._leaves, replicated(self._mesh))

    def compiled(
        self, function: Callable[..., Any], has_rows: Sequence[bool], fixed: int = 0
    ) -> Callable[..., Any]:
        """A function of the arguments that follow the leaves.

        Args:
            function: of the leaves, of arguments that are arrays, trees of arrays or None, and of
                others that are fixed in the program. All that it returns has rows first, which
                depend on the same rows of its arguments.
            has_rows: of each argument of arrays, whether it has rows first, as the first one must;
                else every device gets it whole.
            fixed: how many of the others there are.
        """
        arrays = len(has_rows)
        static = tuple(range(1 + arrays, 1 + arrays + fixed))
        alone = partial(jax.jit(function, static_argnums=static), self._leaves)
        if self.devices == 1:
            return alone
        rows, whole = split_sentences(self._mesh, axis=0), replicated(self._mesh)
        placed = (whole, *(rows if one else whole for one in has_rows))

        def dealt_out(*arguments):
            own = jax.shard_map(
                lambda *held: function(*held, *arguments[1 + arrays :]),
                mesh=self._mesh,
                in_specs=tuple(sharding.spec for sharding in placed),
                out_specs=rows.spec,
                # Loops begin with values that are the same on all devices, and end with others.
                check_vma=False,
            )
            return own(*arguments[: 1 + arrays])

        together = jax.jit(dealt_out, static_argnums=static, in_shardings=placed)

        def call(*arguments):
            count = jax.tree.leaves(arguments[0])[0].shape[0]
            return alone(*arguments) if count % self.devices else together(self._copies, *arguments)

        return call
