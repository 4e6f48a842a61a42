"""`padir report` on a made-up folder: tables by hand, same bytes twice, nothing fetched."""

import csv
import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from padir import cli
from padir.files import read_json, write_json

VOID = {"meta", "br", "link", "img"}


@pytest.fixture
def report(made_up, tmp_path, capsys):
    def run(*arguments: str, out: str = "report") -> tuple[int, str, str]:
        config = tmp_path / "config.json"
        config.write_text(json.dumps(made_up.config.model_dump(mode="json")))
        status = cli.main(
            ["report", "--results", str(made_up.folder), "--config", str(config),
             "--out", str(tmp_path / out), *arguments]
        )  # fmt: skip
        printed, err = capsys.readouterr()
        return status, printed, err

    return run


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_table1_by_hand(report, tmp_path):
    status, printed, _ = report()
    assert status == 0
    assert printed.rstrip().endswith(str(tmp_path / "report" / "index.html"))
    assert "| padir | own | 5 | 4 | 2 | 39.60 | 0.14 | [38.65, 40.55] | −0.40 |" in printed
    line = rows(tmp_path / "report/tables/table1.csv")[6]
    assert (line["model"], line["steps"], line["hypotheses"]) == ("padir", "4", "5")
    assert float(line["bleu"]) == pytest.approx(39.6)
    assert float(line["p_value"]) == pytest.approx(0.02)
    assert float(line["validity"]) == pytest.approx(75.0)
    assert line["paper"] == "" and line["status"] == ""
    beam = rows(tmp_path / "report/tables/table1.csv")[1]
    assert (beam["steps"], beam["hypotheses"], beam["p_value"]) == ("N", "5", "")


def test_the_papers_numbers_stand_beside_its_own_datasets(made_up, report, tmp_path):
    files = {"de": "f.de", "en": "f.en"}
    source = {"kind": "files", **{name: {"files": files} for name in ("train", "valid", "test")}}
    made_up.settings["datasets"] = {"wmt14_x": {"source": source, "directions": ["de-en"]}}
    old = made_up.folder / "runs/toy/xs-xt"
    for path in sorted(old.glob("*/seed*/score/*.json")):
        document = json.loads(path.read_text()) | {"dataset": "wmt14_x", "direction": "de-en"}
        made_up.write(f"runs/wmt14_x/de-en/{path.relative_to(old)}", document)
    report()
    found = [line["paper"] for line in rows(tmp_path / "report/tables/table1.csv")]
    # Beside the baseline and the candidate; PaDIR on raw targets stands for no row of the paper's.
    assert found == ["", "33.5", "", "", "", "", "33.49", "33.63"]


def test_latency_ratios_by_hand(report, tmp_path):
    report()
    table = rows(tmp_path / "report/tables/latency.csv")
    four = next(r for r in table if (r["model"], r["decoding"]) == ("padir", "T4"))
    assert float(four["greedy_p50"]) == pytest.approx(4.0 / 4.0)
    assert float(four["beam_p50"]) == pytest.approx(12.0 / 4.0)
    assert float(four["beam_p99"]) == pytest.approx(36.0 / 12.0)
    assert float(four["bleu"]) == pytest.approx(39.6)


def test_stutter_table_by_hand(report, tmp_path):
    report()
    table = rows(tmp_path / "report/tables/stutter.csv")
    four = next(r for r in table if (r["model"], r["decoding"]) == ("padir", "T4"))
    assert (float(four["before"]), float(four["final"])) == pytest.approx((3.0, 0.2))
    # Two seeds, each with runs {2: 5, 3: 2, 4: 1, 7: 1}.
    assert four["runs"] == "10/4/4"
    greedy = next(r for r in table if r["decoding"] == "greedy")
    assert (greedy["before"], greedy["runs"]) == ("", "3/0/0")


def test_same_inputs_same_bytes(report, tmp_path):
    report()
    report(out="again")
    first = sorted((tmp_path / "report").rglob("*.*"))
    names = [str(path.relative_to(tmp_path / "report")) for path in first]
    assert "index.html" in names and "figures/quality_passes.svg" in names
    for name in names:
        one, two = (tmp_path / folder / name for folder in ("report", "again"))
        assert one.read_bytes() == two.read_bytes(), name


class Page(HTMLParser):
    """Collects ids and addresses, and sees that tags close in order."""

    def __init__(self):
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        self.handle_startendtag(tag, attrs)

    def handle_startendtag(self, tag, attrs):
        for key, value in attrs:
            if key == "id":
                self.ids.append(value)
            if key in ("src", "href", "xlink:href"):
                self.addresses.append(value)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_stands_alone(report, tmp_path):
    report()
    text = (tmp_path / "report/index.html").read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert all(address.startswith("#") for address in page.addresses)
    assert all(address[1:] in page.ids for address in page.addresses)
    assert not re.search(r"<script|@import|url\((?!#)", text)
    assert text.count('role="img" aria-label="') == 4
    for word in ("not reproduced", "Git commit", "deadbeef", "snakemake --cores 2 theory"):
        assert word in text


def test_systems_and_ablations_stand_on_the_page(made_up, report, tmp_path):
    report("--only", "page")
    text = (tmp_path / "report/index.html").read_text(encoding="utf-8")
    # Nothing is compared yet: no heading without a table below it.
    assert '<section id="systems">' in text and '<section id="ablations">' not in text
    made_up.pair()
    report("--only", "page")
    text = (tmp_path / "report/index.html").read_text(encoding="utf-8")
    for anchor, sentence, cell in (
        ("systems", "so that only the method differs", "Table 2: all systems, toy xs-xt"),
        ("ablations", "other sentences and other seeds", "objective.stages 2 | 1"),
    ):
        section = text.split(f'<section id="{anchor}">')[1].split("</section>")[0]
        assert sentence in section.split("<table>")[0] and cell in section
        assert f'<a href="#{anchor}">' in text


