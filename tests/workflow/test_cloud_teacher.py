"""The Cloud Translation teacher in the workflow: real client and ledger, server on this machine."""

import json
import shutil

import pytest

from padir.files import read_lines
from tests.translation_server import TranslationServer, translation
from tests.workflow.conftest import job_counts

FOLDER = "results/distill/toy/xs-xt/bought/seed0"


@pytest.mark.slow
def test_translations_are_bought_once_and_a_higher_limit_makes_nothing_anew(
    snakemake, tiny, tmp_path
):
    place = tmp_path / "place"
    place.mkdir()

    def run(*arguments: str, **teacher: object):
        settings = {"kind": "cloud", "ledger": "paid.sqlite", "request_characters": 500, **teacher}
        changes = {"teachers": {"bought": settings}, "trainings": {"taught": {"targets": "bought"}}}
        (tmp_path / "bought.yaml").write_text(json.dumps(changes))
        return snakemake("--configfile", str(tiny), str(tmp_path / "bought.yaml"), "--", *arguments)

    card = f"{FOLDER}/card.json"
    with TranslationServer() as server:
        done = run(card, endpoint=server.endpoint)
        assert done.returncode != 0
        log = place / FOLDER / "logs"
        words = "".join(path.read_text() for path in sorted(log.glob("*.xt.log")))
        assert "nothing was sent: " in words
        assert "there is no limit; give --max-usd, or max_usd of the teacher" in words
        assert not server.received

        done = run(card, endpoint=server.endpoint, max_usd=3)
        assert done.returncode == 0, done.stderr[-3000:]
        assert (place / card).is_file(), done.stdout + done.stderr
        for split in ("train", "valid"):
            sources = read_lines(place / f"results/data/toy/xs-xt/{split}.xs")
            translations = read_lines(place / FOLDER / f"{split}.xt")
            assert translations == [translation(line) for line in sources]
        described = json.loads((place / card).read_text())
        assert described["row"] == "cloud"
        assert set(server.billed.values()) == {1}
        calls = len(server.received)

        # More money is no reason for anything, another teacher is.
        done = run(card, "--dry-run", endpoint=server.endpoint, max_usd=5, concurrency=2)
        assert job_counts(done.stdout + done.stderr) == {}
        done = run(card, endpoint=server.endpoint, max_usd=5, concurrency=2)
        assert done.returncode == 0, done.stderr[-3000:]
        assert job_counts(done.stdout + done.stderr) == {}

        # The results may go: the ledger stays.
        shutil.rmtree(place / "results")
        done = run(card, endpoint=server.endpoint)
        assert done.returncode == 0, done.stderr[-3000:]
        assert len(server.received) == calls
