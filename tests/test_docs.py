"""What the documents say is there: paths, links, the site; and the same pins everywhere."""

import json
import re
import tomllib

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from padir.cli import VERBS
from tests.documents import (
    DOCUMENTS,
    ROOT,
    code_spans,
    fences,
    make_targets,
    rule_names,
    snakemake_targets,
)

TOP_LEVEL = ("src/", "rules/", "tests/", "docs/", "config/", "workflow/", ".ci/")


def words_in_code(text: str) -> list[str]:
    """Words inside `code` and fenced blocks."""
    return " ".join([*(content for _, content in fences(text)), *code_spans(text)]).split()


def files_made_in(text: str) -> set[str]:
    """Files that a diff of the document makes: it has no context, but added lines alone."""
    return set(re.findall(r"^--- (\S+)\n@@\n(?:\+.*\n)+(?=--- |```)", text, re.M))


def test_documents_were_found():
    assert {"CONTRIBUTING.md", "CHANGELOG.md"} <= {path.name for path in DOCUMENTS}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_path_named_in_a_document_exists(path):
    text = path.read_text(encoding="utf-8")
    named = {word.strip(".,;:()'\"") for word in words_in_code(text)} - files_made_in(text)
    named -= {"config/corpus.yaml"}  # What `padir init corpus` writes.
    for word in named:
        if word.startswith(TOP_LEVEL) and not re.search(r"[*{}<>$\[\]]|[A-Z]{3,}", word):
            assert (ROOT / word).exists(), word


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_to_a_file_leads_somewhere(path):
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text(encoding="utf-8")):
        if "://" not in target and not target.startswith("mailto:"):
            assert (path.parent / target).exists(), target


def test_every_verb_has_a_module_that_explains_itself():
    for verb, (module, text) in VERBS.items():
        path = ROOT / "src" / (module.replace(".", "/") + ".py")
        assert path.is_file(), verb
        assert "def main(" in path.read_text(encoding="utf-8"), verb
        assert text == text.strip()
        assert "\n" not in text


def locked(name: str = "requirements.lock") -> dict[str, list[Requirement]]:
    """Package -> its pins; one whose versions differ by Python has one per marker."""
    pins: dict[str, list[Requirement]] = {}
    for line in (ROOT / name).read_text().splitlines():
        if line and not line.startswith((" ", "#")):
            pin = Requirement(line.rstrip("\\ "))
            pins.setdefault(canonicalize_name(pin.name), []).append(pin)
    return pins


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-tf.lock"])
def test_a_lock_is_hashed_and_names_no_host(name):
    text = (ROOT / name).read_text()
    assert not re.search(r"https?:|://|--(extra-)?index-url|--find-links|@ ", text)
    entries = re.split(r"^(?=\w)", text, flags=re.MULTILINE)[1:]
    assert len(entries) > 20
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []


def test_conda_users_get_the_pins_of_the_lock():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    python, pip, packages = environment["dependencies"]
    assert python == "python=3.11"
    assert pip == "pip"
    *pins, package = packages["pip"]
    assert package == "-e ."
    expected = sorted(str(pin) for several in locked().values() for pin in several)
    assert sorted(str(Requirement(pin)) for pin in pins) == expected, "run: make lock"


def test_the_lock_holds_every_direct_dependency_in_an_allowed_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    pins = locked()
    for line in [*project["dependencies"], *extras["test"], *extras["cluster"]]:
        wanted = Requirement(line)
        versions = pins.get(canonicalize_name(wanted.name), [])
        assert versions, f"{line}: run make lock"
        for pin in versions:
            version = str(pin.specifier).removeprefix("==")
            assert wanted.specifier.contains(version), f"{line}: locked is {version}"


def test_the_core_needs_no_tensorflow():
    large = {"tensorflow", "tensorflow-cpu", "tensorflow-intel", "torch", "keras"}
    assert "tensorflow-datasets" in locked() and not large & set(locked())


def test_tensorflow_stands_in_a_lock_of_its_own_that_agrees_with_the_first():
    extra, core = locked("requirements-tf.lock"), locked()
    assert "tensorflow-cpu" in extra
    for name in extra.keys() & core.keys():
        assert set(map(str, extra[name])) == set(map(str, core[name])), f"{name}: run make lock"


def test_the_version_is_one():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == version


def test_continuous_integration_runs_the_tests_as_users_do():
    assert "make --no-print-directory test" in (ROOT / ".ci/run").read_text()
    assert "test" in make_targets()


def copied_into_the_container(recipe: str) -> list[str]:
    """Sources of COPY in a Dockerfile: paths of this repository."""
    lines = re.findall(r"^COPY (.+)$", recipe, re.MULTILINE)
    return [source for line in lines for source in line.split()[:-1]]


def test_the_container_has_what_setup_and_workflow_read():
    recipe = (ROOT / "Dockerfile").read_text()
    setup = r"^ARG EXTRAS=\nRUN make setup EXTRAS=\$EXTRAS$"
    before, after = re.split(setup, recipe, flags=re.MULTILINE)
    assert "setup" in make_targets()
    for source in copied_into_the_container(recipe):
        assert (ROOT / source).exists(), source
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    needed = {"Makefile", "pyproject.toml", "requirements.lock", project["project"]["readme"]}
    needed |= {*project["project"]["license-files"]}
    needed |= {*project["tool"]["setuptools"]["packages"]["find"]["where"]}
    assert needed <= set(copied_into_the_container(before))
    workflow = (ROOT / "Snakefile").read_text()
    read = re.findall(r'^ *include: "(\w+)/|basedir}/(\w+)/', workflow, re.MULTILINE)
    folders = {"workflow"} | {folder for pair in read for folder in pair if folder}
    assert folders == {"workflow", "rules", "config"}
    assert folders | {"Snakefile"} <= set(copied_into_the_container(after))


def test_the_container_runs_the_tested_python_and_known_commands():
    recipe = (ROOT / "Dockerfile").read_text()
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    version = re.search(r"^FROM python:([\d.]+)-slim$", recipe, re.MULTILINE)
    assert version and f"python={version[1]}" in environment["dependencies"]
    lists = dict(re.findall(r"^(ENTRYPOINT|CMD) (\[.*\])$", recipe, re.MULTILINE))
    assert json.loads(lists["ENTRYPOINT"]) == ["snakemake"]
    for words in (json.loads(lists["CMD"]), re.findall(r"padir (.*--cores \d)$", recipe, re.M)):
        targets = snakemake_targets(" ".join(words).split())
        assert targets and set(targets) <= rule_names(), targets
    (verb,) = re.findall(r"--entrypoint padir padir (\w+)$", recipe, re.MULTILINE)
    assert verb in VERBS


def test_the_workflow_catalogue_finds_what_it_looks_for():
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert usage["software-stack-deployment"].keys() == {"conda", "apptainer", "apptainer+conda"}
    assert usage["report"] is True
    assert (ROOT / "config/README.md").is_file()
    assert 'include: "../Snakefile"' in (ROOT / "workflow/Snakefile").read_text()
    readme = (ROOT / "README.md").read_text().lower()
    assert "snakemake" in readme and "workflow" in readme
