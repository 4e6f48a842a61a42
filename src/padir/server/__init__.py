"""A model behind HTTP: an API and a page, from the standard library alone."""
