"""Theory of the paper on Ising models that are small enough for exact computation.

Sections 2.1 to 2.4, 3.1, L.6, L.7 and appendices A to K. docs/theory.md maps each statement
to its function and its test. Knows nothing of translation.
"""
