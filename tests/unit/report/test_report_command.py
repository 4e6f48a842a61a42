"""`padir report` on a made-up folder: tables by hand, same bytes twice, nothing fetched."""

import csv
import json
import re
import shutil
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from padir import cli
from padir.invocation import snakefile_option
from padir.report.catalogue import CATALOGUE, part
from tests.unit.report.conftest import CORE

VOID = {"meta", "br", "link", "img", "input"}


@pytest.fixture
def report(made_up, tmp_path, capsys):
    def run(*arguments: str, out: str = "report") -> tuple[int, str, str]:
        config = made_up.write("config.json", made_up.config.model_dump(mode="json"))
        if "--options" not in arguments:
            arguments = ("--options", "", *arguments)
        status = cli.main(["report", "--config", str(config), "--out", out, *arguments])
        printed, err = capsys.readouterr()
        return status, printed, err

    return run


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_table1_by_hand(report, tmp_path):
    status, printed, _ = report()
    assert status == 0
    assert printed.rstrip().endswith("report/index.html")
    assert "| padir | padir | 4 | own | 5 | 2 | 39.60 | 0.14 | [38.65, 40.55] | −0.40 |" in printed
    line = rows(tmp_path / "report/tables/table1.csv")[6]
    assert (line["training"], line["T"], line["hypotheses"]) == ("padir", "4", "5")
    assert float(line["bleu"]) == pytest.approx(39.6)
    assert line["p_value"] == ""
    assert float(line["validity"]) == pytest.approx(75.0)
    assert line["paper"] == "" and line["status"] == ""
    beam = rows(tmp_path / "report/tables/table1.csv")[1]
    assert (beam["T"], beam["hypotheses"], beam["p_value"]) == ("N", "5", "")


def test_the_papers_numbers_stand_beside_its_own_datasets(made_up, report, tmp_path):
    files = {"de": "f.de", "en": "f.en"}
    source = {"kind": "files", **{name: {"files": files} for name in ("train", "valid", "test")}}
    made_up.settings["datasets"] = {"wmt14_x": {"source": source, "directions": ["de-en"]}}
    made_up.all()
    report("--only", "table1")
    numbers = [line["paper"] for line in rows(tmp_path / "report/tables/table1.csv")]
    # Beside the baseline and the candidate; PaDIR on raw targets stands for no row of the paper's.
    assert numbers == ["", "33.5", "", "", "", "", "33.49", "33.63"]


def test_latency_ratios_by_hand(report, tmp_path):
    report("--only", "latency")
    table = rows(tmp_path / "report/tables/latency.csv")
    four = next(r for r in table if (r["training"], r["T"]) == ("padir", "4"))
    assert float(four["greedy_p50"]) == pytest.approx(4.0 / 4.0)
    assert float(four["beam_p50"]) == pytest.approx(12.0 / 4.0)
    assert float(four["beam_p99"]) == pytest.approx(36.0 / 12.0)
    assert float(four["bleu"]) == pytest.approx(39.6)


def test_stutter_table_by_hand(report, tmp_path):
    report("--only", "stutter")
    table = rows(tmp_path / "report/tables/stutter.csv")
    four = next(r for r in table if (r["training"], r["T"]) == ("padir", "4"))
    assert (float(four["before"]), float(four["final"])) == pytest.approx((3.0, 0.2))
    # Two seeds, each with runs {2: 5, 3: 2, 4: 1, 7: 1}.
    assert four["runs"] == "10/4/4"
    greedy = next(r for r in table if r["decoder"] == "greedy")
    assert (greedy["before"], greedy["runs"]) == ("", "3/0/0")


