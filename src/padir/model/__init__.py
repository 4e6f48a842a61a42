"""The T5-style encoder-decoder shared by every system. Paper: sections 3.2, L.1, L.2."""
