"""A paid teacher's settings in the words of the ledger."""

from padir.config.teacher import CloudTeacher
from padir.distill.ledger import Limits
from padir.distill.ledger_reader import Task

PROVIDER = "cloud-translation-v3"
TEST_PROVIDER = "loopback"


def task_of(teacher: CloudTeacher, source: str, target: str) -> Task:
    """A teacher's work on a direction; a test server's never counts as the service's."""
    provider = TEST_PROVIDER if teacher.endpoint else PROVIDER
    return Task(provider, teacher.model, source, target)


def limits_of(teacher: CloudTeacher) -> Limits:
    """A teacher's limits; without one in dollars nothing may be spent."""
    return Limits(teacher.max_usd or 0.0, teacher.usd_per_million, teacher.characters_per_minute)
