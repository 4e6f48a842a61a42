"""Data cards and model cards inside the page."""

import re
from pathlib import Path

from padir import cli, layout
from padir.cards import head
from padir.config.data import Cleaning, Dataset
from padir.config.rows import Row
from padir.data.card import data_card
from padir.data.clean import clean
from padir.report.cards import html, merged

MODEL = """---
license: unknown
---

# padir: xs-xt

| | |
|---|---|
| Dataset | toy <b> |
| Seed | {seed} |

    padir translate --model FOLDER < source.txt

The files are `model.safetensors` (parameters) and
others.
"""


def put(path: str, text: str) -> None:
    place = Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")


def test_the_page_has_data_cards_and_then_one_model_card_per_training(made_up):
    for seed in (0, 1):
        path = layout.model_card_path(made_up.place, "padir", seed)
        put(path, MODEL.format(seed=seed))
    put(layout.data_card_path("toy", "xs-xt"), "# Parallel text xs-xt\n\n- train: 0\n")
    made_up.write("config.json", made_up.config.model_dump(mode="json"))
    assert cli.main(["report", "--config", "config.json", "--out", "report", "--only", "page"]) == 0
    text = Path("report/index.html").read_text(encoding="utf-8")
    titles = re.findall(r'<details class="record"><summary>(.*?)</summary>', text)
    assert titles == ["Data card: toy, xs-xt", "Model card: padir, toy xs-xt, seeds 0, 1"]
    assert "<li>train: 0</li>" in text
    assert text.count("<td>toy &lt;b&gt;</td>") == 1
    assert "<td>Seed</td><td>0; 1</td>" in text
    assert 'href="../runs/toy/xs-xt/padir/seed1/bundle/README.md"' in text
    config = made_up.config.model_dump(mode="json")
    config["datasets"]["toy"]["license"] = "cc-by-4.0"
    made_up.write("config.json", config)
    assert cli.main(["report", "--config", "config.json", "--out", "report", "--only", "page"]) == 0
    text = Path("report/index.html").read_text(encoding="utf-8")
    assert text.count("<pre>license: cc-by-4.0</pre>") == 2
    assert text.count("<p>Stated in the config: cc-by-4.0.</p>") == 2


def test_a_card_of_other_settings_is_an_absence(made_up, capsys):
    """Metrics and statistics beside it are those of the config."""
    (statistics,) = layout.statistics(made_up.config)
    (metrics,) = (a for a in layout.metrics(made_up.config, [Row.parse("ar/beam")]))
    paths = layout.data_card_path("toy", "xs-xt"), layout.model_card_path(made_up.place, "ar", 0)
    made_up.write("config.json", made_up.config.model_dump(mode="json"))
    command = ["report", "--config", "config.json", "--out", "report", "--only", "page"]
    for change, shown in (({}, True), ({"data": "other"}, False)):
        for path, artifact in zip(paths, (statistics, metrics), strict=True):
            put(path, head({"digests": {**artifact.digests, **change}}) + "\n# A card\n")
        assert cli.main(command) == 0
        text = Path("report/index.html").read_text(encoding="utf-8")
        assert text.count("<summary>Data card: ") == text.count("<summary>Model card: ") == shown
        err = capsys.readouterr().err
        for path in paths:
            assert (f"<li>{path}: made with other settings</li>" in text) != shown
            assert (f'href="../{path.removeprefix("results/")}"' in text) == shown
        assert ("2 made with other settings" in err) != shown


def test_what_is_no_card_is_one_line_of_error(made_up, capsys):
    path = layout.data_card_path("toy", "xs-xt")
    made_up.write("config.json", made_up.config.model_dump(mode="json"))
    for text in ("---\n- a\n---\n", "---\n: :\n---\n"):
        put(path, text)
        command = ["report", "--config", "config.json", "--out", "report", "--only", "page"]
        assert cli.main(command) == 2
        line = capsys.readouterr().err.splitlines()[-1]
        assert line.startswith(f"padir report: error: {path}: not a card of padir: ")


def test_the_page_shows_the_cost_of_each_training_and_of_all(made_up):
    made_up.curves()
    made_up.write("config.json", made_up.config.model_dump(mode="json"))
    assert cli.main(["report", "--config", "config.json", "--out", "report", "--only", "page"]) == 0
    text = Path("report/index.html").read_text(encoding="utf-8")
    table = text[text.index("Trainings of this report and their cost") :]
    rows = re.findall(r"<tr>(.*?)</tr>", table[: table.index("</table>")], re.DOTALL)[1:]
    cells = [re.findall(r"<td.*?>(.*?)</td>", row, re.DOTALL) for row in rows]
    # Six minutes and eight, as the fixture has them.
    assert {tuple(row[3:6]) for row in cells} == {("4", "6.0", "8.0")}
    all_wall, all_processor = 6.0 * len(rows), 8.0 * len(rows)
    assert f"{all_wall} minutes of wall time, {all_processor} of processor time" in text


def test_cards_are_inputs_of_the_page(made_up):
    artifacts = [*layout.statistics(made_up.config), *layout.metrics(made_up.config, [])]
    artifacts += layout.metrics(made_up.config, made_up.config.core_rows())
    assert all(any(name.endswith("README.md") for name in each.beside) for each in artifacts)


def test_markdown_of_a_card_becomes_html():
    assert str(html(MODEL.format(seed=0).splitlines())).split("\n") == [
        "<pre>license: unknown</pre>",
        "<h3>padir: xs-xt</h3>",
        '<div class="scroll" tabindex="0" role="region" aria-label="Table of the card"><table>'
        "<tr><td>Dataset</td><td>toy &lt;b&gt;</td></tr><tr><td>Seed</td><td>0</td></tr>"
        "</table></div>",
        "<pre>padir translate --model FOLDER &lt; source.txt</pre>",
        "<p>The files are <code>model.safetensors</code> (parameters) and others.</p>",
    ]


def test_the_card_that_clean_writes_is_whole_and_escaped(tmp_path):
    odd = "a`<i>"
    files = {s: {"files": {"de": odd, "en": f"{s}.en"}} for s in ("train", "valid", "test")}
    dataset = Dataset(source={"kind": "files", **files}, directions=["de-en"])
    for split, text in (("train", "x\n\n"), ("valid", "v\nw\n"), ("test", "t\nu\n")):
        for language in ("de", "en"):
            (tmp_path / f"{split}.{language}").write_text(text)
    card = data_card(dataset, clean(Cleaning(), "de-en", tmp_path, tmp_path / "out"))
    made = str(html(card.splitlines()))
    assert "<h4>Dropped training pairs</h4>" in made
    assert "<td>empty</td><td>a side is empty or blank</td><td>1</td><td>2</td>" in made
    assert "<th>split</th><th>file</th>" in made
    assert "<li>train de: <code>a`&lt;i&gt;</code></li>" in made
    assert "|" not in made


def test_cards_of_seeds_that_differ_in_form_follow_each_other():
    assert merged([["a", "b"], ["a"]]) == [["a", "b"], ["a"]]
    assert merged([["x", "| k | 1 |"], ["y", "| k | 1 |"]]) == [["x", "y", "| k | 1 |"]]


def test_a_row_of_dashes_is_a_row():
    rows = html(["| a | b |", "| --- | --- |", "| - | - |"]).count("<tr>")
    assert rows == 2
