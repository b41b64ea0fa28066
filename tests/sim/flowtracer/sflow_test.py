#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Flows by packets that leaves sample: the same ways as by what hosts report, as many as chance says, at no cost to the run; in a run in
real time, by its sockets; and what is refused."""
import csv
import pathlib
import re
import signal
import subprocess
import tempfile
import time
from collections import defaultdict

import records
from devices import CLOS, paths, trace, traced
from harness import STALL_LIMIT_S, ROCELAB, SCENARIOS, check, command, rocelab, scenario_file, sets, until

BASE = """
name = "sampled";
topology = { kind = "leaf-spine"; leaves = 4; spines = 4; hosts_per_leaf = 4; rate = "100Gbps"; delay = "1us"; };
flowtracer = { enabled = true; rtt = "20us"; processes = 4; start = "3ms"; first_hop = "sflow"; };
switch = { sampling = 20; };
jobs = ( { name = "train"; ranks = [ "h[0-15]" ]; iterations = 4; compute = "1ms";
           collectives = ( { name = "a2a"; op = "alltoall"; algorithm = "pairwise"; bytes = "2MB"; } ); } );
"""
MTU = 1024


def routes(run):
    found = defaultdict(list)
    with open(run.dir / "flowtracer.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found[row["flow"]].append((row["port"], row["choices"], row["result"]))
    return dict(found)


def chance(run, rate, at_ns):
    """Of flows, how many should be seen and by how much that deviates: each packet that was sent by then has its chance."""
    packets = defaultdict(int)
    for row in run.steps():
        if row["src"] != row["dst"] and int(row["start_ns"]) < at_ns:
            packets[row["src"], row["dst"]] += -(-int(row["bytes"]) // MTU)
    seen = [1 - (1 - 1 / rate) ** n for n in packets.values()]
    return sum(seen), sum(p * (1 - p) for p in seen) ** 0.5


def virtual():
    path = scenario_file(BASE)
    by_hosts = rocelab(path, *sets(**{"flowtracer.first_hop": '"host"'}))
    unsampled = rocelab(path, *sets(**{"flowtracer.first_hop": '"host"', "switch.sampling": 0}))
    kept = [[r for r in records.read(run.dir / "records.bin") if r.type != records.SETTING] for run in (by_hosts, unsampled)]
    check(kept[0] == kept[1], "what a switch samples changes no packet", [len(one) for one in kept])
    reported = routes(by_hosts)
    check(len(reported) == 240, "hosts report all flows", len(reported))
    for rate in (20, 100, 300, 1000):
        run = rocelab(path, *sets(**{"switch.sampling": rate}))
        found = routes(run)
        check(found and all(reported[flow] == route for flow, route in found.items()), f"1 in {rate}: ways are those that hosts report")
        mean, deviation = chance(run, rate, 3_000_000)
        check(abs(len(found) - mean) <= 4 * deviation + 1, f"1 in {rate}: as many as chance says", (len(found), mean, deviation))
        summed = run.verdict["flowtracer"]["rounds"][0]
        check(summed["flows"] == summed["traced"] == len(found) and summed["complete"], "the round says so", summed)
        sure = [f["confidence"] for f in run.findings("path-imbalance")]
        check(all(c <= len(found) / 240 + 0.01 for c in sure), "what is not seen makes findings less sure", (sure, len(found)))
    run, other = rocelab(path), rocelab(path, "--lcores", 2)
    check((run.dir / "records.bin").read_bytes() == (other.dir / "records.bin").read_bytes(), "two lcores make the same records")
    early = rocelab(path, *sets(**{"flowtracer.start": '"200us"'})).verdict["flowtracer"]
    check(early["paths"] == [] and early["rounds"][0]["complete"] and early["rounds"][0]["questions"] == 16,
          "who has sent nothing yet has no flow", early["rounds"])
    bonds = rocelab(SCENARIOS / "flowtracer.cfg", *sets(**{
        "flowtracer.first_hop": '"sflow"', "flowtracer.start": '"500us"', "switch.sampling": 10}))
    whole = rocelab(SCENARIOS / "flowtracer.cfg")
    check(len(routes(bonds)) == 256 and routes(bonds) == routes(whole), "of bonds, the member that each flow leaves by",
          len(routes(bonds)))


def live():
    scenario = scenario_file(CLOS.replace("100Gbps", "1Gbps").replace("1us", "50us") + """timing = { clock = "real"; };
management = { sockets = true; }; limits = { hold = "600s"; }; switch = { sampling = 5; };
""")
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.Popen([ROCELAB, "run", scenario, "--out", folder], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        sockets, found = pathlib.Path(folder) / "management", []
        until("all devices have sockets", lambda: len(list(sockets.glob("*.manage"))) == 24, run)
        while len(found) < 240 and run.poll() is None:
            by_samples = traced(folder, "--first-hop", "sflow", "--dport", "4791", expect=None)
            found = by_samples["flows"]
            time.sleep(0.1)
        reported = paths(traced(folder))
        others = [f for f in traced(folder, "--first-hop", "sflow")["flows"] if f["dport"] != 4791]
        few = traced(folder, "--first-hop", "sflow", "--hosts", "h1", "--connections", "ad-hoc")
        text = trace(folder, "--first-hop", "sflow").stdout
        none = traced(folder, "--first-hop", "sflow", "--dport", "22")["flows"]
        run.send_signal(signal.SIGINT)  # however long that took
        run.communicate(timeout=STALL_LIMIT_S)
        check(run.returncode >= 0, "the run ends", run.returncode)
    check(paths(by_samples) == reported and len(reported) == 240, "samples report what hosts do", (len(found), len(reported)))
    check(others and all(flow["state"] == "arrived" for flow in others), "and, unasked, what else hosts send: notifications here")
    check({flow["source"] for flow in few["flows"]} == {"h1"} and few["samples"]["count"] > 0, "--hosts", few["samples"])
    check("flows by " in text and none == [], "how many samples they are known by is said", text)


def refused():
    path = scenario_file(BASE)
    done = command(ROCELAB, "run", path, *sets(**{"switch.sampling": 0}), "--out", "/nonexistent", expect=2)
    check("first_hop" in done.stderr and "switch.sampling" in done.stderr, "no samples, no flows", done.stderr)
    needs = []
    for rate in (0, 20):
        done = command(ROCELAB, "run", path, *sets(**{"switch.sampling": rate, "flowtracer.enabled": "false", "limits.memory": '"2MB"'}),
                       "--out", "/nonexistent", expect=2)
        needs.append(float(re.search(r"takes about (\S+) MB", done.stderr).group(1)))
    check(0.15 < needs[1] - needs[0] < 0.4, "what samples take is in what a run takes: 16 ports of 16 KiB", needs)
    for args, words in (((path, "--first-hop", "sflow"), "a scenario without a run has no packets"),
                        ((path, "--first-hop", "sflow", "--job", "train"), "packets do not identify their job"),
                        ((path, "--first-hop", "hearsay"), "host or sflow")):
        done = trace(*args, expect=2)
        check(words in done.stderr, words, done.stderr)


for part in (virtual, live, refused):
    part()
