"""The page of `padir serve`: a form for text, and the refinement viewer for its translation."""

from typing import Any

import jinja2

from padir.config.decoder import MOST_PASSES
from padir.config.rows import DEFAULT_PASSES
from padir.library import Model


def page(model: Model, decoders: list[str], **limits: Any) -> bytes:
    """The page, with styles and scripts inside.

    Args:
        model: that translates.
        decoders: to choose from, the default first.
        limits: that the page names, `most_lines` and `most_traced`.
    """
    templates = jinja2.Environment(
        # The viewer and its styles are the report's.
        loader=jinja2.ChoiceLoader(
            [jinja2.PackageLoader("padir.server"), jinja2.PackageLoader("padir.report")]
        ),
        autoescape=True,
        trim_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    text = templates.get_template("translate.html").render(
        model=model.loaded.labels,
        parallel=model.parallel,
        decoders=decoders,
        passes=DEFAULT_PASSES,
        most_passes=MOST_PASSES,
        viewer="",
        **limits,
    )
    return text.encode()
