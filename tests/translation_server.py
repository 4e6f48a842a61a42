"""The Cloud Translation API v3 on this machine: speaks its protocol, fails as told, keeps a bill.

Stands in for the service behind the real client. What it bills is written down here and nowhere
else, so that a test can compare it with what the ledger says.
"""

import html
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import grpc
from google.cloud.translate_v3.types import TranslateTextRequest, TranslateTextResponse

SERVICE = "google.cloud.translation.v3.TranslationService"
REQUEST_LINES, REQUEST_CHARACTERS = 1024, 30_000


@dataclass(frozen=True)
class Behaviour:
    """What the server does with one call.

    Attributes:
        bill: translate and bill, also where the answer then is an error.
        status: the error to answer with; None: the translations.
        message: of the error.
        wait: seconds before the answer, after billing.
        drop: cut the connection after billing, before the answer.
        spoil: what becomes of the translations.
    """

    bill: bool = True
    status: grpc.StatusCode | None = None
    message: str = "told to fail"
    wait: float = 0.0
    drop: bool = False
    spoil: Callable[[list[str]], list[str]] = list


GOOD = Behaviour()
QUOTA = Behaviour(
    bill=False,
    status=grpc.StatusCode.RESOURCE_EXHAUSTED,
    message="Quota exceeded for quota metric 'v2 and v3 general model characters' and limit"
    " 'v2 and v3 general model characters per minute' of service 'translate.googleapis.com'",
)
RATE_403 = Behaviour(
    bill=False, status=grpc.StatusCode.PERMISSION_DENIED, message="User Rate Limit Exceeded"
)
DAILY_403 = Behaviour(
    bill=False, status=grpc.StatusCode.PERMISSION_DENIED, message="Daily Limit Exceeded"
)
FORBIDDEN = Behaviour(
    bill=False,
    status=grpc.StatusCode.PERMISSION_DENIED,
    message="Cloud Translation API has not been used in project wrong before or it is disabled.",
)
DOWN = Behaviour(bill=False, status=grpc.StatusCode.UNAVAILABLE, message="try again")
ERROR_AFTER = Behaviour(status=grpc.StatusCode.INTERNAL, message="lost on the way")
TIMEOUT_AFTER = Behaviour(status=grpc.StatusCode.DEADLINE_EXCEEDED, message="too late")
DROP_AFTER = Behaviour(drop=True)
ONE_SHORT = Behaviour(spoil=lambda texts: texts[:-1])


def translation(text: str) -> str:
    """What the server makes of a text."""
    return f"<{text}> & more"


@dataclass
class TranslationServer:
    """A running server; use as a context manager.

    Attributes:
        script: gives the behaviour of the n-th call, from 0, on these texts.
        translate: text, source and target language to translation.
        invalid: texts that are refused as arguments.
        received: the texts of each call, in order of arrival.
        billed: how often each text was billed.
        parents: projects and locations that were asked for.
        arrived: called with the number of a call when it has arrived, before it is answered.
    """

    script: Callable[[int, Sequence[str]], Behaviour] = lambda number, texts: GOOD
    translate: Callable[[str, str, str], str] = lambda text, source, target: translation(text)
    invalid: set[str] = field(default_factory=set)
    arrived: Callable[[int], None] = lambda number: None
    received: list[list[str]] = field(default_factory=list)
    billed: Counter[str] = field(default_factory=Counter)
    parents: set[str] = field(default_factory=set)
    port: int = 0

    def __post_init__(self) -> None:
        self._lock, self._restart = threading.Lock(), threading.Lock()

    @property
    def endpoint(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def billed_characters(self) -> int:
        return sum(len(text) * times for text, times in self.billed.items())

    def __enter__(self) -> "TranslationServer":
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop(grace=None).wait()

    def _start(self) -> None:
        self._server = grpc.server(ThreadPoolExecutor(64))
        handler = grpc.unary_unary_rpc_method_handler(
            self._answer,
            request_deserializer=TranslateTextRequest.deserialize,
            response_serializer=TranslateTextResponse.serialize,
        )
        methods = {"TranslateText": handler}
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(SERVICE, methods),)
        )
        self.port = self._server.add_insecure_port(self.endpoint)
        self._server.start()

    def _answer(
        self, request: TranslateTextRequest, context: grpc.ServicerContext
    ) -> TranslateTextResponse:
        texts = list(request.contents)
        with self._lock:
            number = len(self.received)
            self.received.append(texts)
            self.parents.add(request.parent)
        self._check(request, texts, context)
        behaviour = self.script(number, texts)
        if behaviour.bill:
            with self._lock:
                self.billed.update(texts)
        self.arrived(number)
        if behaviour.drop:
            # One after the other: two calls may be dropped at once.
            with self._restart:
                self._server.stop(grace=None)
                self._start()
        if behaviour.wait:
            threading.Event().wait(behaviour.wait)
        if behaviour.status is not None:
            context.abort(behaviour.status, behaviour.message)
        languages = request.source_language_code, request.target_language_code
        translations = [self.translate(text, *languages) for text in texts]
        if request.mime_type != "text/plain":
            translations = [html.escape(text) for text in translations]
        return TranslateTextResponse(
            translations=[{"translated_text": text} for text in behaviour.spoil(translations)]
        )

    def _check(
        self, request: TranslateTextRequest, texts: list[str], context: grpc.ServicerContext
    ) -> None:
        """Refuse what the service refuses."""
        wrong = None
        if not texts or len(texts) > REQUEST_LINES or not all(texts):
            wrong = f"{len(texts)} strings, or an empty one"
        elif sum(map(len, texts)) > REQUEST_CHARACTERS:
            wrong = "Text is too long."
        elif request.model != f"{request.parent}/models/general/nmt":
            wrong = f"Invalid model {request.model}"
        elif "qq" in (request.source_language_code, request.target_language_code):
            wrong = "Source language is invalid."
        elif self.invalid & set(texts):
            wrong = "Invalid text."
        if wrong is not None:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, wrong)
