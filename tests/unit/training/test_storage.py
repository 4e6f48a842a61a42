"""Which errors of a restore mean damage, and what is said of them."""

import pytest

from padir.files import InputError
from padir.training.storage import RestoreFailure


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        # Orbax raises `Exception` itself for an array that was cut short.
        (Exception("\n cut short\nat many places"), "cut short"),
        (ValueError(), "ValueError"),
        (KeyError("w"), "'w'"),
        (TypeError("of another kind"), "of another kind"),
        (FileNotFoundError("x" * 300), "x" * 200),
    ],
)
def test_what_damage_raises_is_a_reason_of_one_line(error, reason: str) -> None:
    with RestoreFailure() as failure:
        raise error
    assert failure.reason == reason


@pytest.mark.parametrize("error", [InputError, RuntimeError, MemoryError, KeyboardInterrupt])
def test_other_errors_are_raised(error) -> None:
    with pytest.raises(error, match="of its own"), RestoreFailure():
        raise error("of its own")


def test_a_restore_that_succeeds_has_no_reason() -> None:
    with RestoreFailure() as failure:
        pass
    assert failure.reason == ""