def test_same_inputs_same_bytes(report, tmp_path):
    report()
    report(out="again")
    first = sorted((tmp_path / "report").rglob("*.*"))
    names = [str(path.relative_to(tmp_path / "report")) for path in first]
    assert "index.html" in names and "figures/quality_passes.svg" in names
    for name in names:
        before, after = (tmp_path / folder / name for folder in ("report", "again"))
        assert before.read_bytes() == after.read_bytes(), name


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
    anchors = [address[1:] for address in page.addresses if address.startswith("#")]
    assert anchors and set(anchors) <= set(page.ids)
    # Links to files stay within the results; what they name is made by the same workflow.
    files = [address for address in page.addresses if not address.startswith("#")]
    here = re.compile(r"(tables|figures)/\w+\.(csv|md|tex|svg)|claims\.(json|md)")
    results = [address.removeprefix("../") for address in files if not here.fullmatch(address)]
    assert all(
        (tmp_path / "report" / address).is_file() for address in files if here.match(address)
    )
    cards = re.compile(r"runs/.*/bundle/README\.md|data/.*/README\.md")
    assert all(cards.fullmatch(path) or (tmp_path / "results" / path).is_file() for path in results)
    assert results and not re.search(
        r"<script src|@import|url\((?!#)|https?://(?!www\.w3\.org)", text
    )
    assert text.count('role="img" aria-label="') == 5
    for word in ("not reproduced", "Git commit", "deadbeef", "snakemake --cores all theory"):
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
        ("systems", "may differ, as the config says", "Table 2: all systems, toy xs-xt"),
        ("ablations", "other sentences and other seeds", "objective.stages 2 | 1"),
    ):
        section = text.split(f'<section id="{anchor}">')[1].split("</section>")[0]
        assert sentence in section.split("<table>")[0] and cell in section
        assert f'<a href="#{anchor}">' in text


def test_theory_drawings_stand_on_the_page(made_up, report, tmp_path):
    row = {"k": 1, "given_found": 0.1, "averaged_found": 0.1, "given_bound": 0.0}
    made_up.settings["theory"] = {
        "product_kernels": {"couplings": [0.5, 1.0], "spins": 2, "field": 0.25}
    }
    series = {"rows": [row | {"k": k} for k in (1, 1, 2, 2)]}
    made_up.experiment("product_kernels", series=series)
    report("--only", "page")
    text = (tmp_path / "report/index.html").read_text(encoding="utf-8")
    assert 'id="figure-product_steps"' in text and "h = 0.25" in text
    # Another seed than the config's is no part of the report.
    made_up.write("results/theory/mask_design/seed9.json", {"experiment": "mask_design"})
    report("--only", "page")
    assert text == (tmp_path / "report/index.html").read_text(encoding="utf-8")


def test_text_from_results_is_escaped_everywhere(made_up, report, tmp_path):
    made_up.theory(statement="<script>x</script> & |y|", measured="100% <b>")
    report()
    folder = tmp_path / "report"
    page = (folder / "index.html").read_text()
    assert "<script>x" not in page and "&lt;script&gt;x" in page
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
    four = next(p for p in points if (p["series"], p["label"]) == ("padir padir", "T4"))
    assert (float(four["x"]), float(four["y"])) == pytest.approx((4.0, 39.6))
    level = next(p for p in points if p["series"] == "ar beam")
    assert (level["x"], float(level["y"])) == ("", 40.0)
    curve = rows(folder / "training.csv")
    assert [float(p["y"]) for p in curve[:3]] == [5.0, 2.5, 1.25]


def test_one_table_alone_writes_no_other_file(report, tmp_path):
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
    notes = tmp_path / "report/tables/distillation.md"
    for empty, count in ({"train": 0, "valid": 0}, 0), ({"train": 7, "valid": 1}, 1):
        made_up.card(empty=empty)
        report("--only", "distillation")
        note = "toy xs-xt, own, seed 0: lines without a translation, such as those too long for"
        assert notes.read_text().count(note) == count
    assert "7 of 24000 (train), 1 of 500 (valid)" in notes.read_text()


