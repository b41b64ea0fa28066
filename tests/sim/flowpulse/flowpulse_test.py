#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""FlowPulse's monitors and diagnoser in whole runs: the ready-made scenario, both directions of a link, no fault at all, the ways
to predict, one sender a leaf, and what lcores must not change."""
import json
import time

import records
from harness import ROCELAB, SCENARIOS, check, command, rocelab, scenario_file, scratch, sets, within

SCENARIO = SCENARIOS / "flowpulse.cfg"


def diagnosed(*args, **keys):
    run = rocelab(SCENARIO, *sets(**keys), *args)
    verdict = json.loads((run.dir / "verdict.json").read_text())
    return run, verdict["flowpulse"], [f for f in verdict["findings"] if f["type"] == "silent-fault"]


def telemetry(run):
    """Records of monitors, whatever else was in the stream."""
    kinds = (records.VOLUME, records.VOLUME_ALARM, records.VOLUME_FLAW, records.MONITORED)
    return [(r.type, r.node, r.time_ps, r.body) for r in records.read(run.dir / "records.bin") if r.type in kinds]


began = time.monotonic()
run, reported, found = diagnosed()
check(within(began, 20), f"the scenario took {time.monotonic() - began:.1f} s")
check([f["root"] for f in found] == ["l2:3"], "the link is named, and no other", found)
fault = reported["faults"][0]
check(fault["place"] == "link" and [(link["from"], link["to"]) for link in fault["links"]] == [("l2", "s1")],
      "with its direction", fault)
check(fault["drop_rate_95"][0] < 0.02 < fault["drop_rate_95"][1], f"it loses 2 %: {fault['drop_rate_95']}", fault)
check(fault["first_iteration"] == 1, "found in the first iteration that it touches: 8 ms are within iteration 1", fault)
seen = [v for v in reported["volumes"] if v["port"].startswith(fault["seen_by"]) and v["iteration"] == 1]
check(len(seen) == 4 and sum(v["alarm"] for v in seen) == 1, "with the volumes of every port of the leaf", seen)
check(all(v["seen_bytes"] > v["predicted_bytes"] for v in seen if not v["alarm"]), "the other ports have what was sent again", seen)
check(not reported["unmeasured"], "every iteration could be compared", reported["unmeasured"])
text = (run.dir / "report.txt").read_text()
check("The link from l2 to s1 (l2:3) loses" in text, "report.txt says it", text)
base = telemetry(run)
check(base, "alarms and volumes are in the stream")

other, _, _ = diagnosed("--lcores", "2")
check(telemetry(other) == base, "the same on two lcores")

run, reported, found = diagnosed(**{"faults__[0]__port": "s1:3"})
check([f["root"] for f in found] == ["s1:3"], "the other direction, towards the leaf", found)

run, reported, found = diagnosed(**{"faults__[0]__enabled": "false"})
check(not found and not reported["faults"], "without a fault nothing is found", found)
check(sum(s["compared"] for s in reported["switches"]) == 32, "all iterations of all leaves were compared", reported["switches"])
check(not records.of(records.read(run.dir / "records.bin"), records.VOLUME), "and no volumes left the switches")

run, reported, found = diagnosed(**{"faults__[0]__enabled": "false", "flowpulse__export": "counts"})
volumes = [row for _, row in records.of(records.read(run.dir / "records.bin"), records.VOLUME)]
check(len(volumes) == 8 * 4 * 3 * 4, "counts are reported if asked: leaves, ports, senders, iterations", len(volumes))
by_sender = {}
for row in volumes:
    key = (row.iteration, row.sender)
    by_sender[key] = by_sender.get(key, 0) + row.seen - row.predicted
check(all(abs(miss) <= 12 for miss in by_sender.values()), "what comes is what was declared, to the byte", by_sender)
earlier = run.dir / "flowpulse.csv"
table = earlier.read_text().splitlines()
check(table[0] == "port,sender,iteration,predicted,seen" and len(table) == 1 + len(volumes), "flowpulse.csv has them all")
prediction = scratch() / "flowpulse.csv"
prediction.write_text("\n".join(table) + "\n")

for keys in ({"flowpulse__prediction": "measured"}, {"flowpulse__prediction": "learned"},
             {"flowpulse__prediction": "simulated", "flowpulse__file": str(prediction), "seed": 2},
             {"flowpulse__detector": "noise"}, {"flowpulse__detector": "pooled"}):
    run, reported, found = diagnosed(**keys)
    check([f["root"] for f in found] == ["l2:3"], f"{next(iter(keys.values()))}: the link is named", found)

# A ring: each leaf hears of one other. Two links are named, until another leaf says more.
run, reported, found = diagnosed(**{"collectives__[0]__algorithm": "ring"})
check([f["root"] for f in found] == ["l2:3 or s1:4"], "with one sender a leaf the pair is named", found)
check(reported["faults"][0]["place"] == "pair" and "cannot be distinguished" in (run.dir / "report.txt").read_text(), "and why")

# Two links of one leaf lose at a time, so that half of the four ports of every other lack: the others by themselves say that both do.
# By a single spine what is lost comes again where it was lost, and nothing can be compared.
TWO = """topology = {{ kind = "leaf-spine"; leaves = 4; spines = {spines}; hosts_per_leaf = 1; rate = "100Gbps"; delay = "1us"; }};
load_balancing = {{ kind = "adaptive"; }};
host = {{ transport = "selective"; }};
flowpulse = {{ enabled = true; }};
collectives = ( {{ op = "allgather"; algorithm = "halving-doubling"; bytes = "16MB"; iterations = {iterations}; measured = true; }} );
faults = ( {{ kind = "loss"; port = "l2:2"; rate = 0.05; silent = true; }}, {{ kind = "loss"; port = "l2:4"; rate = 0.04; silent = true; {more} }} );
"""
run = rocelab(scenario_file(TWO.format(spines=4, iterations=8, more="")))
verdict = json.loads((run.dir / "verdict.json").read_text())
check(sorted(f["root"] for f in verdict["findings"] if f["type"] == "silent-fault") == ["l2:2", "l2:4"],
      "two links of one leaf are named both", verdict["findings"])
run = rocelab(scenario_file(TWO.format(spines=1, iterations=2, more="enabled = false;").replace("l2:4", "l3:2")))
verdict = json.loads((run.dir / "verdict.json").read_text())
check({u["why"] for u in verdict["flowpulse"]["unmeasured"]} == {"few"}, "one spine: nothing can be compared",
      verdict["flowpulse"]["unmeasured"])
check("Nothing that could be judged was lost" in " ".join((run.dir / "report.txt").read_text().split()), "the report says so")

# What cannot be predicted is refused, with the line and what would do.
for keys, refusal in (({"load_balancing__kind": "ecmp"}, "learned"), ({"load_balancing__kind": "flowlet"}, "learned"),
                   ({"flowpulse__prediction": "simulated", "flowpulse__file": str(scratch() / "none.csv")}, "No such file")):
    run = command(ROCELAB, "run", SCENARIO, "--out", scratch(), *sets(**keys), expect=2)
    check(refusal in run.stderr, f"{keys}: refused, with what would do", run.stderr)

# A file that is no prediction of this scenario is refused with its line: empty, cut, of another collective or topology.
whole = prediction.read_text().splitlines(keepends=True)
useless = {"empty": ("", ":1: no row"), "no header": ("".join(whole[1:]), ":1: no prediction"), "header alone": (whole[0], ":1: no row"),
           "cut in a line": ("".join(whole)[:-5], f":{len(whole)}: the line has no end"),
           "cut between lines": ("".join(whole[:-3]), "another has"), "another port": ("".join(whole).replace("l0:2", "l0:1"), "l0:1 is no port"),
           "another topology": ("".join(whole).replace("l0:2", "l99:2"), "l99:2 is no port"),
           "another demand": (whole[0] + "".join(",".join([*line.split(",")[:4], str(int(line.split(",")[4]) // 2)]) + "\n"
                                                for line in whole[1:]), "of another scenario"),
           "alarms alone": ("".join([whole[0], *(line for line in whole[1:] if line.startswith("l0:"))]), "of another scenario")}
for what, (content, refusal) in useless.items():
    path = scratch() / "useless.csv"
    path.write_text(content)
    run = command(ROCELAB, "run", SCENARIO, "--out", scratch(), *sets(flowpulse__prediction="simulated", flowpulse__file=str(path)), expect=2)
    check("useless.csv" in run.stderr and refusal in run.stderr and len(run.stderr.splitlines()) == 1,
          f"a prediction that is useless ({what}) is refused in one line", run.stderr)

# Nor is a file read that goes with the earlier run in the same folder: nothing is lost.
run = command(ROCELAB, "run", SCENARIO, "--out", earlier.parent,
              *sets(flowpulse__prediction="simulated", flowpulse__file=str(earlier)), expect=2)
check("flowpulse.file" in run.stderr and "another --out" in run.stderr, "its own folder's file is refused", run.stderr)
check(earlier.read_text().splitlines() == table and (earlier.parent / "verdict.json").exists(), "and the folder is as it was")

# Other data in the measured collective's class: said, where choices even out their sum.
BESIDE = """topology = { kind = "leaf-spine"; leaves = 2; spines = 2; hosts_per_leaf = 2; };
collectives = ( { op = "allreduce"; algorithm = "ring"; ranks = [ "h0", "h2" ]; bytes = "256KB"; iterations = 2; measured = true; } );
flows = ( { src = "h1"; dst = "h3"; sport = 20000; bytes = "256KB"; } );
host = { transport = "selective"; };
flowpulse = { enabled = true; };
"""
FIRST = ("--set", "host.measured_prio=4", "--set", 'switch.strict=["4","6"]', "--set", 'switch.pfc.priorities=["3","4"]')
for kind, args, warned in (("adaptive", (), True), ("round-robin", (), True), ("random", (), False), ("adaptive", FIRST, False)):
    run = rocelab(scenario_file(BESIDE), "--set", f"load_balancing.kind={kind}", *args)
    check(("h1 to h3 (port 20000)" in run.stderr) == warned, f"{kind}, other data {'goes after' if args else 'beside'}", run.stderr)

run = rocelab(scenario_file(BESIDE.replace("bytes = \"256KB\"; } );\nhost", "bytes = \"256KB\"; enabled = false; } );\nhost")),
              "--set", "load_balancing.kind=adaptive")
check("blind" not in run.stderr, "a flow that is not enabled shares nothing", run.stderr)

# Links that are longer than what is left to late packets by default.
run = rocelab(scenario_file(BESIDE), "--set", "topology.delay=30us", "--set", "load_balancing.kind=random")
compared = sum(switch["compared"] for switch in json.loads((run.dir / "verdict.json").read_text())["flowpulse"]["switches"])
check(compared > 0, "delays of 30 us: iterations are compared", compared)

# Two and three spines: without a fault nothing is found, however packets are sprayed; a link that loses is named.
FEW = """topology = {{ kind = "leaf-spine"; leaves = 4; spines = {spines}; hosts_per_leaf = 1; rate = "100Gbps"; delay = "1us"; }};
load_balancing = {{ kind = "{kind}"; }};
host = {{ transport = "selective"; }};
flowpulse = {{ enabled = true; }};
collectives = ( {{ op = "allgather"; algorithm = "halving-doubling"; bytes = "{size}"; iterations = 4; measured = true; }} );
faults = ( {{ kind = "loss"; port = "{port}"; rate = 0.03; silent = true; enabled = {enabled}; }} );
"""


def few(spines, kind, enabled="false", size="400KB", **keys):
    reported = json.loads((rocelab(scenario_file(FEW.format(spines=spines, kind=kind, enabled=enabled, size=size, port=f"s{spines - 1}:2")), *sets(**keys)).dir /
                       "verdict.json").read_text())
    return [f["root"] for f in reported["findings"] if f["type"] == "silent-fault"], reported["flowpulse"]


for spines in (1, 2, 3):
    for seed in (1, 2, 3):
        found, reported = few(spines, "random", seed=seed)
        check(not found, f"{spines} spines at random, seed {seed}: nothing is found without a fault", found)
        check(reported["not_judged"] and all(reason["count"] > 0 and reason["switches"] for reason in reported["not_judged"]),
              "what cannot be judged is reported with its reason", reported["not_judged"])
    for kind in ("adaptive", "round-robin"):
        found, _ = few(spines, kind)
        check(not found, f"{spines} spines, {kind}: nothing is found without a fault", found)
        if spines > 1:
            found, _ = few(spines, kind, "true", "8MB")
            check(found and all(f"s{spines - 1}:2" in root for root in found), f"{spines} spines, {kind}: 3 % are named", found)
found, _ = few(2, "random", flowpulse__prediction="simulated")
check(not found, "nor beside a prediction by simulation", found)

# A fault of a leaf's own link that comes again with every iteration takes of the sender alone that has its turn: no other link is named.
FLAP = """topology = { kind = "leaf-spine"; leaves = 4; spines = 4; hosts_per_leaf = 1; rate = "100Gbps"; delay = "1us"; };
load_balancing = { kind = "adaptive"; };
host = { transport = "selective"; };
flowpulse = { enabled = true; };
collectives = ( { op = "allgather"; algorithm = "halving-doubling"; bytes = "16MB"; iterations = 6; measured = true; } );
faults = ( { kind = "loss"; port = "s1:2"; rate = 0.3; silent = true; start = "1158us"; duration = "231us"; period = "1157.8us"; } );
"""
for keys in ({}, {"faults__[0]__start": "1852us", "faults__[0]__duration": "347us"}):
    reported = json.loads((rocelab(scenario_file(FLAP), *sets(**keys)).dir / "verdict.json").read_text())
    found = [f["root"] for f in reported["findings"] if f["type"] == "silent-fault"]
    check(len(found) == 1 and "s1:2" in found[0], "a flap in step with the collective: no innocent link beside the right one", found)

# Hosts that send again what arrives out of order, lost or not, show no loss by it.
tree = FLAP.replace('kind = "leaf-spine"; leaves = 4; spines = 4; hosts_per_leaf = 1;', 'kind = "fat-tree"; k = 4;')
tree = tree.replace("s1:2", "a0:1").replace("silent = true;", "silent = true; enabled = false;").replace('"selective"', '"go-back-n"')
tree = tree.replace('"16MB"; iterations = 6', '"2MB"; iterations = 2')
reported = json.loads((rocelab(scenario_file(tree), *sets(load_balancing__kind="random", flowpulse__threshold=0.0)).dir / "verdict.json").read_text())
check(not [f for f in reported["findings"] if f["type"] == "silent-fault"], "go-back-N beside spraying: nothing is found without a fault", reported["findings"])
for kind, transport, in_vain in (("flowlet", "go-back-n", 1), ("flowlet", "selective", 0), ("random", "go-back-n", 1), ("ecmp", "go-back-n", 0)):
    run = rocelab(scenario_file(tree), *sets(load_balancing__kind=kind, host__transport=transport, flowpulse__prediction="learned"))
    ((_, monitor),) = records.of(records.read(run.dir / "records.bin"), records.MONITOR)
    check(monitor.in_order == in_vain, f"{kind}, {transport}: whether hosts send again what other paths delay is in the stream", monitor)
