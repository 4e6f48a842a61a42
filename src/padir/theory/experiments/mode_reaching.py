"""Figure 3: steps until the larger mode is reached. Paper: sections 2.4.2 and L.7, E to H."""

import itertools
from typing import Any

import jax
import numpy as np

from padir.config.theory import CliquePanel, ModeReaching
from padir.theory import mode_propositions as propositions
from padir.theory import regimes, unequal_fields
from padir.theory.dynamics import mean_hitting_time
from padir.theory.ising import clique_model
from padir.theory.lumped import (
    Clique,
    clique_gibbs,
    clique_parallel,
    hitting_curve,
)
from padir.theory.runs import Claim, Outcome, plain
from padir.theory.samplers import (
    Sampler,
    clique_gibbs_sampler,
    first_visits,
    independent_parallel,
)

visits = jax.jit(first_visits, static_argnames=("clique", "steps"))
CHECKPOINTS = 5
UNEQUAL = 40  # random models with unequal fields
STRONG = 15.0  # (m - 1) J, which holds a spin of a clique in its mode
Curve = dict[str, Any]
Panel = dict[str, Any]


def run(settings: ModeReaching, seed: int) -> Outcome:
    """Exact and simulated hitting curves of every panel, the bounds, and the separation."""
    key = jax.random.key(seed)
    panels = [
        _panel(panel, settings.delta, jax.random.fold_in(key, i))
        for i, panel in enumerate([*settings.panels, settings.weak])
    ]
    *strong, weak = panels
    curves = [curve for panel in panels for curve in panel["curves"]]
    separation = [propositions.separation(case) for case in settings.separation]
    unequal = unequal_fields.random_cliques(np.random.default_rng(seed), UNEQUAL)
    return Outcome(
        regimes={"panels": [row for panel in panels for row in panel["regimes"]]},
        series={"panels": strong, "weak": weak, "separation": separation},
        claims=[
            _block_size_claim(strong),
            *_parallel_claims(strong),
            *_coupling_claims(strong),
            _weak_claim(weak),
            _simulation_claim(panels),
            propositions.fast_claim(curves, unequal, settings.delta, _dataset(panels)),
            propositions.slow_claim(curves, separation, unequal, settings.delta, _dataset(panels)),
            propositions.separation_claim(separation),
        ],
        dataset=_dataset(strong),
    )


def _model(settings: CliquePanel, coupling: float) -> Clique:
    return Clique(settings.spins, settings.clique, coupling, settings.field, settings.outside_field)


def _panel(settings: CliquePanel, delta: float, key: jax.Array) -> Panel:
    curves, constants = [], []
    for number, coupling in enumerate(settings.couplings):
        coupling_key = jax.random.fold_in(key, number)
        model = _model(settings, coupling)
        law = model.law()
        regime = regimes.regime(model, max(settings.block_sizes), delta, settings.steps)
        constants.append(
            plain(regime)
            | {"coupling": coupling, "field": settings.field}
            | {"larger_mode": law[-1], "smaller_mode": law[0]}
        )
        for k in [None, *settings.block_sizes]:
            curve = _curve(model, k, settings, delta, jax.random.fold_in(coupling_key, k or 0))
            curves.append({"coupling": coupling, **curve})
    return {"settings": settings.model_dump(), "regimes": constants, "curves": curves}


def _curve(
    model: Clique, k: int | None, settings: CliquePanel, delta: float, key: jax.Array
) -> Curve:
    """Hitting curve of one sampler; k is None for independent parallel sampling."""
    sampler: Sampler
    if k is None:
        kernel = clique_parallel(model)
        sampler = independent_parallel(
            clique_model(
                model.spins, model.clique, model.coupling, model.field, model.outside_field
            )
        )
    else:
        kernel = clique_gibbs(model, k)
        sampler = clique_gibbs_sampler(model, k)
    exact = hitting_curve(kernel, np.eye(model.clique + 1)[0], model.clique, settings.steps)
    start_key, run_key = jax.random.split(key)
    spins = sampler.init(start_key, settings.chains).at[:, : model.clique].set(-1)
    first = np.asarray(visits(sampler, run_key, spins, clique=model.clique, steps=settings.steps))
    simulated = np.cumsum(np.bincount(first, minlength=settings.steps + 2)[:-1]) / len(first)
    curve: Curve = {
        "sampler": "independent parallel" if k is None else f"{k}-Gibbs",
        "k": k,
        "exact": exact,
        "simulated": simulated,
        "chains": settings.chains,
        "mean_time": mean_hitting_time(kernel, 0, model.clique),
    }
    if k is None:
        curve["stay_exact"] = regimes.stay_failure_exact(model)
        curve["stay_chernoff"] = regimes.stay_failure_chernoff(model)
        curve["stay_hoeffding"] = regimes.stay_failure_hoeffding(model)
    elif k >= model.clique and min(regimes.coupling_margin(model), regimes.field_gap(model)) > 0:
        curve["step_bound"] = regimes.fast_step_probability(model, k)
        curve["exact_step"] = kernel[:, model.clique].min()
        curve["steps_bound"] = regimes.steps_with_confidence(curve["step_bound"], delta)
        reached = np.flatnonzero(exact >= 1 - delta)
        curve["steps_exact"] = reached[0] if reached.size else None
    return curve


