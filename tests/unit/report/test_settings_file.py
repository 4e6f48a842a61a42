"""`padir report` with the JSON file of settings that a run leaves."""

from padir import cli


def test_commands_name_the_file_of_settings(made_up, tmp_path, capsys):
    """Else they would be of the demo, and write over what another experiment made."""
    made_up.score("padir/padir/T4", seed=1).unlink()
    made_up.write("results/report/config.json", made_up.config.model_dump(mode="json"))
    cli.main(["report", "--config", "results/report/config.json", "--out", "report"])
    assert "--configfile results/report/config.json --cores all" in capsys.readouterr().err
