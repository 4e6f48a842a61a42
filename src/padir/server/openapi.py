"""OpenAPI document of the API of `padir serve`."""

from typing import Any

from padir.config.decoder import MOST_PASSES

TEXTS = {"type": "array", "items": {"type": "string"}}


def document(decoders: list[str], most_lines: int, most_traced: int) -> dict[str, Any]:
    """The OpenAPI 3.1 document.

    Args:
        decoders: names that a request may give, the default first.
        most_lines, most_traced: of a request, without and with `trace`.
    """
    request = {
        "type": "object",
        "additionalProperties": False,
        "description": "One of lines and text is needed.",
        "properties": {
            "lines": TEXTS | {"maxItems": most_lines, "description": "One sentence each."},
            "text": {"type": "string", "description": "One sentence a line."},
            "steps": {
                "type": "integer",
                "minimum": 1,
                "maximum": MOST_PASSES,
                "description": "Decoder passes of a parallel model.",
            },
            "decoder": {"type": "string", "enum": decoders, "default": decoders[0]},
            "nbest": {"type": "integer", "minimum": 1, "description": "Most candidates of a line."},
            "trace": {
                "type": "boolean",
                "description": f"Each pass over at most {most_traced} lines; not with nbest.",
            },
        },
    }
    translation = {
        "type": "object",
        "required": ["id", "source", "translation", "candidates"],
        "properties": {
            "id": {"type": "integer", "description": "Number of the line, from 0."},
            "source": {"type": "string"},
            "translation": {"type": "string"},
            "passes": {"type": "integer"},
            "log_probability": {"type": ["number", "null"]},
            "candidates": {
                "type": "array",
                "items": {"type": "object"},
                "description": "Best first.",
            },
        },
    }
    answer = {
        "type": "object",
        "required": ["warnings"],
        "properties": {
            "translations": {"type": "array", "items": translation},
            "traces": {
                "type": "array",
                "items": {"type": "object"},
                "description": "Instead of translations, where trace is true.",
            },
            "warnings": TEXTS | {"description": "A line for each input line that was cut."},
        },
    }
    error = {
        "type": "object",
        "required": ["error"],
        "properties": {"error": {"type": "string", "description": "What is allowed, in one line."}},
    }
    health = {
        "type": "object",
        "required": ["status", "direction", "system", "training", "decoders"],
        "properties": {
            **{key: {"type": "string"} for key in ("status", "direction", "system", "training")},
            "decoders": TEXTS,
        },
    }
    wrong = {
        "400": "Wrong JSON, key or value.",
        "403": "Another host's name in the Host header.",
        "413": "Too many lines or bytes.",
        "415": "Another content type than application/json.",
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "padir serve", "version": "1"},
        "paths": {
            "/health": {
                "get": {
                    "summary": "What is served",
                    "responses": {"200": _body("The model and its decoders.", health)},
                }
            },
            "/translate": {
                "post": {
                    "summary": "Translate lines",
                    "requestBody": {"required": True, **_content(request)},
                    "responses": {
                        "200": _body("Translations or traces, in order.", answer),
                        **{status: _body(text, error) for status, text in wrong.items()},
                    },
                }
            },
        },
    }


def _content(schema: dict[str, Any]) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}}


def _body(text: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": text, **_content(schema)}
