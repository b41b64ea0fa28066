#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The analyzer on a job whose schedules are no chains: it computes, exchanges with all at once, computes with what came,
and adds up; in its second iteration one rank computes for too long."""
import streams
from harness import ANALYZER, Run, check, command, scratch

out = scratch()
(out / "records.bin").write_bytes(streams.job())
run = Run(out, command(ANALYZER, "--read", out / "records.bin", "--out", out, "--print"))
verdict = run.verdict
path = [[(s["collective"], s["rank"], s["step"]) for s in verdict["critical_path"] if s["iteration"] == i] for i in (0, 1)]

check([(c["name"], c["iteration"]) for c in verdict["collectives"]] ==
      [("forward", 0), ("grads", 0), ("forward", 1), ("grads", 1)], "collectives by iteration of the job")
check(all(c["complete"] for c in verdict["collectives"]), "all are complete")
check([len(p) for p in path] == [4, 4] and [p[0][2] for p in path] == [1, 1] and [p[2][2] for p in path] == [5, 5],
      "a critical path goes through both collectives and computation", path)
check(path[1][0] == (0, 2, 1), "the second begins with the computation that took too long", path[1])
check(path[1][1][1] == 2 and path[1][2][1] != 2, "goes on with what that rank sent", path[1])
check([s["flow"] for s in verdict["critical_path"]][:1] == [None] and
      verdict["critical_path"][1]["flow"].startswith("h"), "computation has no flow")
finding = run.findings()
check([(f["type"], f["root"], i["collective"], i["iteration"], i["steps"]) for f in finding for i in f["iterations"]] ==
      [("slow-host", "h2", 0, 1, [{"rank": 2, "step": 1}])], "the host is found, and nobody else", finding)
check("20.000 ms longer than the 10.000 ms configured" in finding[0]["evidence"], "with its milliseconds", finding[0])
check(verdict["network"]["innocent"], "the network is innocent", verdict["network"])

train, = verdict["jobs"]
parts = {c["name"]: c["path_ns"] for c in train["collectives"]}
check(train["name"] == "train" and train["iterations"] == 2 and train["unfinished"] == 0, "one job, twice", train)
check(train["start_ns"] == 0 and train["end_ns"] == max(c["end_ns"] for c in verdict["collectives"]), "from start to end", train)
check(train["lost_ns"] == 20 * 10 ** 6, "20 ms are lost", train)
check(parts == {"forward": 12 * 10 ** 6, "grads": 16 * 10 ** 6}, "collectives' parts of its critical paths", parts)
check(abs(train["compute_share"] - 50 / 78) < 1e-9, "and that of computation", train)
check("computation 64 %, grads 21 %, forward 15 %" in run.report, "the report says so", run.report)
check("forward: h2 (computation)" in run.report or "grads: h" in run.report, "and names collectives on the path", run.report)

check(" ".join(run.report.split()).startswith("Iteration 1 of job train, 2 collectives over 4 ranks, took 49.000 ms; it "
                                              "lost 20.000 ms of that, most in forward."), "the headline is of the job's iteration", run.report[:200])

graph = (out / "waiting.dot").read_text()
check(graph.count("subgraph") == 2 and "job train, iteration 1: 2 collectives" in graph, "a graph of each iteration")
# of the slowest iteration alone: each start waits for one thing, though three had to arrive
check(graph.count('label="own"') + graph.count('label="data"') == 2 * (16 + 4), "one arrow a start but the first",
      (graph.count('label="own"'), graph.count('label="data"')))
