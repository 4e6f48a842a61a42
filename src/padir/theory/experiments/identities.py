"""Theorems of sections 2.1 and 2.2, checked exactly on random models. Appendices A, B, C, K."""

import itertools
from dataclasses import dataclass

import numpy as np

from padir.config.theory import Identities
from padir.theory import dynamics
from padir.theory.covariance import (
    gradient_covariance,
    hessian_by_mask,
    information,
    relative_eigenvalues,
)
from padir.theory.enumeration import exact_law
from padir.theory.estimators import MaskedLoss, draw_counts, population_counts
from padir.theory.families import Family, ising_family
from padir.theory.ising import complete_edges, ising_on_graph, path_edges, random_ising
from padir.theory.masks import Masks, all_subsets, random_adaptive_masks, uniform_masks
from padir.theory.runs import Claim, Outcome
from padir.theory.tensorisation import tensorisation_upper_bound

EXACT = 1e-10
RISING_COUPLINGS = (0.0, 0.2, 0.4, 0.8, 1.2)


@dataclass(frozen=True)
class Case:
    """A random model with a random mask distribution of each kind, fixed and adaptive."""

    family: Family
    law: np.ndarray
    masks: dict[str, Masks]

    def poincare(self, masks: Masks) -> float:
        """Poincare constant of the block dynamics."""
        return dynamics.poincare_constant(self.law, dynamics.block_kernel(self.law, masks))


def random_case(rng: np.random.Generator, settings: Identities) -> Case:
    """A complete graph with normal couplings and fields; masks over all non-empty subsets."""
    n = settings.spins
    model = random_ising(rng, n, complete_edges(n), settings.coupling_scale, settings.field_scale)
    sets = tuple(block for k in range(1, n + 1) for block in all_subsets(n, k))
    fixed = Masks(n, sets, rng.dirichlet(np.ones(len(sets))))
    masks = {"fixed": fixed, "adaptive": random_adaptive_masks(rng, n, sets)}
    return Case(ising_family(model), exact_law(model), masks)


def run(settings: Identities, seed: int) -> Outcome:
    """Evaluate every identity and inequality on every random model; keep the worst values."""
    rng = np.random.default_rng(seed)
    cases = [random_case(rng, settings) for _ in range(settings.models)]
    claims = [
        *_information_claims(cases, rng),
        _order_claim(cases),
        *_dynamics_claims(cases, rng),
        *_variance_claims(cases),
        _tight_claim(),
        _dependence_claim(),
        _gap_claim(cases, settings, rng),
        _convexity_claim(cases, rng),
    ]
    regimes = {
        "smallest_probability": min(case.law.min() for case in cases),
        "largest_poincare_constant": max(case.poincare(case.masks["fixed"]) for case in cases),
    }
    return Outcome(regimes, {}, claims, _dataset(settings))


def _dataset(settings: Identities) -> str:
    return (
        f"{settings.models} complete graphs of {settings.spins} spins, normal couplings (standard"
        f" deviation {settings.coupling_scale:g}) and fields ({settings.field_scale:g})"
    )


def _population_loss(case: Case, masks: Masks, naive: bool = False) -> MaskedLoss:
    return MaskedLoss(case.family, masks, population_counts(case.law, masks), naive)


def _hessian_defect(case: Case, masks: Masks, theta: np.ndarray) -> float:
    """Largest entry of the Hessian of the population loss minus the covariance of its gradient."""
    hessian = _population_loss(case, masks).derivatives(theta[None])[2][0]
    return float(np.abs(hessian - gradient_covariance(case.family, masks, theta, case.law)).max())


