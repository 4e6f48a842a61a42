"""Tables, figures, claims and the HTML page, from finished results. Computes no science."""
