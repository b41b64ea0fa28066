#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The documentation that a command prints is the one in the tree; links, commands and figures of other pages hold."""
import functools
import importlib.machinery
import importlib.util
import re

from harness import ROCELAB, SOURCE, check, command

PAGES = [SOURCE / "README.md", SOURCE / "CONTRIBUTING.md", *sorted((SOURCE / "docs").glob("*.md"))]
README_LINES = 100  # one screen and a half
INDEX = SOURCE / "docs/README.md"


@functools.lru_cache
def text_of(page):
    return page.read_text(encoding="utf-8")


@functools.lru_cache
def anchors(page):
    """What GitHub makes of the page's headings."""
    prose = re.sub(r"^```.*?^```$", "", text_of(page), flags=re.M | re.S)
    headings = re.findall(r"^#+ +(.*)$", prose, re.M)
    return [re.sub(r"[^\w -]", "", re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", h).lower()).replace(" ", "-") for h in headings]


def links():
    for page in PAGES:
        for path, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]+))?\)", text_of(page)):
            target = (page.parent / path).resolve() if path else page
            name = f"{page.relative_to(SOURCE)}: {path}{'#' + anchor if anchor else ''}"
            check(target.exists(), name, "no such file")
            if anchor and target.suffix == ".md":
                check(anchor in anchors(target), name, f"no such heading; there are {anchors(target)}")


def index():
    """A page that the index does not name is found by nobody."""
    named = {(INDEX.parent / path).resolve() for path in re.findall(r"\]\(([^)#:]+)", text_of(INDEX))}
    for page in sorted((SOURCE / "docs").glob("*.md")):
        check(page in named or page == INDEX, f"docs/README.md names {page.name}")
    check(f"({INDEX.relative_to(SOURCE)})" in text_of(SOURCE / "README.md"), "README.md names the index")


@functools.lru_cache
def help_of(*words):
    return command(ROCELAB, *words, "--help").stdout


def kinds(section):
    """{name: text} of a section of rocelab --help."""
    return dict(re.findall(r"^  ([a-z-]+) +(.*)$", help_of().split(f"{section}\n")[1].split("\n\n")[0], re.M))


def commands():
    """docs/running.md has every command, and each that it has is there, with its options."""
    block = text_of(SOURCE / "docs/running.md").split("<!-- commands -->\n")[1].split("<!-- /commands -->")[0]
    lines = [line.split("#")[0].split() for line in block.splitlines()]
    there = set(kinds("Usage: rocelab COMMAND [ARGS]\n"))
    check({words[1] for words in lines} == there, "docs/running.md has the commands of rocelab --help", there)
    for words in lines:
        for option in (word for word in words[2:] if word.startswith("--")):
            of = help_of(*words[1:3]) if words[1] in ("eval", "bench") else help_of(words[1])  # a kind may have its own
            check(re.search(rf"{option}\b", of), f"rocelab {' '.join(words[1:3])} has {option}", of)
    for name in ("eval", "bench"):
        of = {kind for kind, text in kinds(f"Kinds of rocelab {name}:").items() if not text.startswith("family")}
        shown = {words[2] for words in lines if words[1] == name} - {"all"}
        check(shown == of, f"docs/running.md has the kinds of rocelab {name}", (shown, of))
    families = {kind for kind, text in kinds("Kinds of rocelab eval:").items() if text.startswith("family")}
    for page in PAGES:
        for named in re.findall(r"\bfamily: ((?:`[^`]+`,? ?)+)", text_of(page)):
            shown = set(re.findall(r"`([^`]+)`", named))
            check(shown <= families, f"{page.relative_to(SOURCE)} names families that there are", shown - families)


def figures_of_readme():
    """How often verdicts are right stands in two places, with the same figures."""
    readme = " ".join(text_of(SOURCE / "README.md").split())
    claim = re.search(r"Of (\d+) random odd cases (\d+) were right, (\d+) partly right, (\d+) wrong and (\d+) unknown", readme)
    check(claim is not None, "README.md says how often verdicts are right")
    short = text_of(SOURCE / "docs/evaluation.md").split("## What falls short\n", 1)[1].split("\n## ")[0]
    for figure in claim.groups():
        check(re.search(rf"\b{figure}\b", short), f"README.md's {figure} stands in docs/evaluation.md, What falls short", short)
    check(sum(map(int, claim.groups()[1:])) == int(claim[1]), "and the outcomes add up", claim.groups())


def profiles():
    """The tables of docs/profiles.md are those of the profiles' files."""
    loader = importlib.machinery.SourceFileLoader("profile_tables", str(SOURCE / "scripts/profile-tables"))
    tables = importlib.util.module_from_spec(importlib.util.spec_from_loader("profile_tables", loader))
    loader.exec_module(tables)
    for name, part in tables.parts().items():
        check(f"<!-- {name} -->\n{part}<!-- /{name} -->" in text_of(tables.PAGE), f"docs/profiles.md: {name}", "renew it: scripts/profile-tables")


reference = text_of(SOURCE / "docs/scenario-reference.md")
check(reference.endswith(command(ROCELAB, "reference").stdout), "docs/scenario-reference.md is what `rocelab reference` prints",
      "renew it: build/cli/rocelab reference")
links()
index()
commands()
figures_of_readme()
profiles()
check(len(text_of(SOURCE / "README.md").splitlines()) <= README_LINES, "README.md is one screen and a half")
scenarios = {name for page in PAGES for name in re.findall(r"topo/scenarios/[\w-]+\.cfg", text_of(page))}
for scenario in sorted(scenarios):
    check((SOURCE / scenario).exists(), scenario, "no such file")