def test_tables_say_which_targets_cover_extra_sources(made_up, report, tmp_path):
    def trained_on():
        report("--only", "table1")
        lines = rows(tmp_path / "report/tables/table1.csv")
        return {line["training"]: line["targets"] for line in lines}

    plain = {"ar": "raw", "padir_raw": "raw", "padir": "own"}
    assert trained_on() == plain
    made_up.settings["datasets"]["toy"]["extra_sources"] = {"files": {"xs": "captions.xs"}}
    made_up.settings["teachers"]["own"]["extra_sources"] = True
    made_up.all()
    assert trained_on() == {**plain, "padir": "own, with extra sources"}
    extra = {"language": "xs", "file": "captions.xs", "lines": 4000}
    made_up.card(extra_sources={**extra, "dropped": {"overlap": 3}, "sha256": "f" * 64})
    report("--only", "distillation")
    assert (
        "toy xs-xt, own, seed 0: of 24,000 lines 20,000 translate the training sources and 4,000"
        " monolingual text in xs (captions.xs, dropped in cleaning: overlap 3; SHA-256"
        " ffffffffffff)."
    ) in (tmp_path / "report/tables/distillation.md").read_text()


def test_data_table_by_hand(report, tmp_path):
    report("--only", "data")
    line, test = rows(tmp_path / "report/tables/data.csv")
    assert (line["split"], line["read"], line["kept"]) == ("train", "100", "95")
    assert (line["dropped"], test["dropped"]) == ("too long 2, duplicate 3", "none")
    assert line["lengths"] == "train.xs 7.9 words; train.xt 8.2 words"


@pytest.mark.parametrize("name", [part.name for part in CATALOGUE])
def test_every_part_alone_writes_its_files(made_up, report, tmp_path, name):
    made_up.pair()
    made_up.evaluate(
        scorers={"chrf": {"kind": "chrf++"}},
        samplers={"gibbs": {"training": "padir"}},
        systems=CORE,
        dependency=[{"trainings": ["padir"], "decoders": ["padir"], "passes": [4]}],
    )
    entry = part(made_up.config, name)
    endings = ("csv", "md", "tex") if entry.kind == "table" else ("csv", "svg")
    names = sorted(f"{name}.{ending}" for ending in endings)
    assert report("--only", name, out="alone")[0] == 0
    assert sorted(path.name for path in (tmp_path / "alone").rglob("*.*")) == names
    assert report("--only", name, out=f"here/{names[0]}")[0] == 0
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == names


def test_claims_alone_and_page_alone_write_no_other_file(report, tmp_path):
    for name, names in (("claims", ["claims.json", "claims.md"]), ("page", ["index.html"])):
        assert report("--only", name, out=name)[0] == 0
        assert sorted(path.name for path in (tmp_path / name).rglob("*.*")) == names


def test_the_core_page_stands_in_its_own_folder_and_a_copy_outside_is_older(report, tmp_path):
    for name, file in (("page", "index.html"), ("claims", "claims.md")):
        status, _, _ = report("--scope", "core", "--only", name, out=f"out/core/{file}")
        core, copy = tmp_path / "out/core" / file, tmp_path / "out" / file
        assert status == 0 and core.read_bytes() == copy.read_bytes()
        assert copy.stat().st_mtime_ns <= core.stat().st_mtime_ns
    report("--scope", "core", "--only", "page", out="folder")
    assert (tmp_path / "folder/core/index.html").is_file()


def test_the_core_page_shows_no_other_part(made_up, report, tmp_path):
    made_up.pair()
    report("--only", "page", "--scope", "core", out="out")
    core = (tmp_path / "out/core/index.html").read_text(encoding="utf-8")
    report("--only", "page", out="out")
    text = (tmp_path / "out/index.html").read_text(encoding="utf-8")
    assert '<section id="quality">' in core and '<section id="ablations">' not in core
    assert '<section id="ablations">' in text
    assert "snakemake --cores all ablations" in text and "snakemake --cores all table1" in core


def test_another_file_name_is_refused_and_a_folder_with_a_dot_taken(report, tmp_path):
    status, _, err = report("--only", "table1", out="report/table2.md")
    assert status == 2
    assert "allowed are a folder, or table1.csv, table1.md, table1.tex in one" in err
    (tmp_path / "report.v2").mkdir()
    assert report("--only", "table1", out="report.v2")[0] == 0


