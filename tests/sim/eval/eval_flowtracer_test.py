#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rocelab eval flowtracer: hashes are as uneven as chance, static paths are even and regain the time, runs are kept."""
import json
import statistics

from harness import ROCELAB, SANITIZED, SCENARIOS, check, command, scenario_file, scratch

SCENARIO = SCENARIOS / "flowtracer.cfg"
SEEDS, RUNS = (40, 1) if SANITIZED else (200, 2)


def study(out, *args, scenario=SCENARIO, expect=0):
    return command(ROCELAB, "eval", "flowtracer", scenario, "--out", out, *args, expect=expect)


def medians(of):
    return statistics.median(pair["gbps"] for pair in of["pairs"])


out = scratch()
args = ("--seeds", SEEDS, "--runs", RUNS)
reported = study(out, *args).stdout
kept = json.loads((out / "flowtracer.json").read_text())
groups = {group["links"]: group for group in kept["groups"]}
check(set(groups) == {"host to leaf", "leaf to spine", "spine to leaf", "leaf to host", "links of switches", "all links"},
      "layers and directions", set(groups))
for name, group in groups.items():
    error = statistics.stdev(group["percent"]) / SEEDS ** 0.5
    off = statistics.mean(group["percent"]) - group["expected"]
    check(len(group["percent"]) == SEEDS and abs(off) < 4 * error, f"{name}: as chance has it", (off, error))
check(kept["flows"] == 256 and groups["all links"]["count"] == 256 and groups["all links"]["ideal"] == 4,
      "256 flows, four a link", kept["flows"])
for placement in "ecmp", "static":
    check(len(kept[placement]["pairs"]) == 16 * RUNS, f"{placement}: 16 pairs of hosts a run", len(kept[placement]["pairs"]))
check(max(kept["static"]["percent"]) == 0, "static paths are even", kept["static"]["percent"])
check(medians(kept["static"]) > 1.2 * medians(kept["ecmp"]), "and pairs are faster by them",
      (medians(kept["static"]), medians(kept["ecmp"])))
check(max(kept["static"]["job_ns"]) < min(kept["ecmp"]["job_ns"]), "the job too",
      (kept["static"]["job_ns"], kept["ecmp"]["job_ns"]))
last = out / "static" / str(RUNS) / "steps.csv"
before = last.stat().st_mtime_ns
check(study(out, *args).stdout == reported, "the same again")
check(last.stat().st_mtime_ns == before, "of runs that are kept")
steps = out / "ecmp" / "1" / "steps.csv"
steps.write_text("a,b\n1,2\n")
done = study(out, *args, expect=None)
check(done.returncode == 2 and "steps.csv:2: is no step of a flow" in done.stderr, "what is no result is said", done.stderr)
steps.unlink()
check(study(out, *args).stdout == reported, "and made again")
other = scenario_file(SCENARIO.read_text().replace("64MB", "32MB"), "flowtracer.cfg")
done = study(out, *args, scenario=other, expect=None)
check(done.returncode == 2 and "case.cfg" in done.stderr, "results of another scenario are not taken", done.stderr)
done = study(scratch(), "--seeds", 2, "--runs", 3, expect=None)
check(done.returncode == 2 and "3 runs of 2 seeds" in done.stderr, "more runs than seeds", done.stderr)
