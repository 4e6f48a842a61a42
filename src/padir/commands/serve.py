"""Serve a model: a page for live input, and a small HTTP API.

In: a model bundle. Out: `GET /` a page, `GET /health` what is served, `POST /translate` JSON. Other
machines cannot reach it unless --host says so; it has no accounts and no encryption.

examples:
  padir serve --model bundle
  padir serve --model bundle --port 0
  curl -H 'Content-Type: application/json' -d '{"lines": ["Ein Hund."]}' 127.0.0.1:8642/translate
"""

from padir.commands.arguments import needed, option, read_arguments, threads
from padir.launch import prepare

OPTIONS = (
    needed("--model BUNDLE", "folder of the model bundle"),
    option("--host HOST", "address to listen on", default="127.0.0.1"),
    option("--port N", "port to listen on; 0: any free one", default=8642, least=0, most=65_535),
    threads(),
)


def main(argv: list[str]) -> int:
    """Load, listen, answer until interrupted."""
    arguments = read_arguments("serve", __doc__, OPTIONS, argv)
    prepare(arguments.threads)
    from padir.decode.load import load
    from padir.library import Model
    from padir.server.api import Server

    with Server(Model(load(arguments.model)), arguments.host, arguments.port) as server:
        print(f"{server.url} (Ctrl-C ends)", flush=True)
        server.serve_forever()
    return 0
