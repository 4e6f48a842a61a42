"""Hypotheses from trained models: parallel refinement, greedy and beam search. Paper: 3.2, L.1."""