def test_absent_artifacts_are_listed_with_their_command(made_up, report, tmp_path):
    path = made_up.score("padir/padir/T4", seed=1)
    path.unlink()
    _, _, err = report("--only", "quality_passes")
    assert err == (f"padir report: Not shown: {path}: missing; run: snakemake --cores all {path}\n")
    other = made_up.score("padir/padir/T1", seed=0)
    other.unlink()
    report("--only", "page")
    text = (tmp_path / "report/index.html").read_text(encoding="utf-8")
    listed = text[text.index('<details id="absent">') :]
    # Both under table 1, which is the first to need them.
    assert "<summary>2 of <code>snakemake --cores all table1</code></summary>" in listed
    for lost in (path, other):
        assert text.count(f"<li>{lost}: missing</li>") == 1


def test_commands_are_of_the_experiment(made_up, report, tmp_path):
    """Also those of the claims; without its config file a command would be of the demo."""
    made_up.score("padir/padir/T4", seed=1).unlink()
    options = "--configfile config/corpus.yaml"
    _, _, err = report("--only", "quality_passes", "--options", options)
    assert f"run: snakemake {options} --cores all results/" in err
    report("--options", options)
    for name in ("index.html", "claims.md", "claims.json", "tables/table1.md"):
        text = (tmp_path / "report" / name).read_text(encoding="utf-8")
        commands = re.findall(r"\bsnakemake -\S+ \S+", text)
        assert commands and set(commands) == {f"snakemake {options}"}, name


def test_without_results_every_claim_is_not_run(made_up, report, tmp_path):
    shutil.rmtree("results")
    status, _, _ = report()
    records = json.loads((tmp_path / "report/claims.json").read_text())
    assert status == 0 and {record["verdict"] for record in records} == {"not run"}
    assert "no translation scored" in (tmp_path / "report/index.html").read_text()


def test_what_is_missing_is_counted_with_the_command_that_makes_it(made_up, report, tmp_path):
    made_up.score("padir/padir/T4", seed=1).unlink()
    made_up.score("padir/padir/T1", seed=0, digests={"data": "other"})
    for arguments in ((), ("--only", "page"), ("--only", "claims")):
        (line,) = report(*arguments)[2].splitlines()
        assert re.fullmatch(
            r"padir report: \d+ of \d+ results are not shown \((\d+ missing|1 made with other"
            r" settings), (\d+ missing|1 made with other settings)\); run: snakemake --cores all"
            r" everything",
            line,
        )


def test_a_config_file_without_results_names_its_own_command(made_up, tmp_path, capsys):
    shutil.rmtree("results")
    capsys.readouterr()
    for name in ("own.yaml", "own.yml"):
        path = made_up.write(name, made_up.settings)
        assert cli.main(["report", "--config", str(path), "--out", "report"]) == 0
        out, err = capsys.readouterr()
        # Outside the folder of the workflow.
        command = f"snakemake {snakefile_option()} --configfile {name} --cores all"
        (line,) = err.splitlines()
        asked = re.fullmatch(
            rf"padir report: (\d+) of (\d+) results are not shown \(\d+ missing\); run: {command}"
            r" everything",
            line,
        )
        assert asked and asked[1] == asked[2] != "0"
        for text in (out, (tmp_path / "report/index.html").read_text(encoding="utf-8")):
            assert f"{command} " in text
        assert cli.main(["report", "--config", str(path), "--out", "r", "--scope", "core"]) == 0
        assert capsys.readouterr().err.endswith(f"; run: {command} core\n")
    # A later file over an earlier one.
    more = made_up.write("more.yaml", {"theory": {"seeds": []}})
    files = ["--config", str(path), str(more)]
    assert cli.main(["report", *files, "--out", "report", "--only", "table1"]) == 0
    assert "--configfile own.yml more.yaml --cores all " in capsys.readouterr().err


def test_mixed_signatures_stop_the_command(made_up, report):
    made_up.score("padir/padir/T4", test_digest="other")
    status, _, err = report()
    assert status == 2
    assert err.startswith("padir report: error: scores cannot share a table, test-set digest")
    assert err.count("\n") == 1
