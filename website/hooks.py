"""What MkDocs does with the pages of `docs/` beyond rendering them.

Pages are written for readers of the repository, too. Their links to files outside `docs/` become
links to pages that are made here (examples, the changelog and the like), or plain text for source
code, which the site does not contain.
"""

import ast
import os
import posixpath
import re
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# Pages of the site by their files outside `docs/`.
OUTSIDE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "index.md",
    "SECURITY.md": "security.md",
}
EXAMPLES = {
    str(path.relative_to(ROOT)): f"examples/{path.stem}.md"
    for path in sorted((ROOT / "examples").glob("*.py"))
}
ALONE = ("index.md", "tutorial.md")  # without other pages in their section
COMMAND_LINE = "reference/command_line.md"
HIDDEN = re.compile(r"^<!-- python.*?^-->\n", flags=re.M | re.S)  # what only tests run
FENCED = re.compile(r"^```.*?^```$", flags=re.M | re.S)
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replace folders in the navigation by their pages."""
    config.nav = _expand(config.nav)
    return config


def _expand(entry: Any) -> Any:
    if isinstance(entry, list):
        return [_expand(item) for item in entry]
    if isinstance(entry, dict):
        return {title: _expand(item) for title, item in entry.items()}
    if not entry.endswith("/"):
        return entry
    if entry == "examples/":
        return sorted(EXAMPLES.values())
    folder = DOCS / entry
    pages = [path for path in folder.rglob("*.md") if path.name != "notes.md"]
    pages.sort(key=lambda path: (path != folder / "README.md", path))
    return [path.relative_to(DOCS).as_posix() for path in pages]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made from files outside `docs/` and from the program itself."""
    for source, uri in OUTSIDE.items():
        if uri != "index.md":
            text = (ROOT / source).read_text(encoding="utf-8")
            files.append(File.generated(config, uri, content=_with_links(text, source, uri)))
    for source, uri in EXAMPLES.items():
        files.append(File.generated(config, uri, content=_example_page(source, uri)))
    files.append(File.generated(config, COMMAND_LINE, content=_command_line_page()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links of a page in `docs/` to pages of the site."""
    if page.file.generated_by is not None:
        return markdown
    uri = page.file.src_uri
    if uri in ALONE:
        page.meta["hide"] = ["navigation"]
    return _with_links(markdown, f"docs/{uri}", uri)


def _with_links(markdown: str, source: str, uri: str) -> str:
    """The text of the file `source` for the page `uri`, with links changed outside of code."""
    markdown = HIDDEN.sub("", markdown)
    parts, end = [], 0
    for block in FENCED.finditer(markdown):
        parts.append(_replace_links(markdown[end : block.start()], source, uri))
        parts.append(re.sub(r"^```python (soak|no-run)", "```python", block[0]))
        end = block.end()
    return "".join([*parts, _replace_links(markdown[end:], source, uri)])


def _replace_links(text: str, source: str, uri: str) -> str:
    def replace(link: re.Match[str]) -> str:
        image, label, target = link.groups()
        if re.match(r"[a-z]+:|#", target):
            return link[0]
        path, _, anchor = target.partition("#")
        page = _page_of(posixpath.normpath(posixpath.join(posixpath.dirname(source), path)))
        if page is None:
            return label
        there = posixpath.relpath(page, posixpath.dirname(uri) or ".")
        return f"{image}[{label}]({there}{'#' if anchor else ''}{anchor})"

    return LINK.sub(replace, text)


def _page_of(file: str) -> str | None:
    """The page or picture of the site for a file of the repository; None if it has none."""
    if file.startswith("docs/results/records"):
        return None
    if file.startswith("docs/"):
        return file.removeprefix("docs/")
    return OUTSIDE.get(file, EXAMPLES.get(file))


def _example_page(source: str, uri: str) -> str:
    """The page of an example: its description, its figure if there is one, and its code.

    The last paragraph of the description is about the figure, and goes below it.
    """
    code = (ROOT / source).read_text(encoding="utf-8")
    text = ast.get_docstring(ast.parse(code)) or ""
    name = Path(source).stem
    figure = f"figures/examples/{name}.png"
    if (DOCS / figure).exists():
        above, _, below = text.rpartition("\n\n")
        text = f"{above}\n\n![{name}](../{figure})\n\n{below}"
    body = code.partition('"""')[2].partition('"""')[2].strip()
    return f"# {name}\n\n{text}\n\n`{source}`:\n\n```python\n{body}\n```\n"


def _command_line_page() -> str:
    """The help of every command, as the terminal shows it."""
    os.environ["COLUMNS"] = "88"
    sys.path.insert(0, str(ROOT / "src"))
    from procurl.cli.program import make_parser

    parser = make_parser()
    commands = next(action.choices for action in parser._actions if action.choices)
    assert isinstance(commands, dict)
    sections = [f"# Command line\n\n{_help(parser)}"]
    sections += [f"## procurl {name}\n\n{_help(command)}" for name, command in commands.items()]
    return "\n\n".join(sections)


def _help(parser: ArgumentParser) -> str:
    return f"```text\n{parser.format_help().rstrip()}\n```"
