#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""(job, collective, iteration, rank, step) names a step, and means the same in records.bin, steps.csv, verdict.json and
run.json, in the table of results and on the page."""
import collections

import records
from harness import SCENARIOS, check, dpswitch, page_data, rocelab, scenario_file

FABRIC = (SCENARIOS / "include" / "two-pods.inc").read_text()

GOAL = """num_ranks 2
rank 0 {
l1: calc 50000
l2: send 400000b to 1 tag 1
l3: send 200000b to 1 tag 2
l2 requires l1
l3 requires l1
}
rank 1 {
r1: recv 400000b from 0 tag 1
r2: recv 200000b from 0 tag 2
l1: calc 20000
l1 requires r1
l1 requires r2
}
"""
SCENARIO = scenario_file(FABRIC + """
detection = { detections = 3; };
collectives = (
  { op = "allgather"; algorithm = "ring"; ranks = [ "12", "14", "16", "18" ]; step_bytes = "2MB"; iterations = 3; },
  { op = "allreduce"; algorithm = "halving-doubling"; ranks = [ "13", "15", "17", "19" ]; bytes = "4MB"; iterations = 2; },
  { ranks = [ "12", "16" ]; schedule = { kind = "goal"; file = "pair.goal"; }; start = "1us"; }
);
jobs = (
  { name = "train"; ranks = [ "12", "15", "18" ]; iterations = 2; compute = "30us"; collectives = (
    { name = "grads"; op = "allreduce"; bytes = "600KB"; },
    { name = "weights"; op = "broadcast"; algorithm = "ring"; bytes = "200KB"; } ); },
  { name = "serve"; ranks = [ "13", "16" ]; iterations = 2; start = "50us"; collectives = (
    { name = "shuffle"; op = "alltoall"; algorithm = "linear"; bytes = "400KB"; } ); }
);
flows = ( { src = "13"; dst = "14"; sport = 7; bytes = "6MB"; } );
faults = ( { kind = "slow-host"; host = "16"; delay = "300us"; step = 2; } );
""")
(SCENARIO.parent / "pair.goal").write_text(GOAL)
run = rocelab(SCENARIO)
stream = records.read(run.dir / "records.bin")
verdict, rows = run.verdict, run.steps()


def key(item, *more):
    return tuple(int(item[name]) for name in ("job", "collective", "iteration", *more))


described = {(c.job, c.id, c.iteration): c for _, c in records.of(stream, records.COLLECTIVE)}
scheduled = {(s.collective, s.iteration, s.rank, s.step): s for _, s in records.of(stream, records.SCHEDULE)}
check(len(described) == 12 and {key[:2] for key in described} == {(0, 0), (1, 1), (2, 2), (3, 3), (3, 4), (4, 5)},
      "12 iterations of six collectives of five jobs are described", described.keys())

check({key(c) for c in verdict["collectives"]} == set(described), "verdict.json has them", verdict["collectives"])
numbered = {(job["job"], c["collective"], i): c for job in run.run["jobs"] for c in job["collectives"]
            for i in range(job["iterations"])}
check(set(numbered) == set(described), "run.json has them", run.run["jobs"])
check(all(numbered[key(c)]["name"] == c["name"] for c in verdict["collectives"]), "and gives them the same names")
check(all(numbered[name]["steps"] == c.steps for name, c in described.items()), "and as many steps")

mine = [row for row in rows if row["job"] != "-"]
names = [key(row, "rank", "step") for row in mine]
check(len(set(names)) == len(names) == len(scheduled), "steps.csv has each step once", (len(names), len(scheduled)))
check({name[1:] for name in names} == set(scheduled), "and those that are scheduled")
check(all(name[:3] in described for name in names), "of collectives that are described")
check(all(int(row["bytes"]) == scheduled[key(row, "rank", "step")[1:]].bytes and
          int(row["channel"]) == scheduled[key(row, "rank", "step")[1:]].channel for row in mine), "with their sizes and channels")
local = collections.Counter((*key(row)[:2], row["bytes"]) for row in mine if row["src"] == row["dst"])
check(local == {(2, 2, "0"): 2, (3, 3, "0"): 6, (4, 5, "200000"): 4}, "computation and copies are there as well", local)
check([row["step"] for row in rows if row["job"] == "-"] == ["0"], "a background flow is nobody's step", rows)

reported = {(s.collective, s.iteration, s.rank, s.step): s for _, s in records.of(stream, records.STEP)}
waits = {key(row, "rank", "step")[1:]: tuple(row[f"waited_{name}"] for name in ("collective", "rank", "step")) for row in mine}
check(all(waits[name] == (("-",) * 3 if s.waited_step == 0 else
                          tuple(map(str, (s.waited_collective, s.waited_rank, s.waited_step))))
          for name, s in reported.items()), "STEP and steps.csv say alike what steps waited for")
check(any(w[1] not in ("-", str(name[2])) for name, w in waits.items()), "some waited for another rank")
check({(name[0], w[0]) for name, w in waits.items() if w[0] not in ("-", str(name[0]))} == {(4, "3")},
      "and some for the collective before theirs in the job")
check([(f.collective, f.after) for _, f in records.of(stream, records.FOLLOW)] == [(4, 3)], "which they follow")
for kind in ("TRIGGER", "NOTIFY", "DEPEND"):
    named = {(r.collective, r.iteration, r.rank, r.step) for _, r in records.of(stream, getattr(records, kind))}
    check(named and named <= set(scheduled), f"{kind} names such steps", named - set(scheduled))

times = {key(row, "rank", "step"): (int(row["start_ns"]), row) for row in mine}
path = verdict["critical_path"]
check(path and all(key(step, "rank", "step") in times for step in path), "the critical path is of such steps", path)
check(all(times[key(step, "rank", "step")][0] == step["start_ns"] for step in path), "which began when steps.csv says")
check(all((step["waited_for"] is None) == (times[key(step, "rank", "step")][1]["waited_step"] == "-") for step in path),
      "and waited for what it says")
parts = [(f, part) for f in verdict["findings"] for part in f["iterations"]]
check(parts and all(key(part) in described for _, part in parts), "findings are of such collectives", verdict["findings"])
check(all((*key(part), s["rank"], s["step"]) in times for _, part in parts for s in part["steps"]), "and of their steps")
check(all(sum(part["explained_ns"] for part in f["iterations"]) <= f["explained_ns"] + len(f["iterations"])
          for f in verdict["findings"]), "with what they cost in each", verdict["findings"])
late = run.findings("slow-host")
check([f["root"] for f in late] == ["16"], "the slow host is named once", late)
check({(*key(part)[:2], s["rank"]) for part in late[0]["iterations"] for s in part["steps"]} == {(0, 0, 2), (4, 5, 1)},
      "as the rank that it is in each job", late)
check(all(key(p, "rank", "step") in times for c in verdict["contributors"] for p in c["per_critical_flow"]),
      "contributors' steps as well")

jobs = {job["job"]: job for job in verdict["jobs"]}
check({job["job"]: [c["collective"] for c in job["collectives"]] for job in run.run["jobs"]} ==
      {n: [c["collective"] for c in job["collectives"]] for n, job in jobs.items()}, "jobs have the same collectives", jobs)
for number, job in jobs.items():
    own = [c for c in verdict["collectives"] if c["job"] == number]
    check(job["iterations"] == len({c["iteration"] for c in own}) and job["end_ns"] == max(c["end_ns"] for c in own) and
          job["start_ns"] == min(c["start_ns"] for c in own), f"{job['name']}: from its first start to its last end", job)
    check(abs(job["compute_share"] + sum(c["share"] for c in job["collectives"]) - 1) < 1e-6, f"{job['name']}: shares are of one",
          job)
    check(job["name"] in run.report, f"{job['name']}: the report has it")

named = [(c["name"], c["iteration"]) for c in verdict["collectives"]]
rows = [line.split() for line in run.report.splitlines()]
check([(row[9], int(row[8])) for row in rows if len(row) == 10 and (row[0].isdigit() or row[0] == "-") and "/" in row[1]] ==
      named, "the report's table names them", run.report)
rows = [line.split() for line in dpswitch(SCENARIO).stdout.splitlines()]
check([(row[10], int(row[11])) for row in rows if len(row) == 12 and (row[0].isdigit() or row[0] == "-")] ==
      [(c["name"], c["iteration"]) for c in sorted(verdict["collectives"], key=key)], "and so do the results", rows)

page = page_data(run)
check([key(c) for c in page["collectives"]] == [key(c) for c in verdict["collectives"]], "the page has them in the same order")
check(all([key(page["collectives"][at]) for at in f["collectives_at"]] == [key(part) for part in f["iterations"]]
          for f in page["findings"]), "and its findings point at them")
