"""Downloads through TFDS's own builders, from a server on this machine that has WMT's archives."""

import gzip
import hashlib
import io
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.util import find_spec

import pytest
import tensorflow_datasets as tfds
from tensorflow_datasets.core.download.checksums import UrlInfo
from tensorflow_datasets.translate import wmt

from padir.config.data import TfdsSource
from padir.data import tfds_prepare
from padir.data.tfds import write_tfds_source
from padir.data.tfds_prepare import make_builder
from padir.files import InputError, read_lines

needs_tensorflow = pytest.mark.skipif(
    find_spec("tensorflow") is None, reason="TFDS unpacks archives with the extra tf only"
)
CWMT = ["casia2015", "casict2011", "casict2015", "datum2015", "datum2017", "neu2017"]


def tgz(files):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in files.items():
            content = text.encode()
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def zipped(files):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return packed.getvalue()


def sgm(lines):
    segments = [f'<seg id="{n}">{line}</seg>\n' for n, line in enumerate(lines, start=1)]
    return "<refset>\n" + "".join(segments) + "</refset>\n"


def tmx(first, second, pairs):
    units = [
        f'<tu><tuv xml:lang="{first}"><seg>{a}</seg></tuv>'
        f'<tuv xml:lang="{second}"><seg>{b}</seg></tuv></tu>'
        for a, b in pairs
    ]
    return f"<tmx><body>{''.join(units)}</body></tmx>"


DEV = {
    "dev/newsdev2016-roen-src.ro.sgm": sgm(["dev ro"]),
    "dev/newsdev2016-roen-ref.en.sgm": sgm(["dev en"]),
    "dev/newstest2016-roen-src.ro.sgm": sgm(["test ro 1", "test ro 2"]),
    "dev/newstest2016-roen-ref.en.sgm": sgm(["test en 1", "test en 2"]),
    "dev/newsdev2017-zhen-src.zh.sgm": sgm(["验证"]),
    "dev/newsdev2017-zhen-ref.en.sgm": sgm(["dev en"]),
    "dev/newstest2017-zhen-src.zh.sgm": sgm(["测试"]),
    "dev/newstest2017-zhen-ref.en.sgm": sgm(["test en"]),
}
FILES = {
    "/dev.tgz": tgz(DEV),
    "/training-parallel-ep-v8.tgz": tgz(
        {
            "training-parallel-ep-v8/europarl-v8.ro-en.ro": "ep ro\n\nşi\n",
            "training-parallel-ep-v8/europarl-v8.ro-en.en": "ep en\nlost\nand\n",
        }
    ),
    "/en-ro.tmx.gz": gzip.compress(tmx("ro", "en", [("se ro", "se en")]).encode()),
    "/training-parallel-nc-v12.tgz": tgz(
        {
            "training/news-commentary-v12.zh-en.zh": "新闻\n",
            "training/news-commentary-v12.zh-en.en": "news\n",
        }
    ),
    "/casia2015.zip": zipped(
        {"casia2015/casia2015_ch.txt": "自动\n", "casia2015/casia2015_en.txt": "automatic\n"}
    ),
}
PARTS = {
    **dict.fromkeys(["newsdev2016", "newstest2016", "newsdev2017", "newstest2017"], "/dev.tgz"),
    "europarl_v8_16": "/training-parallel-ep-v8.tgz",
    "setimes_2": "/en-ro.tmx.gz",
    "newscommentary_v12": "/training-parallel-nc-v12.tgz",
    "uncorpus_v1": "/UNv1.0.en-zh.tar.gz",
    "casia2015": "/casia2015.zip",
}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        content = self.server.content.get(self.path)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server(monkeypatch):
    """The server; its `content` may be changed. The parts of WMT in `PARTS` come from it."""
    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.content = dict(FILES)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    server.address = f"http://127.0.0.1:{server.server_port}"
    for name, path in PARTS.items():
        monkeypatch.setattr(wmt.DATASET_MAP[name], "_urls", (server.address + path,))
    yield server
    server.shutdown()
    server.server_close()


def source(name, tmp_path, **changes):
    return TfdsSource(name=name, data_dir=str(tmp_path / "dd"), download=True, **changes)


def texts(folder, pair):
    return {
        path.name: sorted(read_lines(path))
        for path in folder.iterdir()
        if path.suffix[1:] in pair.split("-")
    }


