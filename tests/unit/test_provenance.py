"""What made a file: where it is written, and that it is true."""

import hashlib
import json
import subprocess

from padir.files import InputError, digest
from padir.provenance import (
    CODE,
    git_state,
    package_version,
    read_provenance,
    write_provenance,
)


def test_a_file_gets_its_provenance_beside_it_and_a_folder_inside(tmp_path):
    read = tmp_path / "in.txt"
    read.write_text("hello\n")
    made = tmp_path / "out.json"
    made.write_text("{}\n")
    path = write_provenance(
        made, ["score", "--json", "out.json"], inputs=[read], spec={"a": 1}, seed=3
    )
    assert path == tmp_path / "out.json.provenance.json"
    document = json.loads(path.read_text())
    assert document["command"] == ["padir", "score", "--json", "out.json"]
    assert document["inputs"] == {str(read): hashlib.sha256(b"hello\n").hexdigest()}
    assert document["spec"] == digest({"a": 1})
    assert document["seed"] == 3
    assert document["outputs"] == {"out.json": hashlib.sha256(b"{}\n").hexdigest()}
    assert document["packages"]["numpy"] == package_version("numpy")
    folder = tmp_path / "bundle"
    folder.mkdir()
    assert write_provenance(folder, ["train"]) == folder / "provenance.json"


def test_the_commit_and_whether_files_differ_from_it(tmp_path):
    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        command = ["git", *identity, "-C", str(tmp_path), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    git("init", "--quiet")
    (tmp_path / "a").write_text("1")
    git("add", "a")
    git("commit", "--quiet", "-m", "one")
    commit = git("rev-parse", "HEAD")
    assert git_state(tmp_path) == {"commit": commit, "dirty": False}
    (tmp_path / "b").write_text("untracked")
    assert git_state(tmp_path)["dirty"] is False
    (tmp_path / "a").write_text("2")
    assert git_state(tmp_path) == {"commit": commit, "dirty": True}


def test_the_commit_is_that_of_the_code_as_it_was_loaded(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "padir.provenance.git_state", lambda: {"commit": "committed meanwhile", "dirty": False}
    )
    (tmp_path / "out").write_text("")
    written = read_provenance(write_provenance(tmp_path / "out", ["decode"]))
    assert written["git"] == CODE


def test_outside_a_repository_the_commit_is_unknown(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert git_state(tmp_path) == {"commit": None, "dirty": None}


def test_a_package_that_is_not_there_is_absent():
    assert package_version("surely-not-installed") == "absent"


def test_every_damaged_byte_of_a_provenance_is_noticed(tmp_path):
    """Or changes nothing of what it says: a space, the name of its checksum."""
    path = write_provenance(tmp_path / "out.json", ["score", "--json"], labels={"seed": 0})
    whole, content = path.read_bytes(), read_provenance(path)
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        try:
            found = read_provenance(path)
            assert {key: found.get(key) for key in content} == content, whole[place - 20 :][:40]
        except InputError as error:
            assert "provenance.json" in str(error)


def test_a_provenance_written_by_hand_has_no_checksum(tmp_path):
    path = tmp_path / "out.json.provenance.json"
    path.write_text('{"command": ["padir"]}')
    assert read_provenance(path) == {"command": ["padir"]}
