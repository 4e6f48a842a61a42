"""Scores of finished text: BLEU, chrF, stutter, and how sure they are. Never sees a model."""