def test_a_download_without_tensorflow_names_the_extra(server, tmp_path, monkeypatch):
    monkeypatch.setattr(tfds_prepare, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="needs TensorFlow to prepare it: install the extra tf"):
        write_tfds_source(source("wmt16_translate/ro-en", tmp_path), "en-ro", tmp_path / "raw")
    assert not list(tmp_path.iterdir())


@needs_tensorflow
def test_downloaded_prepared_and_read_again(server, tmp_path, capfd):
    given = source("wmt16_translate/ro-en", tmp_path)
    write_tfds_source(given, "en-ro", tmp_path / "raw")
    assert texts(tmp_path / "raw", "en-ro") == {
        # TFDS leaves out the pair with an empty side.
        "train.en": ["and", "ep en", "se en"],
        "train.ro": ["ep ro", "se ro", "şi"],
        "valid.en": ["dev en"],
        "valid.ro": ["dev ro"],
        "test.en": ["test en 1", "test en 2"],
        "test.ro": ["test ro 1", "test ro 2"],
    }
    printed = capfd.readouterr().err
    assert "padir fetch: part 1 of 4: europarl_v8_16 (train, 127.0.0.1): there" in printed
    assert "padir fetch: part 4 of 4: newstest2016 (test, 127.0.0.1): there" in printed
    # array_record, so that no TensorFlow is needed; and no download any more.
    folder = tmp_path / "dd" / "wmt16_translate" / "ro-en" / "1.0.0"
    assert len(list(folder.glob("*.array_record-*"))) == 3
    server.content.clear()
    again = given.model_copy(update={"download": False})
    write_tfds_source(again, "en-ro", tmp_path / "again")
    assert texts(tmp_path / "again", "en-ro") == texts(tmp_path / "raw", "en-ro")


@needs_tensorflow
def test_parts_that_fail_are_named_one_by_one(server, tmp_path, monkeypatch, capfd):
    """WMT17's other hosts: a missing file, and addresses with a password in them."""
    for name in CWMT[1:]:
        address = f"ftp://someone:secret@127.0.0.1:9/parallel/{name}.zip"
        monkeypatch.setattr(wmt.DATASET_MAP[name], "_urls", (address,))
    with pytest.raises(InputError) as caught:
        given = source("wmt17_translate/zh-en", tmp_path, pairs={"train": 25_136_609})
        write_tfds_source(given, "en-zh", tmp_path / "raw")
    message = str(caught.value)
    assert "\n" not in message
    failed = ", ".join(["uncorpus_v1", *CWMT[1:]])
    assert message.startswith(f"6 of 10 parts could not be downloaded: {failed}; what was")
    assert message.endswith(f"source.leave_out: [{failed}], and source.pairs.train: null")
    printed = capfd.readouterr()
    lines = [line for line in printed.err.splitlines() if line.startswith("padir fetch: part")]
    assert len(lines) == 10
    assert "newscommentary_v12 (train, 127.0.0.1): there" in lines[0]
    assert "uncorpus_v1 (train, 127.0.0.1): Failed to get url" in lines[1]
    assert "HTTP code: 404" in lines[1]
    assert "casia2015 (train, 127.0.0.1): there" in lines[2]
    assert "secret" not in printed.out + printed.err + message
    assert "someone" not in printed.out + printed.err + message


@needs_tensorflow
def test_parts_that_are_left_out_are_not_needed(server, tmp_path):
    without = ["uncorpus_v1", *CWMT[1:]]
    given = source("wmt17_translate/zh-en", tmp_path, leave_out=without)
    described = write_tfds_source(given, "en-zh", tmp_path / "raw")
    assert texts(tmp_path / "raw", "en-zh") == {
        "train.en": ["automatic", "news"],
        "train.zh": ["新闻", "自动"],
        "valid.en": ["dev en"],
        "valid.zh": ["验证"],
        "test.en": ["test en"],
        "test.zh": ["测试"],
    }
    assert described.parents[1].name.startswith("zh-en.wmt17_translate-without-casict2011-")
    # The whole dataset is not prepared by this.
    whole = given.model_copy(update={"leave_out": [], "download": False})
    with pytest.raises(InputError, match="nothing is prepared there"):
        write_tfds_source(whole, "en-zh", tmp_path / "whole")
    # Nor is it of the whole dataset's size.
    sized = given.model_copy(update={"pairs": {"train": 25_136_609}})
    lifted = r"has 2 pairs, .*train says 25136609: .*; with source.leave_out set source.pairs.train"
    with pytest.raises(InputError, match=lifted):
        write_tfds_source(sized, "en-zh", tmp_path / "sized")


