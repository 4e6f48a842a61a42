"""Figure 3: steps until the larger mode is reached. Paper: sections 2.4.2 and L.7, E to H."""

import itertools
from typing import Any

import jax
import numpy as np

from padir.config.theory import CliquePanel, ModeReaching
from padir.theory import regimes
from padir.theory.chains import ChainState, Sampler, first_visits
from padir.theory.claims import Claim, Outcome, share_interval
from padir.theory.clique_sampler import clique_gibbs_sampler
from padir.theory.ising import clique_model
from padir.theory.lumped import (
    Clique,
    clique_gibbs,
    clique_parallel,
    hitting_curve,
    mean_hitting_time,
)
from padir.theory.samplers import independent_parallel

visits = jax.jit(first_visits, static_argnames=("clique", "steps"))
CHECKPOINTS = 5


def run(settings: ModeReaching, seed: int) -> Outcome:
    """Exact and simulated hitting curves for every panel, the bounds, and the two regimes."""
    key = jax.random.key(seed)
    panels = [
        _panel(panel, settings.delta, jax.random.fold_in(key, i))
        for i, panel in enumerate([*settings.panels, settings.weak])
    ]
    weak = panels.pop()
    separation = [_separation(case) for case in settings.separation]
    return Outcome(
        regimes={"panels": [row for p in [*panels, weak] for row in p["regimes"]]},
        series={"panels": panels, "weak": weak, "separation": separation},
        claims=[
            *_order_claims(panels, weak),
            _simulation_claim([*panels, weak]),
            *_bound_claims([*panels, weak], settings.delta),
            _separation_claim(separation),
        ],
    )


def _panel(settings: CliquePanel, delta: float, key: jax.Array) -> dict[str, Any]:
    curves, constants = [], []
    for row_number, coupling in enumerate(settings.couplings):
        row_key = jax.random.fold_in(key, row_number)
        model = Clique(
            settings.spins, settings.clique, coupling, settings.field, settings.outside_field
        )
        law = model.law()
        row = regimes.regime(model, max(settings.block_sizes), delta, settings.steps).as_json()
        row |= {"coupling": coupling, "field": settings.field}
        row |= {"larger_mode": law[-1], "smaller_mode": law[0]}
        constants.append(row)
        for k in [None, *settings.block_sizes]:
            curve = _curve(model, k, settings, delta, jax.random.fold_in(row_key, k or 0))
            curves.append({"coupling": coupling, **curve})
    return {"settings": settings.model_dump(), "regimes": constants, "curves": curves}


def _curve(
    model: Clique, k: int | None, settings: CliquePanel, delta: float, key: jax.Array
) -> dict[str, Any]:
    """One sampler at one coupling; k is None for independent parallel sampling."""
    kernel = clique_parallel(model) if k is None else clique_gibbs(model, k)
    start = np.eye(model.clique + 1)[0]
    exact = hitting_curve(kernel, start, model.clique, settings.steps)
    if k is None:
        sampler: Sampler = independent_parallel(
            clique_model(
                model.spins, model.clique, model.coupling, model.field, model.outside_field
            )
        )
    else:
        sampler = clique_gibbs_sampler(model, k)
    start_key, run_key = jax.random.split(key)
    spins = sampler.init(start_key, settings.chains).spins.at[:, : model.clique].set(-1)
    first = np.asarray(
        visits(sampler, run_key, ChainState(spins), clique=model.clique, steps=settings.steps)
    )
    simulated = np.cumsum(np.bincount(first, minlength=settings.steps + 2)[:-1]) / len(first)
    found: dict[str, Any] = {
        "sampler": "independent parallel" if k is None else f"{k}-Gibbs",
        "k": k,
        "exact": exact,
        "simulated": simulated,
        "chains": settings.chains,
        "mean_time": mean_hitting_time(kernel, 0, model.clique),
    }
    assumption_5 = regimes.coupling_margin(model) > 0 and regimes.field_gap(model) > 0
    if k is not None and k >= model.clique and assumption_5:
        found["step_bound"] = regimes.fast_step_probability(model, k)
        found["exact_step"] = float(kernel[:, model.clique].min())
        found["steps_bound"] = regimes.steps_with_confidence(found["step_bound"], delta)
        reached = np.flatnonzero(exact >= 1 - delta)
        found["steps_exact"] = int(reached[0]) if reached.size else None
    if k is None:
        found["stay_exact"] = regimes.stay_failure_exact(model)
        found["stay_chernoff"] = regimes.stay_failure_chernoff(model)
        found["stay_hoeffding"] = regimes.stay_failure_hoeffding(model)
        found["slow_steps"] = regimes.slow_steps(found["stay_chernoff"], delta)
    return found


