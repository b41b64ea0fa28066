#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What accuracy a telemetry budget buys (rocelab bench telemetry SCENARIO...): every combination is run, results repeat and resume, and
a larger budget is no worse where that is no chance."""
import csv
import importlib.machinery
import importlib.util
import json
import xml.etree.ElementTree as tree

from harness import ROCELAB, SCENARIOS, SOURCE, SANITIZED, check, command, reported, scratch

CASE = SCENARIOS / "case-study.cfg"
DEEP = SOURCE / "scripts/records/deep_ports.py"
BENCH = (ROCELAB, "bench", "telemetry")
POLICIES = ("vedrfolnir", "full-polling") if SANITIZED else ("vedrfolnir", "full-polling", "flowtracer", str(DEEP))
out = scratch() / "tradeoff"
ARGS = (CASE, "--policy", ",".join(POLICIES), "--budget", "10MB,1MB", "--seeds", 1, "--out", out, "--json")


def measure(*args):
    return json.loads(command(*BENCH, *args).stdout)


def point(result, policy, budget):
    return next(p for p in result["points"] if (p["policy"], p["budget"]) == (policy, budget))


first = measure(*ARGS)
check(len(first["points"]) == len(first["runs"]) == 2 * len(POLICIES), "every combination has a point", first["points"])
check([p["budget"] for p in first["points"][:2]] == ["1MB", "10MB"], "budgets are in ascending order", first["points"][:2])
for run in first["runs"]:
    name = f"{run['policy']} at {run['budget']}"
    check(run["outcome"] in ("tp", "fp", "fn") and run["accuracy"] == (run["outcome"] == "tp"), f"{name}: it is graded", run)
    check((run["outcome"] == "tp") == (run["why"] == ""), f"{name}: what is not right has its reason", run)
    if run["verdict_ns"] is not None:
        check(0 < run["detection_ns"] <= run["verdict_ns"], f"{name}: the first cause is named no later than the last", run)
enough, little = point(first, "full-polling", "10MB"), point(first, "full-polling", "1MB")
check(enough["accuracy"]["value"] == 1 and enough["dropped"]["value"] == 0, "full polling is right where its rows fit", enough)
check(little["dropped"]["value"] > 100 and little["recall"]["value"] < 1, "and is not where most are dropped", little)
check(little["share_error"]["value"] > 5 * enough["share_error"]["value"], "whose shares are then wrong", (little, enough))
ours = point(first, "vedrfolnir", "1MB")
check(ours["accuracy"]["value"] == 1 and ours["dropped"]["value"] > 0, "what is polled for is right, though it is held back, too", ours)
check(ours["link_bytes_s"]["value"] > 0 == little["link_bytes_s"]["value"], "polls take links, full polling none", ours)
check(not any(r["measure"] == "accuracy" for r in first["reversals"]), "more budget is never worse here", first["reversals"])

rows = list(csv.DictReader((out / "runs.csv").open()))
check(len(rows) == len(first["runs"]) and {r["policy"] for r in rows} == {p["policy"] for p in first["points"]}, "a row a run", rows)
check(len(list(csv.DictReader((out / "points.csv").open()))) == len(first["points"]), "and one a point")
for name in ("accuracy", "share-error", "detection", "verdict"):
    drawn = (out / f"{name}.svg").read_text()
    curves = [e for e in tree.fromstring(drawn).iter() if e.tag.endswith("path")]
    check(len(curves) == len(POLICIES) and "nan" not in drawn, f"{name}.svg: a curve a policy", drawn[:400])

# A run that is not there is made again, and gives the same; others are not touched.
results = sorted(out.glob("case-study/1/*/result.json"))
check(len(results) == len(first["runs"]), "a result a run", results)
kept = results[1].stat().st_mtime_ns
results[0].unlink()
check(measure(*ARGS) == first, "resumed: the same results")
check(results[1].stat().st_mtime_ns == kept, "and finished runs were not made again")
table = command(*BENCH, *ARGS[:-1]).stdout
check("full-polling" in table and "No policy has fewer right verdicts" in table, "a table for people", table)

# What cannot run is refused before anything runs, and leaves nothing that a right command is refused for.
refused = scratch() / "refused"
for args, words in (((CASE, "--policy", "vedrfolner", "--out", out), "no detection policy"),
                    ((CASE, "--budget", "much", "--out", out), "much"),
                    ((CASE, "--set", "host.cc=none", "--out", out), "other --set"),
                    ((CASE, "--policy", "vedrfolnir+meteors=1", "--out", out), "detection.meteors: unknown key"),
                    (("contention", "--scale", 0.01, "--seeds", 1, "--policy", "vedrfolnir+meteors=1", "--out", scratch() / "key"),
                     "detection.meteors: unknown key"),
                    ((CASE, "--set", "meteors=1", "--out", refused), "unknown key"),
                    ((CASE, "--set", "meteors=2", "--out", refused), "unknown key"),
                    (("contention", "--policy", "flowpulse", "--out", scratch() / "family"), "judge of family"),
                    (("no-such.cfg", "--out", out), "no family"),
                    ((CASE, "--policy", "./no-such", "--out", out), "no-such")):
    text = reported(command(*BENCH, *args, expect=2))
    check(words in text, f"refused: {words}", text)

if not SANITIZED:
    family = measure("contention", "--scale", 0.05, "--policy", "vedrfolnir", "--budget", "100KB,10MB", "--seeds", 1, "--no-times",
                     "--out", scratch() / "family", "--json")
    check([r["outcome"] for r in family["runs"]] == ["fp", "tp"], "a family's judge grades", family["runs"])
    check(all(r["share_error"] is None is r["detection_ns"] for r in family["runs"]), "it knows no shares, and times were not asked for",
          family["runs"])
    causes = measure("counterfactual", "--policy", "vedrfolnir,pingmesh", "--budget", "10MB", "--seeds", 1, "--no-times",
                     "--out", scratch() / "causes", "--json")
    check(all(r["accuracy"] is not None for r in causes["runs"]), "random scenarios of several causes", causes["runs"])

    # What the page has of it.
    loader = importlib.machinery.SourceFileLoader("telemetry_tables", str(SOURCE / "scripts/telemetry-tables"))
    tables = importlib.util.module_from_spec(importlib.util.spec_from_loader("telemetry_tables", loader))
    loader.exec_module(tables)
    text = tables.PAGE.read_text(encoding="utf-8")
    table, figure = tables.tradeoff(ROCELAB)
    for row in table.splitlines() + tables.budget(ROCELAB).splitlines() + tables.stages(ROCELAB).splitlines():
        check(row + "\n" in text, f"docs/telemetry-benchmark.md: {row}", "scripts/telemetry-tables writes it anew")
    check(tables.FIGURE.read_text(encoding="utf-8") == figure, "and the figure is the one of this program")