def _information_claims(cases: list[Case], rng: np.random.Generator) -> list[Claim]:
    claims = []
    for kind, section in (("fixed", "2.2.1, appendix A"), ("adaptive", "2.2.3, C.2")):
        at_truth = max(_hessian_defect(c, c.masks[kind], c.family.truth) for c in cases)
        elsewhere = min(
            _hessian_defect(
                c, c.masks[kind], c.family.truth + rng.normal(0, 0.5, c.family.parameters)
            )
            for c in cases
        )
        claims.append(
            Claim(
                f"information_matrix.{kind}",
                section,
                "At the truth the Hessian of the population loss equals the covariance of its"
                f" gradient, for {kind} masks.",
                "generalised information matrix equality",
                f"largest defect {at_truth:.2g} at the truth; smallest {elsewhere:.2g} elsewhere",
                f"defect below {EXACT:g} at the truth and above 1e-4 at wrong parameters",
                at_truth < EXACT and elsewhere > 1e-4,
            )
        )
    correct, naive = (
        [
            np.abs(
                _population_loss(c, c.masks["adaptive"], leave_out).derivatives(
                    c.family.truth[None]
                )[1]
            ).max()
            for c in cases
        ]
        for leave_out in (False, True)
    )
    return [
        *claims,
        Claim(
            "condition_on_the_mask",
            "2.2.3, remark 3, C.1",
            "With adaptive masks the loss is unbiased only if its conditional includes the mask.",
            "remark 3 and lemma 2",
            f"gradient at the truth: {max(correct):.2g} with the mask, at least"
            f" {min(naive):.2g} without",
            f"below {EXACT:g} with the mask, above 1e-3 without it, on every model",
            max(correct) < EXACT and min(naive) > 1e-3,
        ),
    ]


def _order_claim(cases: list[Case]) -> Claim:
    smallest, defect = np.inf, 0.0
    for case in cases:
        n = case.family.spins
        hessians = [
            hessian_by_mask(case.family, uniform_masks(n, k)).sum(axis=0) for k in range(1, n + 1)
        ]
        steps = [np.linalg.eigvalsh(b - a)[0] for a, b in itertools.pairwise(hessians)]
        smallest = min(smallest, *steps)
        fisher = information(case.family, uniform_masks(n, n)).fisher
        defect = max(defect, np.abs(hessians[-1] - fisher).max())
    return Claim(
        "covariance_order",
        "2.2.1, theorem 2, appendix B",
        "The asymptotic covariance falls with k in the positive-semidefinite order.",
        "theorem 2",
        f"smallest eigenvalue of H at k+1 minus H at k: {smallest:.2g}; at k = N the Hessian"
        f" is the Fisher information to {defect:.2g}",
        f"no eigenvalue below -{EXACT:g}, and equality with Fisher's below {EXACT:g}",
        smallest > -EXACT and defect < EXACT,
    )


def _dynamics_claims(cases: list[Case], rng: np.random.Generator) -> list[Claim]:
    dirichlet = stationary = reversible = lowest = contraction = 0.0
    tightest = 1.0
    for case in cases:
        law = case.law
        f, g = rng.standard_normal((2, law.size))
        for masks in case.masks.values():
            kernel = dynamics.block_kernel(law, masks)
            form = dynamics.dirichlet_form(law, kernel, f, g)
            conditional = dynamics.block_dirichlet_form(law, masks, f, g)
            dirichlet = max(dirichlet, abs(form - conditional))
            stationary = max(stationary, dynamics.stationarity_defect(law, kernel))
            reversible = max(reversible, dynamics.reversibility_defect(law, kernel))
            lowest = min(lowest, dynamics.spectrum(law, kernel)[0][-1])
            rate = (1 - 1 / dynamics.poincare_constant(law, kernel)) ** 2
            slowest = dynamics.spectrum(law, kernel)[1][:, 1]
            slow_start = law * (1 + slowest / (2 * np.abs(slowest).max()))
            ratios = []
            for start in (rng.dirichlet(np.ones(law.size)), slow_start):
                before = float(np.sum((start - law) ** 2 / law))
                after = float(np.sum((start @ kernel - law) ** 2 / law))
                ratios.append(after / (rate * before))
            contraction = max(contraction, *ratios)
            # From the slowest eigenfunction the bound is met with equality, by every kernel.
            tightest = min(tightest, ratios[-1])
    return [
        Claim(
            "dirichlet_form",
            "2.2.2, 2.2.3, C.3",
            "The Dirichlet form of (adaptive) weighted block dynamics is the mean conditional"
            " covariance E Cov(f, g | x_-S, S), for functions of x.",
            "proposition C.3",
            f"largest difference from the definition {dirichlet:.2g}",
            f"below {EXACT:g} for random f and g, fixed and adaptive masks",
            dirichlet < EXACT,
        ),
        Claim(
            "stationary_law",
            "2.2.2, 2.2.3",
            "The model's law is stationary under (adaptive) weighted block dynamics.",
            "definitions 6 and 8",
            f"stationarity defect {stationary:.2g}, detailed balance on x {reversible:.2g},"
            f" smallest eigenvalue {lowest:.2g}",
            f"both defects below {EXACT:g}, no eigenvalue below -{EXACT:g}",
            max(stationary, reversible) < EXACT and lowest > -EXACT,
        ),
        Claim(
            "poincare_contraction",
            "2.2.2, definition 5",
            "With Poincare constant C one step contracts chi-square by (1 - 1/C)^2 at least.",
            "exponential ergodicity in chi-square",
            f"largest ratio of observed to allowed chi-square after a step: {contraction:.3f}",
            "at most 1 from random starts, and 1 from the slowest eigenfunction",
            contraction <= 1 + EXACT and tightest >= 1 - EXACT,
        ),
    ]


