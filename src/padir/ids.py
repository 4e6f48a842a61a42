"""Token ids that every vocabulary, model, training and decoding shares."""

PAD, EOS, UNK = 0, 1, 2
START = 3
"""First decoder input of AR models."""
LENGTH = 4
"""Source token whose encoding predicts the target length."""
MASK = 5
"""A hidden target position, for models that start from masks."""
FIRST_PIECE = 8
"""Ids from here on are pieces of text; 6 and 7 are reserved."""
