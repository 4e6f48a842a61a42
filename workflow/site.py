"""Hooks of the documentation site: pages from files outside `docs/`, and links between them."""

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

# Files of the repository that are pages of the site too.
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "config/README.md": "configuration.md",
}
SCRIPT = "iframe-worker.js"
"""With it the search works on pages from file://."""
LINK = re.compile(r"(\[[^\]]*\])\(([^)#\s]+)(#[^)]*)?\)")


def on_files(files, config):
    """Add pages and script, and leave the files of results that only the repository shows."""
    root = Path(config.config_file_path).parent
    for path, page in [*PAGES.items(), (f"workflow/{SCRIPT}", SCRIPT)]:
        text = (root / path).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown, page, config, files):
    """Point links at pages of the site; a link to another file of the repository becomes text."""
    sources = {page: path for path, page in PAGES.items()}
    uri = page.file.src_uri
    folder = posixpath.dirname(sources.get(uri, f"docs/{uri}"))

    def site_link(match: re.Match[str]) -> str:
        text, target, anchor = match[1], match[2], match[3] or ""
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        path = posixpath.normpath(posixpath.join(folder, target))
        site_path = PAGES.get(path, path.removeprefix("docs/") if path.startswith("docs/") else "")
        if not site_path or files.get_file_from_path(site_path) is None:
            return (
                f"`{path}`" if (Path(config.config_file_path).parent / path).exists() else match[0]
            )
        return f"{text}({posixpath.relpath(site_path, posixpath.dirname(uri) or '.')}{anchor})"

    return LINK.sub(site_link, markdown)
