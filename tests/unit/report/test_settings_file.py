"""`padir report` with the JSON file of settings that a run leaves."""

from pathlib import Path

from padir import cli
from padir.checksums import CHECKSUM, write_with_checksum
from padir.config.read import check_config, load_config
from padir.files import read_json


def test_commands_name_the_file_of_settings(made_up, tmp_path, capsys):
    """Else they would be of the demo, and write over what another experiment made."""
    made_up.score("padir/padir/T4", seed=1).unlink()
    Path("results/report").mkdir(parents=True, exist_ok=True)
    write_with_checksum("results/report/config.json", made_up.config.model_dump(mode="json"))
    cli.main(["report", "--config", "results/report/config.json", "--out", "report"])
    assert "--configfile results/report/config.json --cores all" in capsys.readouterr().err


def test_the_file_of_settings_is_a_config_file(made_up, tmp_path):
    """For `padir plan`, beside another file, and as Snakemake hands it over."""
    settings = tmp_path / "config.json"
    write_with_checksum(settings, made_up.config.model_dump(mode="json"))
    (tmp_path / "other.yaml").write_text("default_target: core\n")
    assert CHECKSUM in read_json(settings)
    assert load_config([settings]) == made_up.config
    assert load_config([settings, tmp_path / "other.yaml"]).default_target == "core"
    assert check_config(read_json(settings)) == made_up.config