def _by_coupling(panel: Panel) -> list[list[Curve]]:
    """Curves of each coupling: independent parallel sampling, then k-Gibbs by rising k."""
    return [
        [c for c in panel["curves"] if c["coupling"] == coupling]
        for coupling in panel["settings"]["couplings"]
    ]


def _dataset(panels: list[Panel]) -> str:
    settings = [panel["settings"] for panel in panels]
    return "; ".join(
        f"clique of {s['clique']} among {s['spins']} spins, h = {s['field']:g}" for s in settings
    )


def _block_size_claim(panels: list[Panel]) -> Claim:
    groups = [group for panel in panels for group in _by_coupling(panel)]
    reached = (
        f"J={group[0]['coupling']:g}: "
        + ", ".join(f"{c['sampler']} {c['exact'][-1]:.3g}" for c in group)
        for group in groups
    )
    return Claim(
        "larger_k_is_faster",
        "2.4.2, L.7, figure 3",
        "From the smaller mode, k-Gibbs reaches the larger mode in fewer steps for larger k.",
        "figure 3: larger k is faster",
        f"exact P(reached by the last step): {'; '.join(reached)}",
        "at every coupling the exact probability does not fall with k at any step, and with the"
        " largest k it ends above 1/2",
        all(
            np.all(larger["exact"] >= smaller["exact"] - 1e-12)
            for _, *gibbs in groups
            for smaller, larger in itertools.pairwise(gibbs)
        )
        and all(group[-1]["exact"][-1] > 1 / 2 for group in groups),
    )


def _parallel_claims(panels: list[Panel]) -> list[Claim]:
    pairs = [
        (panel["settings"]["clique"], curve, parallel)
        for panel in panels
        for parallel, *gibbs in _by_coupling(panel)
        for curve in gibbs
    ]
    slower = [(m, c) for m, c, parallel in pairs if c["mean_time"] >= parallel["mean_time"]]
    names = ", ".join(f"k={c['k']} J={c['coupling']:g}" for _, c in slower) or "none"
    parallels = [group[0] for panel in panels for group in _by_coupling(panel)]
    reached = ", ".join(f"J={c['coupling']:g} {c['exact'][-1]:.3g}" for c in parallels)
    small_blocks = all(c["k"] < m for m, c in slower)
    return [
        Claim(
            "parallel_is_slower.printed",
            "2.4.2, L.7, figure 3",
            "Independent parallel sampling does not reach the larger mode where k-Gibbs does.",
            "not within the step budget",
            f"k-Gibbs has the smaller exact mean time in {len(pairs) - len(slower)} of"
            f" {len(pairs)} (k, J) pairs; not for {names}; parallel: exact P(reached by the last"
            f" step) {reached}",
            "k-Gibbs has the smaller exact mean time for every k and J of figure 3, and at every J"
            " parallel's exact probability ends below 1/2",
            not slower and all(c["exact"][-1] < 1 / 2 for c in parallels),
        ),
        Claim(
            "parallel_is_slower.holds",
            "2.4.2, L.7, figure 3",
            "Unless the coupling is weak, k-Gibbs is faster than independent parallel sampling for"
            " k of at least the clique's size; smaller k may be slower.",
            "regime not stated",
            f"all exceptions have k below the clique's size: {small_blocks};"
            f" exceptions {len(slower)} of {len(pairs)}",
            "every exception to the printed form has k below the clique's size",
            small_blocks,
        ),
    ]