def _relative_variances(family: Family, masks: Masks) -> tuple[float, float]:
    """Smallest and largest variance relative to maximum likelihood's, over directions.

    The eigenvalues lose as many digits as the Fisher information has between its own largest and
    smallest. So each is computed again along its eigenvector, in the family of that one parameter,
    whose matrices are sums of squares.
    """
    matrices = information(family, masks)
    root = np.linalg.cholesky(matrices.fisher)
    covariance = np.linalg.inv(matrices.hessian)
    directions = covariance @ root @ np.linalg.eigh(root.T @ covariance @ root)[1]
    base = family.base + family.statistics @ family.truth
    along = (
        information(Family(family.statistics @ directions[:, [end]], base, np.zeros(1)), masks)
        for end in (0, -1)
    )
    smallest, largest = (float(line.fisher.item() / line.hessian.item()) for line in along)
    return smallest, largest


def _variance_claims(cases: list[Case]) -> list[Claim]:
    claims = []
    for kind, section in (("fixed", "2.2.2, theorem 6"), ("adaptive", "2.2.3, theorem 8")):
        smallest, tightness, excess = np.inf, [], -np.inf
        for case in cases:
            masks = case.masks[kind]
            least, most = _relative_variances(case.family, masks)
            constant = case.poincare(masks)
            smallest = min(smallest, least)
            tightness.append(most / constant)
            excess = max(excess, most - constant)
        claims.append(
            Claim(
                f"variance_bound.{kind}",
                section,
                "The asymptotic covariance is at most the Poincare constant times the inverse"
                f" Fisher information, for {kind} masks.",
                section,
                f"largest relative variance over the constant: {min(tightness):.5f} to"
                f" {max(tightness):.5f} (1 is tight); smallest relative variance {smallest:.6f}",
                f"relative variances between 1 and the constant, to {EXACT:g}",
                excess <= EXACT and smallest >= 1 - 1e-9,
            )
        )
    return claims


def _tight_claim() -> Claim:
    """The score of one shared field is a slowest eigenfunction of two coupled spins."""
    model = ising_on_graph(2, path_edges(2), 0.5, 0.0)
    masks = uniform_masks(2, 1)
    matrices = information(ising_family(model, "tied_field"), masks)
    relative = float(relative_eigenvalues(matrices.asymptotic(), matrices.fisher)[-1])
    law = exact_law(model)
    constant = dynamics.poincare_constant(law, dynamics.block_kernel(law, masks))
    closed = 2 / (1 - np.tanh(0.5))
    return Claim(
        "variance_bound.tight",
        "2.2.2, theorem 6",
        "Two spins with coupling 0.5 and one shared field attain the variance bound.",
        "not discussed",
        f"relative variance {relative:.6f}, Poincare constant {constant:.6f},"
        f" 2 / (1 - tanh J) = {closed:.6f}",
        f"all three agree to {EXACT:g}",
        abs(relative - constant) < EXACT and abs(constant - closed) < EXACT,
        "two spins, J = 0.5, h = 0",
    )


