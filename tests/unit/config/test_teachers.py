"""Which settings of a cloud teacher count for what is trained on its translations."""

from padir.config.identity import training_digests
from padir.config.read import check_config
from tests.unit.config.small import changed


def test_money_and_speed_train_nothing_anew_and_another_teacher_does():
    def trained(**settings):
        given = changed("teachers", {"ar": {"kind": "cloud", **settings}})
        return training_digests(check_config(given), "real", "de-en", "padir")["training"]

    free = {"max_usd": 5, "ledger": "x.sqlite", "concurrency": 1, "project": "p"}
    free["refused"] = "leave_empty"
    assert trained() == trained(**free)
    assert trained() != trained(endpoint="127.0.0.1:80")
    other = changed("teachers", {"ar": {"kind": "files", "train": "t", "valid": "v"}})
    other["datasets"] = {"real": other["datasets"]["real"] | {"directions": ["de-en"]}}
    digests = training_digests(check_config(other), "real", "de-en", "padir")
    assert trained() != digests["training"]
