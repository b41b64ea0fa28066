#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""docs/tutorial.md, followed word by word in an empty folder: its files are written, its commands run, and what they print is
what the page has."""
import importlib.machinery
import importlib.util
import os
import subprocess

from harness import BUILD, SOURCE, check, scratch, skip

if subprocess.run(["/usr/bin/python3", "-c", "import matplotlib"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
    skip("matplotlib is missing: scripts/setup figures")

loader = importlib.machinery.SourceFileLoader("tutorial", str(SOURCE / "scripts/tutorial"))
tutorial = importlib.util.module_from_spec(importlib.util.spec_from_loader("tutorial", loader))
loader.exec_module(tutorial)


def comparison():
    """A line that differs, is missing or is one too many is seen."""
    page = ["first", "...", "last"]
    check(tutorial.same(page, ["first", "last"]) and tutorial.same(page, ["first", "a", "b", "last"]), "lines left out may be any")
    for wrong in (["first"], ["first", "a"], ["other", "last"], []):
        check(not tutorial.same(page, wrong), f"{wrong} is not {page}")
    for wrong in (["first", "a"], ["a"], []):
        check(not tutorial.same(["first"], wrong), f"{wrong} is not the one line")
    check(tutorial.renewed(page, ["new", "a", "b", "end"]) == ["new", "...", "end"], "as many lines of each end are renewed")


def report(command, status, expected, printed):
    check(status == 0, f"$ {command}", "\n".join(printed))
    check(tutorial.same(expected, printed), "  prints what the page has", "scripts/tutorial prints it anew:\n" + "\n".join(printed))


comparison()
for builds in tutorial.BUILDS:
    check(os.access(SOURCE / builds, os.X_OK) and builds in (SOURCE / "scripts/minimal-root").read_text(),
          f"{builds} is run from nothing by scripts/minimal-root")
folder = scratch()
text = tutorial.PAGE.read_text(encoding="utf-8")
check(tutorial.follow(text, folder, BUILD, report) == text, "nothing in the page is out of date")
check((folder / tutorial.FIGURE).read_bytes().startswith(b"\x89PNG"), "and the reader has a figure")
