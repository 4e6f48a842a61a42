"""Calls of the Cloud Translation API v3, with a classification of its errors.

Credentials are Application Default Credentials and go into the client only. An `endpoint` in the
settings is a test server on this machine: no credentials, no encryption, and its own provider name
in the ledger.
"""

import re
from collections.abc import Sequence
from enum import Enum
from typing import Protocol, runtime_checkable

import google.auth
import google.auth.exceptions
import google.auth.transport.requests
import grpc
from google.api_core import exceptions
from google.cloud import translate_v3
from google.cloud.translate_v3.services.translation_service import transports

from padir.config.teacher import CloudTeacher
from padir.distill.ledger_reader import Task
from padir.files import InputError, shown

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
CALL_SECONDS = 120.0


class Failure(Enum):
    """Classification of a failed call."""

    QUOTA = "over the quota of a minute: not billed, later it works"
    DAILY = "over the quota of a day: not billed"
    ARGUMENT = "something in the request is refused: not billed"
    UNSENT = "never left this machine: not billed"
    FATAL = "refused for a reason that waiting does not fix: not billed"
    DOUBT = "perhaps done and billed, the answer is lost"
    ANSWER = "done and billed, the answer cannot be used"


class CallError(Exception):
    """A failed call; `reason` is the service's message in one line."""

    def __init__(self, failure: Failure, reason: str):
        super().__init__(reason)
        self.failure, self.reason = failure, shown(" ".join(reason.split()))


@runtime_checkable
class Service(Protocol):
    """Translates lists of texts."""

    def translate(self, texts: Sequence[str]) -> list[str]:
        """One translation per text, in order. Raises CallError."""
        ...


# gRPC has one status for "no connection" and "the connection broke"; only its message tells a
# request that was never sent.
_UNSENT = re.compile(
    r"failed to connect to all addresses|DNS resolution failed|name resolution"
    r"|metadata from plugin failed",
    re.IGNORECASE,
)
_DAILY = re.compile(r"daily limit|per day|1/d/", re.IGNORECASE)
_RATE = re.compile(r"rate limit|per minute|quota exceeded|RATE_LIMIT_EXCEEDED", re.IGNORECASE)
_NOT_BILLED = (
    exceptions.Unauthorized,
    exceptions.Forbidden,
    exceptions.NotFound,
    exceptions.BadRequest,
    exceptions.MethodNotImplemented,
)


def failure_of(error: exceptions.GoogleAPICallError) -> Failure:
    """Classify an error of the client.

    Over quota the service answers 403 with "User Rate Limit Exceeded" or "Daily Limit Exceeded"
    (page "Quotas and limits"), or RESOURCE_EXHAUSTED with the name of the quota.
    """
    text = f"{error.message} {error.reason or ''} {error.metadata or ''}"
    if isinstance(error, exceptions.TooManyRequests | exceptions.Forbidden):
        if _DAILY.search(text):
            return Failure.DAILY
        if isinstance(error, exceptions.TooManyRequests) or _RATE.search(text):
            return Failure.QUOTA
    if isinstance(error, exceptions.ServiceUnavailable) and _UNSENT.search(text):
        return Failure.UNSENT
    if isinstance(error, exceptions.InvalidArgument):
        return Failure.ARGUMENT
    return Failure.FATAL if isinstance(error, _NOT_BILLED) else Failure.DOUBT


class CloudTranslation:
    """The service behind a client.

    Args:
        client: of the API.
        parent: `projects/PROJECT/locations/LOCATION`.
        task: model and languages.
    """

    def __init__(self, client: translate_v3.TranslationServiceClient, parent: str, task: Task):
        self._client, self._parent, self._task = client, parent, task

    def translate(self, texts: Sequence[str]) -> list[str]:
        """See `Service`; the caller retries, since each attempt must stand in the ledger."""
        request = translate_v3.TranslateTextRequest(
            parent=self._parent,
            contents=texts,
            mime_type="text/plain",
            model=f"{self._parent}/models/{self._task.model}",
            source_language_code=self._task.source,
            target_language_code=self._task.target,
        )
        try:
            answer = self._client.translate_text(request, retry=None, timeout=CALL_SECONDS)
        except exceptions.GoogleAPICallError as error:
            name = error.grpc_status_code.name if error.grpc_status_code else type(error).__name__
            raise CallError(failure_of(error), f"{name}: {error.message}") from error
        except google.auth.exceptions.GoogleAuthError as error:
            raise CallError(Failure.FATAL, f"credentials: {error.args[0]}") from error
        translations = [item.translated_text for item in answer.translations]
        if len(translations) != len(texts):
            reason = f"{len(translations)} translations came back for {len(texts)} lines"
            raise CallError(Failure.ANSWER, reason)
        return translations


def connect(teacher: CloudTeacher, task: Task) -> CloudTranslation:
    """A client with the environment's credentials, or of the test server.

    Raises:
        InputError: no usable credentials, or no project.
    """
    if teacher.endpoint:
        # No proxy: it would carry the text off this machine.
        channel = grpc.insecure_channel(teacher.endpoint, [("grpc.enable_http_proxy", 0)])
        transport = transports.TranslationServiceGrpcTransport(channel=channel)
        client = translate_v3.TranslationServiceClient(transport=transport)
        return CloudTranslation(client, _parent(teacher, teacher.project or "test"), task)
    try:
        credentials, default_project = google.auth.default(scopes=[SCOPE])
        try:
            # In the first call a refusal would look like a service that is out of order.
            credentials.refresh(google.auth.transport.requests.Request())
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            # What answers may be a proxy or a sign-in page; its text may hold anything.
            raise _no_token(type(error).__name__) from error
    except InputError:
        raise
    except google.auth.exceptions.TransportError as error:
        raise _no_token("it cannot be reached") from error
    except google.auth.exceptions.GoogleAuthError as error:
        reason = str(error.args[0] if error.args else type(error).__name__)
        if re.search(r"<(!doctype|html|head|body)\b", reason, re.IGNORECASE):
            raise _no_token("a web page") from error
        raise _no_credentials(reason) from error
    except OSError as error:
        name = shown(str(error.filename or "their file"))
        raise _no_credentials(f"{name}: {error.strerror or error}") from error
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        # A file with other content; the library's message may quote it.
        kind = type(error).__name__
        raise _no_credentials(f"their file holds something else ({kind})") from error
    project = teacher.project or default_project
    if not project:
        raise InputError(
            "no Google Cloud project: the credentials name none; set the teacher's project"
        )
    client = translate_v3.TranslationServiceClient(credentials=credentials)
    return CloudTranslation(client, _parent(teacher, project), task)


def _no_token(reason: str) -> InputError:
    return InputError(
        "Application Default Credentials: what answers for the token endpoint sends no token"
        f" ({reason}): look for a proxy or a sign-in page between this machine and it, then run the"
        " same command"
    )


def _no_credentials(reason: object) -> InputError:
    return InputError(
        f"no usable Application Default Credentials: {' '.join(str(reason).split())} (gcloud auth"
        " application-default login, or a service account's GOOGLE_APPLICATION_CREDENTIALS)"
    )


def _parent(teacher: CloudTeacher, project: str) -> str:
    return f"projects/{project}/locations/{teacher.location}"