def test_theory_drawings_stand_on_the_page(made_up, report, tmp_path):
    row = {"k": 1, "given_found": 0.1, "averaged_found": 0.1, "given_bound": 0.0}
    document = {
        "experiment": "product_kernels", "claims": [], "seed": 0,
        "settings": {"couplings": [0.5], "spins": 1, "field": 0.25}, "series": {"rows": [row]},
    }  # fmt: skip
    made_up.write("theory/product_kernels/seed0.json", document)
    report("--only", "page")
    text = (tmp_path / "report/index.html").read_text(encoding="utf-8")
    assert '<figure id="figure-product_steps">' in text and "h = 0.25" in text
    # Another seed than the config's is no part of the report.
    made_up.write("theory/mask_design/seed9.json", document | {"experiment": "mask_design"})
    report("--only", "page")
    assert text == (tmp_path / "report/index.html").read_text(encoding="utf-8")


def test_text_from_results_is_escaped_everywhere(made_up, report, tmp_path):
    made_up.theory(statement="<script>x</script> & |y|", measured="100% <b>")
    report()
    folder = tmp_path / "report"
    assert "<script" not in (folder / "index.html").read_text()
    assert r"\<script> x" not in (folder / "claims.md").read_text()
    assert r"\<script>x\</script> & \|y\|" in (folder / "claims.md").read_text()


def test_figures_are_xml_with_their_points(report, tmp_path):
    report()
    folder = tmp_path / "report/figures"
    for name in (
        "quality_passes",
        "quality_latency",
        "stutter_passes",
        "training",
        "training_time",
    ):
        text = (folder / f"{name}.svg").read_text()
        assert ElementTree.fromstring(text).tag.endswith("svg") and "<dc:date>" not in text
    points = rows(folder / "quality_passes.csv")
    four = next(p for p in points if (p["series"], p["label"]) == ("padir", "T4"))
    assert (float(four["x"]), float(four["y"])) == pytest.approx((4.0, 39.6))
    level = next(p for p in points if p["series"] == "ar beam")
    assert (level["x"], float(level["y"])) == ("", 40.0)
    curve = rows(folder / "training.csv")
    assert [float(p["y"]) for p in curve[:3]] == [5.0, 2.5, 1.25]


def test_one_table_alone(report, tmp_path):
    status, printed, _ = report("--only", "table1", out="alone")
    assert status == 0 and printed.startswith("**Table 1")
    files = sorted(path.name for path in (tmp_path / "alone").rglob("*.*"))
    assert files == ["table1.csv", "table1.md", "table1.tex"]


def test_distillation_table_by_hand(report, tmp_path):
    report("--only", "distillation")
    (line,) = rows(tmp_path / "report/tables/distillation.csv")
    assert (line["teacher"], line["system"], line["lines"]) == ("own", "ar", "24000")
    assert [float(line[key]) for key in ("teacher_bleu", "agreement", "validity")] == [40, 35, 96]


def test_lines_without_a_translation_are_noted(made_up, report, tmp_path):
    card = made_up.folder / "distill/toy/xs-xt/own/seed0/card.json"
    content = read_json(card)
    notes = tmp_path / "report/tables/distillation.md"
    for empty, count in ({"train": 0, "valid": 0}, 0), ({"train": 7, "valid": 1}, 1):
        write_json(card, content | {"empty": empty})
        report("--only", "distillation")
        told = "toy xs-xt, own, seed 0: lines without a translation, such as those too long for"
        assert notes.read_text().count(told) == count
    assert "7 of 24000 (train), 1 of 500 (valid)" in notes.read_text()


def test_data_table_by_hand(report, tmp_path):
    report("--only", "data")
    line, test = rows(tmp_path / "report/tables/data.csv")
    assert (line["split"], line["read"], line["kept"]) == ("train", "100", "95")
    assert (line["dropped"], test["dropped"]) == ("too long 2, duplicate 3", "none")
    assert line["lengths"] == "train.xs 7.9 words; train.xt 8.2 words"


@pytest.mark.parametrize(
    ("part", "names"),
    [
        ("page", ["index.html"]),
        ("claims", ["claims.json", "claims.md"]),
        ("training", ["training.csv", "training.svg"]),
        ("table2", ["table2.csv", "table2.md", "table2.tex"]),
        ("ablations", ["ablations.csv", "ablations.md", "ablations.tex"]),
    ],
)
def test_one_part_alone(report, tmp_path, part, names):
    status, _, _ = report("--only", part, out="alone")
    files = sorted(path.name for path in (tmp_path / "alone").rglob("*.*"))
    assert (status, files) == (0, names)


def test_nothing_run_yet(made_up, report, tmp_path):
    import shutil

    shutil.rmtree(made_up.folder)
    made_up.folder.mkdir()
    status, _, _ = report()
    records = json.loads((tmp_path / "report/claims.json").read_text())
    assert status == 0 and {record["verdict"] for record in records} == {"not run"}
    assert "no translation scored" in (tmp_path / "report/index.html").read_text()


def test_mixed_signatures_stop_the_command(made_up, report):
    made_up.score("padir", "T4", test_digest="other")
    status, _, err = report()
    assert status == 2
    assert err.startswith("padir report: error: scores cannot share a table, test-set digest")
    assert err.count("\n") == 1