def _separation(case: Any) -> dict[str, Any]:
    model = Clique(case.spins, case.clique, case.coupling, case.field)
    state = regimes.regime(model, case.block_size, case.delta, case.steps)
    one_step = float(clique_gibbs(model, case.block_size)[:, case.clique].min())
    kernel = clique_parallel(model)
    worst = (case.clique - 2) // 2
    starts = np.eye(case.clique + 1)
    return {
        **state.as_json(),
        "coupling": case.coupling,
        "field": case.field,
        "one_step": one_step,
        "parallel_from_mode": hitting_curve(kernel, starts[0], case.clique, case.steps)[-1],
        "parallel_from_worst": hitting_curve(kernel, starts[worst], case.clique, case.steps)[-1],
    }


def _by_coupling(panel: dict[str, Any]) -> list[list[dict[str, Any]]]:
    return [
        [c for c in panel["curves"] if c["coupling"] == coupling]
        for coupling in panel["settings"]["couplings"]
    ]


def _name(panel: dict[str, Any]) -> str:
    s = panel["settings"]
    return f"clique of {s['clique']} among {s['spins']} spins, h = {s['field']:g}"


def _order_claims(panels: list[dict[str, Any]], weak: dict[str, Any]) -> list[Claim]:
    monotone, beats, total, losers, finals, easier = True, 0, 0, [], [], []
    for panel in panels:
        clique = panel["settings"]["clique"]
        groups = _by_coupling(panel)
        for group in groups:
            parallel, *gibbs = group
            for slow, fast in itertools.pairwise(gibbs):
                monotone &= bool(np.all(fast["exact"] >= slow["exact"] - 1e-12))
            for curve in gibbs:
                total += 1
                beats += curve["mean_time"] < parallel["mean_time"]
                if curve["mean_time"] >= parallel["mean_time"]:
                    losers.append((curve["k"] < clique, f"k={curve['k']} J={curve['coupling']:g}"))
            finals.append(
                f"J={parallel['coupling']:g}: "
                + ", ".join(f"{c['sampler']} {c['exact'][-1]:.3g}" for c in group)
            )
        for weaker, stronger in itertools.pairwise(groups):
            for a, b in zip(weaker, stronger, strict=True):
                if b["mean_time"] < a["mean_time"]:
                    easier.append((a["k"], clique))
    dataset = "; ".join(_name(p) for p in panels)
    times_shown = ", ".join(
        f"{c['sampler']} J={c['coupling']:g} {c['mean_time']:.3g}" for c in panels[0]["curves"]
    )
    parallel_weak, *gibbs_weak = weak["curves"]
    beaten = [c["k"] for c in gibbs_weak if c["mean_time"] > parallel_weak["mean_time"]]
    times = [c["mean_time"] for c in gibbs_weak]
    return [
        Claim(
            "larger_k_is_faster",
            "L.7, figure 3",
            "From the smaller mode, k-Gibbs reaches the larger one in fewer steps for larger k.",
            "figure 3: larger k is faster",
            f"exact P(reached by the last step): {'; '.join(finals)}",
            "at every coupling and every step the exact probability does not fall with k",
            monotone,
            dataset,
        ),
        Claim(
            "parallel_is_slower.printed",
            "L.7, figure 3",
            "Independent parallel sampling does not reach the larger mode where k-Gibbs does.",
            "not within the step budget",
            f"k-Gibbs has the smaller exact mean time in {beats} of {total} (k, J) pairs; not for"
            f" {', '.join(name for _, name in losers) or 'none'}",
            "k-Gibbs has the smaller exact mean time for every k and J of figure 3",
            not losers,
            dataset,
        ),
        Claim(
            "parallel_is_slower.holds",
            "L.7, figure 3",
            "k-Gibbs with k at least the clique's size is faster than independent parallel"
            " sampling once the coupling is not weak; smaller k may lose.",
            "regime not stated",
            f"all exceptions have k below the clique's size: {all(b for b, _ in losers)};"
            f" exceptions {len(losers)} of {total}",
            "every exception of the printed form has k below the clique's size",
            all(below for below, _ in losers),
            dataset,
        ),
        Claim(
            "peaky_is_slower.printed",
            "L.7, figure 3",
            "More peaky models (larger J) are slower to sample.",
            "figure 3: larger J is slower",
            f"exact mean times {times_shown}",
            "for every sampler of figure 3 the exact mean time does not fall with J",
            not easier,
            dataset,
        ),
        Claim(
            "peaky_is_slower.holds",
            "L.7, figure 3",
            "Larger J is slower for k up to the clique's size and for independent parallel"
            " sampling; near k = N the time is that of covering the clique, whatever J.",
            "not distinguished by k",
            f"exact mean times {times_shown}",
            "every exception of the printed form has k above the clique's size",
            all(k is not None and k > clique for k, clique in easier),
            dataset,
        ),
        Claim(
            "weak_coupling_reverses",
            "2.4.2, L.7 (no such regime named)",
            "At weak coupling the order reverses: independent parallel sampling is faster than"
            " k-Gibbs with small k.",
            "not discussed",
            f"exact mean time: parallel {parallel_weak['mean_time']:.3g}, "
            + ", ".join(f"k={c['k']} {t:.3g}" for c, t in zip(gibbs_weak, times, strict=True)),
            "parallel has a smaller exact mean time than 1-Gibbs",
            bool(beaten and min(beaten) == gibbs_weak[0]["k"]),
            f"{_name(weak)}, J = {weak['settings']['couplings'][0]:g}",
        ),
    ]


