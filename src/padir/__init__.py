"""Non-autoregressive masked text models: train, decode, score, and the theory behind them.

    import padir

    model = padir.load("bundle")
    model.translate(["Ein Hund rennt."], steps=4)
    padir.score(hypotheses, references, "en")["bleu"]["score"]

Names are imported when they are first used, so that `import padir` loads nothing heavy.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from padir import score as score
    from padir.files import InputError as InputError
    from padir.library import Model as Model
    from padir.library import load as load
    from padir.library import stutter as stutter
    from padir.theory.enumeration import exact_law as exact_law
    from padir.theory.ising import Ising as Ising
    from padir.theory.ising import ising_on_graph as ising_on_graph
    from padir.theory.ising import random_ising as random_ising
    from padir.theory.samplers import independent_parallel as independent_parallel
    from padir.theory.samplers import k_gibbs as k_gibbs

# Name -> module that has it.
_NAMES = {
    **dict.fromkeys(("load", "Model", "stutter"), "padir.library"),
    "InputError": "padir.files",
    **dict.fromkeys(("Ising", "ising_on_graph", "random_ising"), "padir.theory.ising"),
    "exact_law": "padir.theory.enumeration",
    **dict.fromkeys(("k_gibbs", "independent_parallel"), "padir.theory.samplers"),
}


def __getattr__(name: str) -> Any:
    if name == "score":
        return importlib.import_module("padir.score")
    if name not in _NAMES:
        raise AttributeError(f"module 'padir' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_NAMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES, "score"})