@needs_tensorflow
@pytest.mark.parametrize("leave_out", [[], ["setimes_2"]])
def test_a_part_with_a_wrong_checksum_is_refused(server, tmp_path, monkeypatch, capfd, leave_out):
    address = server.address + PARTS["europarl_v8_16"]
    content = FILES[PARTS["europarl_v8_16"]]
    right = UrlInfo(
        size=tfds.core.utils.Size(len(content)),
        checksum=hashlib.sha256(content).hexdigest(),
        filename="training-parallel-ep-v8.tgz",
    )
    known = tfds.builder_cls("wmt16_translate").url_infos
    monkeypatch.setitem(known, address, right)
    server.content[PARTS["europarl_v8_16"]] = tgz({"training-parallel-ep-v8/x": "other\n"})
    given = source("wmt16_translate/ro-en", tmp_path, leave_out=leave_out)
    with pytest.raises(InputError) as caught:
        write_tfds_source(given, "en-ro", tmp_path / "raw")
    assert "1 of" in str(caught.value)
    assert "could not be downloaded: europarl_v8_16; what was" in str(caught.value)
    assert "\n" not in str(caught.value)
    (said,) = [line for line in capfd.readouterr().err.splitlines() if "wrong checksum" in line]
    assert "europarl_v8_16 (train, 127.0.0.1): wrong checksum: " in said
    assert right.checksum in said
    # The right file is taken afterwards.
    server.content.update(FILES)
    write_tfds_source(given, "en-ro", tmp_path / "raw")
    assert "ep en" in read_lines(tmp_path / "raw" / "train.en")


@needs_tensorflow
def test_an_archive_without_its_files_is_refused_in_one_line(server, tmp_path):
    server.content[PARTS["europarl_v8_16"]] = tgz({"other": "text\n"})
    with pytest.raises(InputError) as caught:
        write_tfds_source(source("wmt16_translate/ro-en", tmp_path), "en-ro", tmp_path / "raw")
    assert "1.0.0: cannot prepare: " in str(caught.value)
    assert "No matching files found" in str(caught.value)
    assert "\n" not in str(caught.value)


@needs_tensorflow
def test_parts_that_cannot_be_downloaded_are_counted_and_named(tmp_path, monkeypatch):
    for name in PARTS:
        # Port 9 (discard) is not served on a machine that runs tests.
        monkeypatch.setattr(wmt.DATASET_MAP[name], "_urls", (f"ftp://127.0.0.1:9/{name}.tgz",))
    with pytest.raises(InputError, match=r"^4 of 4 parts could not be downloaded: europarl_v8_16"):
        write_tfds_source(source("wmt16_translate/ro-en", tmp_path), "en-ro", tmp_path / "raw")


@needs_tensorflow
@pytest.mark.network
def test_the_papers_hosts_serve_all_parts_of_romanian(tmp_path):
    """Romanian, the smallest of the three, with all its parts from where they are."""
    given = source("wmt16_translate/ro-en", tmp_path, pairs={"valid": 1999, "test": 1999})
    write_tfds_source(given, "en-ro", tmp_path / "raw")
    assert len(read_lines(tmp_path / "raw" / "train.ro")) > 500_000


def test_tfds_makes_the_papers_datasets_of_known_parts():
    """What a download consists of, so that a change in TFDS is seen."""
    split_files = {}
    for name in ("wmt14_translate/de-en", "wmt16_translate/ro-en", "wmt17_translate/zh-en"):
        parts = make_builder(TfdsSource(name=name)).subsets
        split_files[name] = {str(split): names for split, names in parts.items()}
    assert split_files == {
        "wmt14_translate/de-en": {
            "train": ["europarl_v7", "commoncrawl", "newscommentary_v9"],
            "validation": ["newstest2013"],
            "test": ["newstest2014"],
        },
        "wmt16_translate/ro-en": {
            "train": ["europarl_v8_16", "setimes_2"],
            "validation": ["newsdev2016"],
            "test": ["newstest2016"],
        },
        "wmt17_translate/zh-en": {
            "train": ["newscommentary_v12", "uncorpus_v1", *CWMT],
            "validation": ["newsdev2017"],
            "test": ["newstest2017"],
        },
    }
