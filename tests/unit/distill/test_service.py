"""Errors of the client by what they cost, and what a request and the client are made with."""

from types import SimpleNamespace

import pytest
from google.api_core import exceptions
from google.cloud.translate_v3 import TranslationServiceClient
from google.rpc.error_details_pb2 import ErrorInfo

from padir.config.teacher import CloudTeacher
from padir.distill import service
from padir.distill.ledger_reader import Task
from padir.distill.service import CallError, CloudTranslation, Failure, connect, failure_of
from padir.files import InputError
from tests.translation_server import TranslationServer, translation

TASK = Task.of(CloudTeacher(), "de", "en")


def told(kind, message="Quota exceeded.", **details):
    """An error with details, as the service sends them."""
    return kind(message, error_info=ErrorInfo(**details))


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (exceptions.ResourceExhausted("Resource has been exhausted"), Failure.QUOTA),
        (exceptions.TooManyRequests("slow down"), Failure.QUOTA),
        (exceptions.ResourceExhausted("limit 'characters per day'"), Failure.DAILY),
        (exceptions.PermissionDenied("The caller does not have permission"), Failure.FATAL),
        (exceptions.Unauthenticated("invalid credentials"), Failure.FATAL),
        (exceptions.NotFound("no such project"), Failure.FATAL),
        (exceptions.FailedPrecondition("billing is disabled"), Failure.FATAL),
        (exceptions.ServiceUnavailable("Socket closed"), Failure.DOUBT),
        (exceptions.ServiceUnavailable("failed to connect to all addresses"), Failure.UNSENT),
        (exceptions.ServiceUnavailable("Getting metadata from plugin failed"), Failure.UNSENT),
        (exceptions.InternalServerError("oops"), Failure.DOUBT),
        (exceptions.PermissionDenied("User Rate Limit Exceeded"), Failure.QUOTA),
        (exceptions.PermissionDenied("Quota exceeded for quota metric 'x'"), Failure.QUOTA),
        (exceptions.PermissionDenied("more characters than allowed per minute"), Failure.QUOTA),
        (told(exceptions.PermissionDenied, "no", reason="RATE_LIMIT_EXCEEDED"), Failure.QUOTA),
        (told(exceptions.PermissionDenied, "no", reason="SERVICE_DISABLED"), Failure.FATAL),
        (
            told(exceptions.ResourceExhausted, metadata={"quota_unit": "1/d/{project}"}),
            Failure.DAILY,
        ),
        (
            told(exceptions.ResourceExhausted, metadata={"quota_unit": "1/min/{project}"}),
            Failure.QUOTA,
        ),
        (exceptions.ServiceUnavailable("DNS resolution failed for service: x"), Failure.UNSENT),
        (exceptions.ServiceUnavailable("Temporary failure in name resolution"), Failure.UNSENT),
        # What an answer says was not said before it was sent.
        (exceptions.InternalServerError("DNS resolution failed for service: x"), Failure.DOUBT),
        (exceptions.MethodNotImplemented("no such method"), Failure.FATAL),
        (exceptions.InvalidArgument("Invalid text."), Failure.ARGUMENT),
        (exceptions.OutOfRange("too far"), Failure.FATAL),
        (exceptions.DataLoss("gone"), Failure.DOUBT),
    ],
)
def test_errors_are_classified_by_kind_message_and_details(error, failure):
    assert failure_of(error) is failure


class Client(TranslationServiceClient):
    """Keeps what it is asked for; answers or fails as told."""

    def __init__(self, error=None, **given):
        self.error, self.given = error, given

    def translate_text(self, request, retry, timeout):
        self.request, self.retry, self.timeout = request, retry, timeout
        if self.error is not None:
            raise self.error
        return SimpleNamespace(translations=[SimpleNamespace(translated_text="one")])


@pytest.fixture
def credentials(monkeypatch):
    """Credentials of a project of their own, and a client that is connected to nothing."""
    given = SimpleNamespace(refresh=lambda request: None, scopes=None)

    def default(scopes):
        given.scopes = scopes
        return given, "theirs"

    monkeypatch.setattr(service.google.auth, "default", default)
    monkeypatch.setattr(service.translate_v3, "TranslationServiceClient", Client)
    return given


@pytest.mark.parametrize(
    ("settings", "parent"),
    [
        ({}, "projects/theirs/locations/global"),
        (
            {"project": "mine", "location": "europe-west1"},
            "projects/mine/locations/europe-west1",
        ),
    ],
)
def test_a_request_names_its_project_and_is_made_once(credentials, settings, parent):
    connected = connect(CloudTeacher(**settings), TASK)
    assert connected.translate(["eins"]) == ["one"]
    client = connected._client
    assert client.given == {"credentials": credentials}
    assert credentials.scopes == ["https://www.googleapis.com/auth/cloud-platform"]
    assert client.request.parent == parent
    assert client.request.model == f"{parent}/models/general/nmt"
    # Attempts that the client made by itself would stand in no ledger.
    assert (client.retry, client.timeout) == (None, 120.0)


@pytest.mark.parametrize(
    ("error", "failure", "reason"),
    [
        (
            service.google.auth.exceptions.RefreshError("expired\nor revoked"),
            Failure.FATAL,
            "credentials: expired or revoked",
        ),
        (
            exceptions.ServiceUnavailable("Socket\r\n  closed"),
            Failure.DOUBT,
            "UNAVAILABLE: Socket closed",
        ),
        (exceptions.Conflict("twice"), Failure.DOUBT, "Conflict: twice"),
    ],
)
def test_a_failed_call_says_why_in_one_line(error, failure, reason):
    with pytest.raises(CallError) as failed:
        CloudTranslation(Client(error), "projects/p/locations/global", TASK).translate(["eins"])
    assert failed.value.failure is failure
    assert failed.value.reason == reason


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            service.google.auth.exceptions.TransportError("Max retries exceeded"),
            r"sends no token \(it cannot be reached\)",
        ),
        (OSError("broken"), r"Application Default Credentials: their file: broken \("),
    ],
)
def test_credentials_that_cannot_be_had_say_where_it_ends(credentials, error, message):
    def refresh(request):
        raise error

    credentials.refresh = refresh
    with pytest.raises(InputError, match=message):
        connect(CloudTeacher(), TASK)


def test_text_for_the_test_server_passes_no_proxy(monkeypatch):
    for name in ("grpc_proxy", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("no_grpc_proxy", raising=False)
    with TranslationServer() as server:
        teacher = CloudTeacher(endpoint=server.endpoint)
        connected = connect(teacher, Task.of(teacher, "de", "en"))
        assert connected.translate(["eins"]) == [translation("eins")]
