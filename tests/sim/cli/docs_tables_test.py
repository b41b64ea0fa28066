#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The docs' deterministic tables, by a sample: rows of theirs are those of runs made here."""
import importlib.machinery
import importlib.util
import re

from harness import ROCELAB, SANITIZED, SOURCE, check, skip

if SANITIZED:
    skip("100 million packet hops take minutes under sanitizers; the plain build runs this test")

loader = importlib.machinery.SourceFileLoader("sample_tables", str(SOURCE / "scripts/sample-tables"))
tables = importlib.util.module_from_spec(importlib.util.spec_from_loader("sample_tables", loader))
loader.exec_module(tables)

engine = tables.ENGINE.read_text(encoding="utf-8")
text = tables.PAGE.read_text(encoding="utf-8")
anew = "scripts/sample-tables prints it anew"
for row in tables.sample_rows(ROCELAB):
    check(row + "\n" in text, f"docs/evaluation-tables.md: {row}", anew)
for policy in tables.POLICIES[:tables.CHEAP]:
    row = tables.policy_row(ROCELAB, *policy)
    check(row + "\n" in text, f"docs/evaluation-tables.md: {row}", anew)
for row in tables.telemetry_rows(ROCELAB):
    check(row + "\n" in engine, f"docs/engine-cost.md: {row}", anew)
check(tables.congestion(ROCELAB) in tables.CONGESTION.read_text(encoding="utf-8"), "docs/congestion-control.md: what each makes of eight senders",
      anew)
for page, made in ((tables.ENGINE, tables.volumes), (tables.PAGE, tables.monitors), (tables.BLAME, tables.blame),
                   (tables.DIAGNOSIS, tables.peak), (tables.REPORT, tables.report), (tables.PATHS, tables.advice),
                   (tables.TRANSPORT, tables.in_vain), (tables.COMPARE, tables.systems), (tables.COMPARE, tables.bring_your_own),
                   (tables.DETECTION, tables.detection)):
    check(made(ROCELAB) in page.read_text(encoding="utf-8"), f"{page.name}: {made.__name__}", (anew, made(ROCELAB)))
hardware = tables.HARDWARE.read_text(encoding="utf-8")
for name, changed, _ in tables.CHANGED[1:3]:
    row = tables.joined_row(ROCELAB, name, changed, (4,)).split(" | ")[:2]
    check(" | ".join(row) + " |" in hardware, f"docs/hardware.md: {row}", anew)
reported = re.findall(r"^\| (.+?) \| `detection\.policy=", text, re.MULTILINE)
check(reported == [name for name, *_ in tables.POLICIES], "and every policy has its row", reported)

loader = importlib.machinery.SourceFileLoader("spines", str(SOURCE / "scripts/measure-flowpulse-spines"))
spines = importlib.util.module_from_spec(importlib.util.spec_from_loader("spines", loader))
loader.exec_module(spines)
text = spines.PAGE.read_text(encoding="utf-8")
for sample in ((2, "adaptive", 2), (3, "round-robin", 1.5), (3, "random", 10)):
    check(spines.row(ROCELAB, *sample) + "\n" in text, f"docs/flowpulse-tables.md: {sample}", "scripts/measure-flowpulse-spines --page makes it anew")
