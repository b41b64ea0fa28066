#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Generated flows through whole runs: on an idle fabric they take the ideal time, the offered load is the one asked for,
the summary is that of flows.csv, lcores change nothing, and a collective's data beside them stays right."""
import csv
import math
import re

from cases import TOPOLOGY, ring, small
from harness import ANALYZER, ROCELAB, SANITIZED, SCENARIOS, check, command, dpswitch, rocelab, scenario_file, scratch

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
    check(done.verdict["network"]["innocent"] and not done.findings(), "idle fabric: the network is innocent",
          done.verdict["network"])


def nearest_rank(values, percent):
    return sorted(values)[math.ceil(len(values) * percent / 100) - 1]


def websearch():
    done, twin = rocelab(WEB), rocelab(WEB, "--lcores", "2")
    check_run(done, "web search")
    check(done.run["digest"] == twin.run["digest"] and flows(done) == flows(twin) and done.verdict == twin.verdict,
          "web search: two lcores change nothing")
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


def cut_before_its_flows():
    """Of a recording that breaks off before all flows of the first generator are described, the headline says that there were more."""
    done = dpswitch(INCAST)
    whole = (done.dir / "records.bin").read_bytes()
    inside = 0
    for size in range(3000, 30000, 1500):
        cut = scratch() / "records.bin"
        cut.write_bytes(whole[:size])
        reported = " ".join(command(ANALYZER, "--read", cut, "--out", scratch(), "--print", expect=None).stdout.split())
        found = [re.search(pattern, reported) for pattern in (r"of (\d+) flows", r"(\d+) more did not finish")]
        if None in found:  # cut before the first flow, or behind the last
            continue
        inside += 1
        described, more = (int(match[1]) for match in found)
        check(described + more == sum(row["generator"] == "storage" for row in flows(done)), f"cut at {size} B: flows that are not described are counted", reported[:300])
    check(inside >= 2, "some recordings break off among the descriptions", inside)


def offered_load():
    """Of thousands of flows, the bytes are within four standard deviations of the load asked for. Nobody is to judge them."""
    ms = 2 if SANITIZED else 10
    done = dpswitch(WEB, *change(sizes="alistorage", until=f"{ms}ms"), "--set", "detection.policy=off")
    rows = flows(done)
    total = sum(row["bytes"] for row in rows)
    deviation = math.sqrt(sum(row["bytes"] ** 2 for row in rows))
    asked = 0.5 * 16 * 100e9 / 8 * ms / 1000
    check(abs(total - asked) < 4 * deviation, "offered load: as asked for", (total, asked, deviation))
    check_run(done, "offered load")


def incast():
    done = rocelab(INCAST)
    check_run(done, "incast")
    rows = [row for row in flows(done) if row["generator"] == "incast"]
    check(len(rows) == 36 and {row["start_ns"] for row in rows} == {200_000, 700_000, 1_200_000},
          "incast: three times twelve flows", len(rows))
    # 2.4 MB take 202 us on the last cable where one of the twelve alone would have been done after 30 us
    last = [max(row["slowdown"] for row in rows if row["start_ns"] == start) for start in {row["start_ns"] for row in rows}]
    # The verdict: each flow is a step, judged against the idle fabric; who is slow waits at the last hop to h0.
    (observed,) = [each for each in done.verdict["flows"] if each["name"] == "incast"]
    # A base RTT beyond 1 %: cables of 1 us, and frames that are stored and forwarded; 20 us is between that and any wait.
    slow = sum(row["end_ns"] - row["begin_ns"] > 1.01 * row["ideal_ns"] + 20000 for row in rows)
    check(abs(observed["slow"] - slow) <= 1 and observed["flows"] == len(rows) and observed["open"] == 0,
          "incast: the verdict counts its slow flows", (observed, slow))
    victims = {victim for f in done.findings() if f["root"] == "l0:1" for victim in f["victims"]}
    sent = {f"{row['src']}->{row['dst']}/{row['sport']:.0f}>{row['dport']:.0f}" for row in rows if row["slowdown"] > 2.5}
    check(sent and sent <= victims, "incast: all of them are victims of the cable to h0", sorted(sent - victims))
    check(not done.verdict["network"]["innocent"] and done.findings()[0]["root"] == "l0:1",
          "incast: and that is what costs most", done.findings()[0])
    check("flows took longer than on an idle fabric, by more than 1 % and a base RTT" in done.report, "incast: the report speaks of flows", done.report[:300])
    check(min(last) > 6 and all(row["dst"] == "h0" for row in rows), "incast: twelve share a cable", last)


def listed():
    """Flows by name, without collectives: judged too, but for one that repeats."""
    done = rocelab(scenario_file(TOPOLOGY + """flows = ( { src = "a1"; dst = "b1"; sport = 20001; bytes = "4MB"; },
        { src = "a2"; dst = "b1"; sport = 20002; bytes = "4MB"; }, { src = "b2"; dst = "b1"; sport = 20003; bytes = "4MB"; },
        { src = "b1"; dst = "a1"; sport = 20004; bytes = "1MB"; mode = "repeat"; until = "300us"; } );"""))
    check_run(done, "listed flows")
    (observed,) = done.verdict["flows"]
    check(observed["name"] == "flows" and observed["flows"] == observed["slow"] == 3, "listed flows: three of them are slow", observed)
    first = done.findings()[0]
    check(first["root"] == "B:3" and len(first["victims"]) == 3, "listed flows: each by the others, at the cable to b1", first)


def beside_a_collective():
    done = rocelab(small(collective=ring(), extra="""generators = ( { kind = "permutation"; load = 0.3; bytes = 100000;
        until = "300us"; } );"""))
    check_run(done, "beside a collective")
    check(done.wrong() == ["0"], "beside a collective: its data is right", done.stdout)
    check(done.run["flows"]["flows"] > 10, "beside a collective: flows came", done.run["flows"])
    check("flows" not in done.verdict and len(done.verdict["collectives"]) == 1,
          "beside a collective: they are traffic that the diagnosis knows nothing of")


def bad_input():
    done = command(ROCELAB, "run", WEB, *change(sizes="alistorage", connections=4096, until="100ms"), expect=2)
    check("limits.memory" in done.stderr and "lower the generators' until, load or connections" in done.stderr,
          "too many connections are refused", done.stderr)
    done = command(ROCELAB, "run", scenario_file(TOPOLOGY + """generators = ( { kind = "poisson"; load = 0.5;
        until = "1ms"; sizes_file = "nowhere.txt"; } );"""), expect=2)
    check("nowhere.txt: No such file" in done.stderr, "a file that is not there is named", done.stderr)


idle_fabric()
websearch()
cut_before_its_flows()
offered_load()
incast()
listed()
beside_a_collective()
bad_input()
