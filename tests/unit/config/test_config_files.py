"""YAML files of settings: what is no config, and what `extends` puts below a file."""

import json

import pytest

from padir.config.read import load_config, read_yaml, refuse_repeated_keys
from padir.files import InputError
from tests.unit.config.small import SMALL


def doubled(form: str, first: str = "[x]") -> str:
    """Thirty lines, each of which holds the one before twice: a thousand million values."""
    lines = [
        f"a0: &a0 {first}",
        *(f"a{n}: &a{n} {form.format(f'*a{n - 1}')}" for n in range(1, 30)),
    ]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "a: 1\nb: 2\na: 3\n",
            "line 3: key 'a' given twice, first in line 1: merge the two, or put the second in a"
            " file of its own",
        ),
        ("m:\n  x: 1\n  x: 2\n", "line 3: key 'x' given twice, first in line 2"),
        ("a: [1\n", "not YAML"),
        ("", "found nothing, allowed: a mapping"),
        ("- 1\n", "found list, allowed: a mapping"),
        (
            "a: !!python/object/apply:os.getcwd []\n",
            "line 1: tag '!!python/object/apply:os.getcwd' is",
        ),
        ("a: \x00\n", "not YAML"),
        ("a: {!!binary aGk=: 1}\n", "line 1: tag '!!binary' is not allowed; allowed are text"),
        ("a: !!binary aGk=\n", "line 1: tag '!!binary' is not allowed"),
        ("a: !!set {x, y}\n", "line 1: tag '!!set' is not allowed"),
        ("? [a, b]\n: 1\n", "line 1: a key is a list or a mapping; allowed is text"),
        ("a: 2026-13-01\n", "not YAML: month must be in 1..12"),
        ("a: " + "1" * 5000, "not YAML: Exceeds the limit"),
        ("a: " + "[" * 5000, "not YAML: nested too deeply"),
        ("a: &a [*a]\n", "line 1: an alias stands for a value that holds it"),
        (doubled("[{0}, {0}]"), "values once aliases are written out"),
        (doubled("{{x: {0}, y: {0}}}"), "values once aliases are written out"),
        (doubled("{{<<: [{0}, {0}]}}", "{z: 1}"), "values once aliases are written out"),
    ],
)
def test_an_unusable_config_file_is_refused_with_its_name(tmp_path, text, expected):
    path = tmp_path / "bad.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_yaml(path)
    assert expected in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError):
        refuse_repeated_keys([path])


def test_a_key_of_a_merged_mapping_may_be_given_again(tmp_path):
    path = tmp_path / "merged.yaml"
    path.write_text("a: &a {x: 1}\nb: {c: &c {<<: *a, x: 2}}\nd: {<<: *c, y: 3}\n")
    assert read_yaml(path) == {"a": {"x": 1}, "b": {"c": {"x": 2}}, "d": {"x": 2, "y": 3}}


def test_extends_puts_one_file_below(tmp_path):
    (tmp_path / "below").mkdir()
    base = tmp_path / "below/base.json"
    base.write_text(json.dumps(SMALL))
    path = tmp_path / "own.yaml"
    path.write_text("extends: below/base.json\ntrainings: {ar: {seeds: [3]}}\n")
    config = load_config([path], {"training_defaults": {"seeds": [5]}})
    assert config.trainings["ar"].seeds == [3]
    assert config.trainings["padir"].seeds == [5]
    # A further file, in another folder, that extends nothing or the same.
    for text in ("{}", json.dumps({"extends": "below/base.json"})):
        (tmp_path / "further.json").write_text(text)
        assert load_config([path, tmp_path / "further.json"]).trainings["ar"].seeds == [3]


def test_extends_on_the_command_line_starts_at_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.json").write_text(json.dumps(SMALL))
    (tmp_path / "far").mkdir()
    path = tmp_path / "far/own.yaml"
    path.write_text("extends: nowhere.yaml\ntrainings: {ar: {seeds: [3]}}\n")
    assert load_config([path], {"extends": "base.json"}).trainings["ar"].seeds == [3]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"own": "extends: none.yaml"}, "{folder}/none.yaml: cannot read: No such file"),
        ({"own": "extends: own.yaml"}, "{folder}/own.yaml: a file that is extended extends no"),
        ({"own": "extends: [a, b]"}, "extends: found ['a', 'b'], allowed: the path of a config"),
        ({"own": "extends: ''"}, "{folder}: cannot read: Is a directory"),
        (
            {"own": "extends: middle.yaml", "middle": "extends: base.yaml", "base": "{}"},
            "{folder}/middle.yaml: a file that is extended extends no other",
        ),
    ],
)
def test_extends_that_leads_nowhere_is_refused(tmp_path, files, expected):
    for name, text in files.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    with pytest.raises(InputError) as caught:
        load_config([tmp_path / "own.yaml"])
    assert str(caught.value).startswith(expected.format(folder=tmp_path))
    assert "\n" not in str(caught.value)


def test_config_files_do_not_extend_two_files(tmp_path):
    for name, base in (("1", "a"), ("2", "b")):
        (tmp_path / f"{name}.yaml").write_text(f"extends: {base}.yaml")
        (tmp_path / f"{base}.yaml").write_text(json.dumps(SMALL))
    with pytest.raises(
        InputError, match=r"^extends: .* extend .*/a\.yaml and .*/b\.yaml; allowed is one"
    ):
        load_config([tmp_path / "1.yaml", tmp_path / "2.yaml"])


def test_config_files_of_two_folders_do_not_extend_two_files_of_one_name(tmp_path):
    for folder in ("1", "2"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "own.yaml").write_text("extends: base.yaml")
        (tmp_path / folder / "base.yaml").write_text(json.dumps(SMALL))
    with pytest.raises(InputError, match=r"1/base\.yaml and .*2/base\.yaml; allowed is one"):
        load_config([tmp_path / "1/own.yaml", tmp_path / "2/own.yaml"])


def test_a_range_of_lengths_that_is_empty_is_refused(tmp_path):
    path = tmp_path / "own.json"
    path.write_text(json.dumps(SMALL))
    with pytest.raises(InputError, match=r"min_words \(300\) must not exceed max_words \(2\)"):
        cleaning = {"cleaning": {"min_words": 300, "max_words": 2}}
        load_config([path], {"datasets": {name: cleaning for name in SMALL["datasets"]}})
