"""OpenAPI document of the API of `padir serve`."""

from typing import Any

from padir.config.decoder import MOST_PASSES


def document(decoders: list[str], most_lines: int, most_traced: int) -> dict[str, Any]:
    """The OpenAPI 3.1 document.

    Args:
        decoders: names that a request may give, the default first.
        most_lines, most_traced: of a request, without and with `trace`.
    """
    traced = f"Each pass over at most {most_traced} lines; not with nbest."
    request = {
        **_value("object", "One of lines and text is needed.", additionalProperties=False),
        "properties": {
            "lines": _texts("One sentence each.", maxItems=most_lines),
            "text": _value("string", "One sentence a line."),
            "steps": _value(
                "integer", "Decoder passes of a parallel model.", minimum=1, maximum=MOST_PASSES
            ),
            "decoder": {"type": "string", "enum": decoders, "default": decoders[0]},
            "nbest": _value("integer", "Most candidates of a line.", minimum=1),
            "trace": _value("boolean", traced),
        },
    }
    translation = {
        **_value("object", required=["id", "source", "translation", "candidates"]),
        "properties": {
            "id": _value("integer", "Number of the line, from 0."),
            "source": _value("string"),
            "translation": _value("string"),
            "passes": _value("integer"),
            "log_probability": {"type": ["number", "null"]},
            "candidates": _value("array", "Best first.", items=_value("object")),
        },
    }
    instead = "Instead of translations, where trace is true."
    answer = {
        **_value("object", required=["warnings"]),
        "properties": {
            "translations": {"type": "array", "items": translation},
            "traces": _value("array", instead, items=_value("object")),
            "warnings": _texts(
                "One for each input line that was cut, one for lines longer than in training, and"
                " one for text that the vocabulary cannot spell."
            ),
        },
    }
    error = {
        **_value("object", required=["error"]),
        "properties": {"error": _value("string", "What is allowed, in one line.")},
    }
    named = ["status", "direction", "system", "training"]
    health = {
        **_value("object", required=[*named, "decoders"]),
        "properties": {**dict.fromkeys(named, _value("string")), "decoders": _texts()},
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


def _value(kind: str, description: str = "", **more: Any) -> dict[str, Any]:
    return {"type": kind, **({"description": description} if description else {}), **more}


def _texts(description: str = "", **more: Any) -> dict[str, Any]:
    return _value("array", description, items=_value("string"), **more)


def _content(schema: dict[str, Any]) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}}


def _body(text: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": text, **_content(schema)}