def _dependence_claim() -> Claim:
    """What theorems 4 and 6 and the mixing of Gibbs sampling owe to the coupling."""
    masks = uniform_masks(4, 1)
    columns: dict[str, list[float]] = {
        "Poincare constant": [],
        "worst relative variance": [],
        "proven bound of C_AT": [],
    }
    for coupling in RISING_COUPLINGS:
        model = ising_on_graph(4, complete_edges(4), coupling, 0.1)
        law = exact_law(model)
        values = (
            dynamics.poincare_constant(law, dynamics.block_kernel(law, masks)),
            _relative_variances(ising_family(model), masks)[1],
            tensorisation_upper_bound(law, masks),
        )
        for column, value in zip(columns.values(), values, strict=True):
            column.append(value)
    measured = (
        f"{name} {', '.join(f'{value:.3g}' for value in column)}"
        for name, column in columns.items()
    )
    return Claim(
        "stronger_dependence",
        "3.4; slides, theorem 3",
        "Stronger dependence slows Gibbs sampling, costs the estimator efficiency, and loosens the"
        " guarantee of theorem 4.",
        "worse generalization guarantee and sampling efficiency",
        "; ".join(measured),
        "all three rise with every J",
        all(bool(np.all(np.diff(column) > 0)) for column in columns.values()),
        "complete graph of 4 spins, k = 1, h = 0.1, J = "
        + ", ".join(f"{coupling:g}" for coupling in RISING_COUPLINGS),
    )


def _gap_claim(cases: list[Case], settings: Identities, rng: np.random.Generator) -> Claim:
    n = settings.spins
    laws = [case.law for case in cases]
    laws += [rng.dirichlet(np.full(2**n, 0.7)) + 1e-4 for _ in cases]
    ratio, slack = np.inf, np.inf
    for law in laws:
        law = law / law.sum()
        single, *gaps = (
            dynamics.spectral_gap(law, dynamics.block_kernel(law, uniform_masks(n, k)))
            for k in range(1, n + 1)
        )
        for k, gap in enumerate(gaps, 2):
            ratio = min(ratio, gap / (k * single))
            slack = min(slack, gap - dynamics.block_gap_bound(n, k, single))
    return Claim(
        "k_gibbs_gap",
        "2.4 (Lee 2023)",
        "The Poincare constant of k-Gibbs is at most that of 1-Gibbs over k.",
        "a factor of at least k",
        f"smallest gap_k / (k gap_1) {ratio:.4f}; smallest excess over the sharper product bound"
        f" {slack:.2g}",
        "gap_k / (k gap_1) at least 1 and gap_k at least the product bound, k = 2..N",
        ratio >= 1 - EXACT and slack > -EXACT,
        f"{_dataset(settings)}; and as many laws drawn from a Dirichlet distribution",
    )


def _convexity_claim(cases: list[Case], rng: np.random.Generator) -> Claim:
    smallest = np.inf
    for case in cases:
        for masks in case.masks.values():
            loss = MaskedLoss(case.family, masks, draw_counts(rng, case.law, masks, 200, 4))
            hessian = loss.derivatives(rng.normal(0, 1.5, (4, case.family.parameters)))[2]
            smallest = min(smallest, np.linalg.eigvalsh(hessian).min())
    return Claim(
        "convexity",
        "2.1, appendix K",
        "The masked loss of an Ising model is convex in its parameters, also for adaptive masks.",
        "proposition in appendix K",
        f"smallest eigenvalue of the Hessian {smallest:.2g} at random parameters and data",
        f"no eigenvalue below -{EXACT:g}",
        smallest > -EXACT,
    )
