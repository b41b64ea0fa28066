#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rocelab eval hardware: published rows beside ours, senders that keep their links busy, runs that are kept."""
import importlib.machinery
import importlib.util
import json
import os
import re

from harness import ROCELAB, SOURCE, check, command, scratch


def study(out, *args, expect=0):
    return command(ROCELAB, "eval", "hardware", *args, "--out", out, expect=expect)


def rows_of(kept, name):
    experiment = next(experiment for experiment in kept["experiments"] if experiment["name"] == name)
    return {row["senders"]: row for row in experiment["rows"]}


out = scratch()
args = ("victim", "permutation", "--seeds", 1, "--duration", 4)
reported = study(out, *args).stdout
kept = json.loads((out / "hardware.json").read_text())
check({experiment["name"] for experiment in kept["experiments"]} == {"victim", "permutation"}, "only what was asked for")
victim, permutation = rows_of(kept, "victim"), rows_of(kept, "permutation")
check(all(len(row["values"]) == 8 for row in permutation.values()), "eight flows of a permutation", permutation)
check(all(len(row["values"]) == 1 for row in victim.values()), "one victim", victim)
check(victim["pfc-1qp"]["published_range"] == [30, 100] and "30 to 100" in reported, "the published range is beside it", reported)
check(min(permutation["sprayed"]["values"]) > 380, "sprayed flows all have their links", permutation["sprayed"])
check(min(permutation["pfc-1qp"]["values"]) < 0.6 * 390, "hashed flows collide", permutation["pfc-1qp"])
check(victim["pfc-1qp"]["values"][0] < 300, "an incast harms the victim under PFC", victim["pfc-1qp"])
for senders in "pfc-1qp", "pfc-8qp", "dcqcn-1qp", "dcqcn-8qp":
    lines = [line.split(",") for line in (out / "victim" / senders / "1" / "flows.csv").read_text().splitlines()[1:]]
    gbps = sum(int(line[6]) for line in lines if line[2] == "h0") * 8 / 4e6
    check(250 < gbps <= 400, f"{senders}: the target's link is busy", gbps)

made = {path: path.stat().st_mtime_ns for path in out.glob("*/*/*/run.json")}
check(len(made) == 10, "a folder a run", sorted(made))
study(out, *args)
check(all(path.stat().st_mtime_ns == at for path, at in made.items()), "kept runs are not made again")
os.unlink(next(iter(made)))
check(study(out, *args).stdout == reported, "what is missing is made again, and is the same")
cut = next(iter(made))
cut.write_text(json.dumps({**json.loads(cut.read_text()), "end_reason": "interrupt"}))
check(study(out, *args).stdout == reported and json.loads(cut.read_text())["end_reason"] == "virtual_time",
      "so is one that was interrupted")

out = scratch()
reported = study(out, "links", "--seeds", 1, "--duration", 4).stdout
links = rows_of(json.loads((out / "hardware.json").read_text()), "links")
check(all(0 < row["values"][0] <= 100 for row in links.values()), "links that fail leave something, and no more than they carry", links)
case = (out / "links" / "sprayed" / "1" / "case.cfg").read_text()
check('port = "l0:5"; start = "1000us"' in case and 'port = "l0:7"; start = "3000us"' in case and 'timeout = "67us"' in case,
      "a cut each quarter; the timeout is scaled as it is", case)
check("scaled" in reported, "and the table states that times are scaled", reported)

# Tables of the page are of these experiments: senders, and what is published.
loader = importlib.machinery.SourceFileLoader("hardware_tables", str(SOURCE / "scripts/hardware-tables"))
tables = importlib.util.module_from_spec(importlib.util.spec_from_loader("hardware_tables", loader))
loader.exec_module(tables)
page = tables.PAGE.read_text(encoding="utf-8")
for rows in victim, permutation, links:
    for row in rows.values():
        check(tables.identity(row) in page, f"docs/hardware.md: {row['text']}", "scripts/hardware-tables DIR writes it anew")
again = re.compile(r"Packets that senders sent again: [\d,]+ to [\d,]+ under go-back-N without DCQCN, [\d,]+ to [\d,]+\n"
                   r"with it, [\d,]+ to [\d,]+ sprayed and repeated selectively\.")
check(again.search(tables.sent_again(out)) and again.search(page), "and of what is sent again while links fail", tables.sent_again(out))
check("is no experiment" in study(scratch(), "vitcim", expect=2).stderr, "an unknown experiment is refused")
