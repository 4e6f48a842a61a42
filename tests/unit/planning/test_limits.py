"""What a config asks of its text and machine, and what `padir init` proposes, at the limits."""

import pytest

from padir.config.training import TrainingRun
from padir.planning import fit


@pytest.mark.parametrize(("pairs", "holds"), [(10, 31), (100, 39), (150, 44)])
def test_the_length_named_holds_99_percent_of_the_pairs(pairs, holds):
    # One pair of ten is longer than the bucket, each by one more.
    longer = pairs // 10
    lengths = [9] * (pairs - longer) + [31 + number for number in range(longer)]
    run = TrainingRun(training={"buckets": [16]})
    [warning] = fit._check_buckets("ar", run, fit.Lengths(lengths))
    assert sum(length <= holds for length in lengths) >= 0.99 * pairs
    assert warning.endswith(f"99% have at most {holds}")