def _coupling_claims(panels: list[Panel]) -> list[Claim]:
    faster = [
        (curve["k"], panel["settings"]["clique"])
        for panel in panels
        for weaker, stronger in itertools.pairwise(_by_coupling(panel))
        for curve, at_stronger in zip(weaker, stronger, strict=True)
        if at_stronger["mean_time"] < curve["mean_time"]
    ]
    times = "exact mean times " + ", ".join(
        f"{c['sampler']} J={c['coupling']:g} {c['mean_time']:.3g}" for c in panels[0]["curves"]
    )
    covering = [
        (settings, k)
        for settings in (panel["settings"] for panel in panels)
        for k in sorted({*settings["block_sizes"], settings["spins"]})
        if k >= settings["clique"]
    ]
    shares = [[_share_of_covering(s, j, k) for j in s["couplings"]] for s, k in covering]
    strong = [_share_of_covering(s, STRONG / (s["clique"] - 1), k) for s, k in covering]
    ranges = ", ".join(
        f"N={s['spins']} k={k} {min(share):.3f} to {max(share):.3f}"
        for (s, k), share in zip(covering, shares, strict=True)
    )
    return [
        Claim(
            "peaky_is_slower.printed",
            "2.4.2, L.7, figure 3",
            "More peaky models (larger J) are slower to sample.",
            "figure 3: larger J is slower",
            times,
            "for every sampler of figure 3 the exact mean time does not fall with J",
            not faster,
        ),
        Claim(
            "peaky_is_slower.holds",
            "2.4.2, L.7, figure 3",
            "From the smallest J of figure 3 on, larger J is slower for k up to the clique's size"
            " and for independent parallel sampling. For k of at least that size the mean time is"
            " at most that of covering the clique over P(R1), at any J, and tends to it as J"
            " grows.",
            "not distinguished by k",
            f"{times}; mean time over this bound: {ranges}; at (m - 1) J = {STRONG:g} at least"
            f" {min(strong):.4f}",
            "every exception to the printed form has k above the clique's size; no mean time is"
            f" above the bound, and at (m - 1) J = {STRONG:g} all are above 99% of it",
            all(k is not None and k > clique for k, clique in faster)
            and max(map(max, [*shares, strong])) <= 1 + 1e-9
            and min(strong) > 0.99,
        ),
    ]


def _share_of_covering(settings: dict[str, Any], coupling: float, k: int) -> float:
    """Mean time of k-Gibbs over that of covering the clique over P(R1); k from m to N."""
    model = _model(CliquePanel.model_validate(settings), coupling)
    time = mean_hitting_time(clique_gibbs(model, k), 0, model.clique)
    return time * regimes.covers_clique(model.spins, model.clique, k) * model.law()[-1]


def _weak_claim(panel: Panel) -> Claim:
    parallel, *gibbs = panel["curves"]
    slower = [c["k"] for c in gibbs if c["mean_time"] > parallel["mean_time"]]
    return Claim(
        "weak_coupling_reverses",
        "2.4.2, L.7 (no such regime named)",
        "At weak coupling independent parallel sampling is faster than k-Gibbs with small k.",
        "not discussed",
        f"exact mean time: parallel {parallel['mean_time']:.3g}, "
        + ", ".join(f"k={c['k']} {c['mean_time']:.3g}" for c in gibbs),
        f"parallel has a smaller exact mean time than {gibbs[0]['k']}-Gibbs",
        bool(slower) and min(slower) == gibbs[0]["k"],
        f"{_dataset([panel])}, J = {panel['settings']['couplings'][0]:g}",
    )


def _simulation_claim(panels: list[Panel]) -> Claim:
    worst, compared = 0.0, 0
    for curve in (curve for panel in panels for curve in panel["curves"]):
        steps = len(curve["exact"]) - 1
        for t in np.unique(np.linspace(1, steps, CHECKPOINTS).astype(int)):
            share = float(np.clip(curve["exact"][t], 0, 1))
            noise = np.sqrt(share * (1 - share) / curve["chains"])
            # A difference of one chain is the rounding of a share.
            excess = abs(curve["simulated"][t] - share) - 1 / curve["chains"]
            if excess > 0:
                worst = max(worst, excess / max(noise, 1e-12))
            compared += 1
    return Claim(
        "simulation_agrees",
        "L.7",
        "Simulated chains agree with the exact hitting probabilities.",
        "simulation only",
        f"largest deviation {worst:.2f} standard errors over {compared} probabilities",
        "no deviation above 4.5 standard errors (plus one chain)",
        worst <= 4.5,
        _dataset(panels),
    )
