#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The documentation that a command prints is the one in the tree, and what the README names is there."""
import re

from harness import ROCELAB, SOURCE, check, command

reference = (SOURCE / "docs/scenario-reference.md").read_text()
printed = command(ROCELAB, "reference").stdout
check(reference.endswith(printed), "docs/scenario-reference.md is what `rocelab reference` prints",
      "renew it: build/cli/rocelab reference")
for page in ["README.md", *(p.relative_to(SOURCE) for p in sorted((SOURCE / "docs").glob("*.md")))]:
    folder = (SOURCE / page).parent
    for target in re.findall(r"\]\(([^)#]+)\)", (SOURCE / page).read_text()):
        check((folder / target).exists(), f"{page}: {target}", "no such file")


def plain(text):
    """Without links and line breaks."""
    return " ".join(re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", text).split())


short = (SOURCE / "docs/evaluation.md").read_text().split("## What falls short\n", 1)[1].strip().split("\n\n")[0]
check(plain(short) in plain((SOURCE / "README.md").read_text()), "README.md says what falls short as docs/evaluation.md does", short)
scenarios = set(re.findall(r"topo/scenarios/[\w-]+\.cfg", (SOURCE / "README.md").read_text()))
for scenario in sorted(scenarios):
    check((SOURCE / scenario).exists(), f"README.md: {scenario}", "no such file")
