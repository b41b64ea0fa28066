#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Generated flows through whole runs: on an idle fabric they take the ideal time, the offered load is the one asked for,
the summary is that of flows.csv, lcores change nothing, and a collective's data beside them stays right."""
import csv
import math

from cases import TOPOLOGY, ring, small
from harness import ROCELAB, SCENARIOS, check, command, rocelab, scenario_file

WEB = SCENARIOS / "poisson-websearch.cfg"
INCAST = SCENARIOS / "incast-flows.cfg"


def flows(run):
    with open(run.dir / "flows.csv", newline="") as file:
        return [{key: value if key in ("generator", "src", "dst") else float(value or "nan") for key, value in row.items()}
                for row in csv.DictReader(file)]


def change(**keys):
    """Of the scenario's first generator."""
    return [arg for key, value in keys.items() for arg in ("--set", f"generators.[0].{key}={value}")]


def check_run(run, name):
    check(run.run["end_reason"] == "complete" and all(i["holds"] for i in run.run["invariants"]), f"{name}: it is sound",
          run.run["invariants"])


def idle_fabric():
    """Flows one after another: what is called ideal is what the fabric takes, headers of first and last packets aside."""
    done = rocelab(scenario_file(TOPOLOGY + """generators = ( { kind = "poisson"; src = [ "a1" ]; dst = [ "b1" ];
        rate = "20Mbps"; sizes = "hadoop"; until = "1s"; connections = 1; } );"""))
    rows = [row for row in flows(done) if row["begin_ns"] == row["start_ns"]]
    check(len(rows) > 10, "idle fabric: flows came", len(rows))
    check(all(1 <= row["slowdown"] < 1.005 for row in rows), "idle fabric: slowdowns are 1",
          sorted(row["slowdown"] for row in rows))


def nearest_rank(values, percent):
    return sorted(values)[math.ceil(len(values) * percent / 100) - 1]


def websearch():
    done, twin = rocelab(WEB), rocelab(WEB, "--lcores", "2")
    check_run(done, "web search")
    check(done.run["digest"] == twin.run["digest"] and flows(done) == flows(twin), "web search: two lcores change nothing")
    rows, summary = flows(done), done.run["flows"]
    slowdowns = [row["slowdown"] for row in rows]
    check(summary["flows"] == len(rows) > 200 and summary["open"] == 0, "web search: all flows are complete", summary)
    everything = summary["slowdown"][-1]
    for key, percent in (("p50", 50), ("p99", 99), ("max", 100)):
        check(abs(everything[key] - nearest_rank(slowdowns, percent)) < 0.001, f"web search: {key} is that of flows.csv",
              everything)
    check(sum(bucket["flows"] for bucket in summary["slowdown"][:-1]) == len(rows), "web search: buckets hold every flow")
    check(min(slowdowns) >= 1, "web search: none is faster than ideal", min(slowdowns))
    check(all(row["start_ns"] < 5_000_000 and row["src"] != row["dst"] for row in rows), "web search: until 5 ms")
    other = rocelab(WEB, "--seed", "2")
    check({row["start_ns"] for row in flows(other)}.isdisjoint(row["start_ns"] for row in rows), "web search: seeds differ")


def offered_load():
    """Of 24,000 flows, the bytes are within four standard deviations of the load asked for."""
    done = rocelab(WEB, *change(sizes="alistorage", until="10ms"))
    rows = flows(done)
    total = sum(row["bytes"] for row in rows)
    deviation = math.sqrt(sum(row["bytes"] ** 2 for row in rows))
    asked = 0.5 * 16 * 100e9 / 8 * 0.010
    check(abs(total - asked) < 4 * deviation, "offered load: as asked for", (total, asked, deviation))
    check_run(done, "offered load")


def incast():
    done = rocelab(INCAST)
    check_run(done, "incast")
    rows = [row for row in flows(done) if row["generator"] == "incast"]
    check(len(rows) == 48 and {row["start_ns"] for row in rows} == {200_000, 700_000, 1_200_000, 1_700_000},
          "incast: four times twelve flows", len(rows))
    # 2.4 MB take 202 us on the last cable where one of the twelve alone would have been done after 30 us
    last = [max(row["slowdown"] for row in rows if row["start_ns"] == start) for start in {row["start_ns"] for row in rows}]
    check(min(last) > 6 and all(row["dst"] == "h0" for row in rows), "incast: twelve share a cable", last)


def beside_a_collective():
    done = rocelab(small(collective=ring(), extra="""generators = ( { kind = "permutation"; load = 0.3; bytes = 100000;
        until = "300us"; } );"""))
    check_run(done, "beside a collective")
    check(done.wrong() == ["0"], "beside a collective: its data is right", done.stdout)
    check(done.run["flows"]["flows"] > 10, "beside a collective: flows came", done.run["flows"])


def bad_input():
    done = command(ROCELAB, "run", WEB, *change(sizes="alistorage", connections=4096, until="100ms"), expect=2)
    check("a run can have 65534: lower their connections" in done.stderr, "too many connections are refused", done.stderr)
    done = command(ROCELAB, "run", scenario_file(TOPOLOGY + """generators = ( { kind = "poisson"; load = 0.5;
        until = "1ms"; sizes_file = "nowhere.txt"; } );"""), expect=2)
    check("nowhere.txt: No such file" in done.stderr, "a file that is not there is named", done.stderr)


idle_fabric()
websearch()
offered_load()
incast()
beside_a_collective()
bad_input()