def _simulation_claim(panels: list[dict[str, Any]]) -> Claim:
    worst, compared = 0.0, 0
    for panel in panels:
        for curve in panel["curves"]:
            steps = len(curve["exact"]) - 1
            for t in np.unique(np.linspace(1, steps, CHECKPOINTS).astype(int)):
                share = float(np.clip(curve["exact"][t], 0, 1))
                noise = np.sqrt(share * (1 - share) / curve["chains"])
                # One chain more or less is within the rounding of a share.
                gap = abs(curve["simulated"][t] - share) - 1 / curve["chains"]
                if gap > 0:
                    worst = max(worst, gap / max(noise, 1e-12))
                compared += 1
    example = panels[0]["curves"][0]
    hits = round(float(example["simulated"][-1]) * example["chains"])
    return Claim(
        "simulation_agrees",
        "L.7",
        "Simulated chains agree with the exact hitting probabilities.",
        "simulation only",
        f"largest deviation {worst:.2f} standard errors over {compared} probabilities",
        "no deviation above 4.5 standard errors (plus one chain)",
        bool(worst <= 4.5),
        "; ".join(_name(p) for p in panels),
        share_interval(hits, example["chains"]),
    )


def _bound_claims(panels: list[dict[str, Any]], delta: float) -> list[Claim]:
    fast = [c for p in panels for c in p["curves"] if "step_bound" in c]
    slow = [c for p in panels for c in p["curves"] if "stay_exact" in c]
    below = all(c["step_bound"] <= c["exact_step"] + 1e-12 for c in fast)
    # A T beyond the curve's last step can be neither kept nor broken by it.
    reached = all(
        c["steps_bound"] >= len(c["exact"]) or c["exact"][c["steps_bound"]] >= 1 - delta
        for c in fast
    )
    ordered = all(
        c["stay_exact"] <= c["stay_chernoff"] * (1 + 1e-9)
        and c["stay_chernoff"] <= c["stay_hoeffding"] * (1 + 1e-9)
        for c in slow
    )
    dataset = "; ".join(_name(p) for p in panels)
    return [
        Claim(
            "k_gibbs_is_fast",
            "2.4.2, appendix F",
            "With k at least the clique's size, k-Gibbs is in the larger mode within T steps with"
            f" probability 1 - delta (delta = {delta:g}).",
            "proposition in appendix F",
            "; ".join(
                f"{c['sampler']} J={c['coupling']:g}: bound {c['steps_bound']} steps, exact"
                f" {c['steps_exact']}"
                for c in fast
            )
            or "no curve satisfies assumption 5",
            "the bound per step is below the exact worst case; wherever T is within the steps run,"
            " the exact probability at T is at least 1 - delta",
            bool(fast and below and reached),
            dataset,
        ),
        Claim(
            "independent_parallel_is_slow",
            "2.4.2, appendix G",
            "From sum(x_C) <= -2, independent parallel sampling stays there for delta / epsilon"
            " steps with probability 1 - delta.",
            "proposition in appendix G",
            "; ".join(
                f"J={c['coupling']:g}: epsilon exact {c['stay_exact']:.2g}, Chernoff"
                f" {c['stay_chernoff']:.2g}, Hoeffding {c['stay_hoeffding']:.2g}"
                for c in slow
            ),
            "exact worst case <= Chernoff bound <= Hoeffding bound, at every coupling",
            bool(ordered),
            dataset,
        ),
    ]


def _separation_claim(cases: list[dict[str, Any]]) -> Claim:
    holds = all(
        c["assumption_5"]
        and c["assumption_6"]
        and c["assumption_7"]
        and c["one_step"] >= 1 - c["delta"] / 2
        and c["parallel_from_worst"] <= c["delta"] / 2
        for c in cases
    )
    return Claim(
        "separation",
        "2.4.2, appendix H",
        "Under assumptions 5 to 7 k-Gibbs is in the larger mode after one step, while independent"
        " parallel sampling does not visit it in M steps, with probability 1 - delta.",
        "corollary in appendix H",
        "; ".join(
            f"N={c['spins']}, m={c['clique']}, k={c['size']}: one step {c['one_step']:.4f},"
            f" parallel in {c['steps']} steps {c['parallel_from_mode']:.1g} (worst start"
            f" {c['parallel_from_worst']:.1g})"
            for c in cases
        ),
        "all assumptions hold; exact one-step probability at least 1 - delta/2 and exact visiting"
        " probability at most delta/2, from the worst start",
        holds,
        "; ".join(
            f"J = {c['coupling']:g}, h = {c['field']:g}, delta = {c['delta']:g}" for c in cases
        ),
    )
