#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""FlowTracer in whole runs: ways as they are asked for against those that are configured, all kinds of connections, a link that fails
between two rounds, sprayed flows, and what lcores must not change."""
import csv
import json
import math
import re
from collections import Counter, defaultdict

import records
from harness import check, command, rocelab, scratch, sets, ROCELAB, SANITIZED, SCENARIOS

BASE = """
name = "traced";
topology = { kind = "leaf-spine"; leaves = 4; spines = 4; hosts_per_leaf = 4; rate = "100Gbps"; delay = "1us"; };
flowtracer = { enabled = true; rtt = "100us"; };
jobs = ( { name = "train"; ranks = [ "h[0-15]" ]; iterations = %d; compute = "1ms";
           collectives = ( { name = "a2a"; op = "alltoall"; algorithm = "pairwise"; bytes = "2MB"; } ); } );
"""


def scenario(name, text=BASE % 1, more=""):
    path = scratch() / name
    path.write_text(text + more)
    return path


def paths(run, round_number=0):
    """flow: its ports, hop by hop, as flowtracer.csv has them."""
    found = defaultdict(list)
    with open(run.dir / "flowtracer.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if int(row["round"]) == round_number:
                found[row["flow"]].append(row["port"])
    return found


def configured(run):
    """flow tuple: ports as (node, port) of its data, from the header records."""
    found, read = defaultdict(dict), records.reader(records.ROUTE)
    for record in records.read(run.dir / "records.bin"):
        if record.type == records.ROUTE:
            row = read(record)
            if not row.reverse:
                found[record.body[:12]][row.hop] = (record.node, row.port)
    return {key: [hops[h] for h in sorted(hops)] for key, hops in found.items()}


def traced(run):
    found, first, hop = defaultdict(dict), records.reader(records.TRACED), records.reader(records.TRACED_HOP)
    for record in records.read(run.dir / "records.bin"):
        if record.type == records.TRACED and first(record).round == 0:
            found[record.body[:12]][0] = (record.node, first(record).nic)
        if record.type == records.TRACED_HOP and hop(record).round == 0:
            found[record.body[:12]][hop(record).hop] = (record.node, hop(record).out_port)
    return {key: [hops[h] for h in sorted(hops)] for key, hops in found.items()}


def rounds(run):
    return run.verdict["flowtracer"]["rounds"]


path = scenario("plain.cfg")
run = rocelab(path)
reported = run.verdict["flowtracer"]
check(len(reported["paths"]) == 240 and all(p["result"] == "egress" for p in reported["paths"]), "every flow has its way")
check(traced(run) == configured(run), "and that is the one that its packets take")
layers = {layer["layer"]: layer for layer in reported["layers"]}
check([layers[name]["flows"] for name in ("host to leaf", "leaf to spine", "spine to leaf", "leaf to host")] == [240, 192, 192, 240],
      "flows are counted by layers and directions", layers)
for layer, row in layers.items():
    counts = [link["flows"] for link in reported["links"] if reported["layers"][link["layer"]]["layer"] == layer]
    ideal = sum(counts) / len(counts)
    fim = 100 * sum(abs(c - ideal) / ideal for c in counts) / len(counts)
    check(abs(fim - row["fim_percent"]) < 1e-6 and len(counts) == row["links"], f"{layer}: FIM is Eq. 1, {fim:.1f} %", row)
taken = Counter(port for ports in paths(run).values() for port in ports)
check(all(taken[link["port"]] == link["flows"] for link in reported["links"]), "links' counts are those of the ways")
check(reported["collisions"] and reported["cost_ns"] > 0, "flows collide, and that cost time")
found = [f for f in run.verdict["findings"] if f["type"] == "path-imbalance"]
check(found and found[0]["root"] == reported["collisions"][0]["port"], "it is a finding, the worst first", found)
check("Paths of flows (FlowTracer)" in run.report, "and in the report")

# Connections: a pair's questions are one after the other, but for threads; ad hoc each costs a round trip more.
took = {}
for connections in ("ad-hoc", "persistent", "parallel"):
    other = rocelab(path, *sets(**{"flowtracer.connections": f'"{connections}"'}))
    took[connections] = rounds(other)[0]["end_ns"]
    check(paths(other) == paths(run), f"{connections}: the same ways")
questions = rounds(run)[0]["questions"]
check(questions == 240 + 48 + 3 * 192, "a question a host and pair, and a switch and flow", questions)
check(took["ad-hoc"] == questions * 200_000, "ad hoc: two round trips a question", took)
check(took["persistent"] < 0.55 * took["ad-hoc"], "persistent: little more than one", took)
four = rocelab(path, *sets(**{"flowtracer.processes": 4}))
check(rounds(four)[0]["end_ns"] < took["parallel"] / 3.5, "four processes share the pairs", rounds(four))
check(paths(four) == paths(run), "and find the same")

check((rocelab(path, "--lcores", 2).dir / "records.bin").read_bytes() == (run.dir / "records.bin").read_bytes(),
      "two lcores make the same records")

# Beside others: said once ways are known and steps are over, and not before.
command(ROCELAB, "run", path, "--diagnosers", "flowtracer,vedrfolnir", "--out", (side := scratch() / "side"))
listed = {s["name"]: s for s in json.loads((side / "comparison.json").read_text())["systems"]}
found = [f for f in listed["flowtracer"]["findings"] if f["type"] == "path-imbalance"]
first = min(int(row["start_ns"]) + int(row["duration_ns"]) for row in run.steps() if row["src"] != row["dst"])
check(found and all(first < f["detected_ns"] and f["undetected_ns"] < f["detected_ns"] for f in found), "it has a time of detection",
      (first, found))
check(listed["flowtracer"]["first_detected_ns"] == min(f["detected_ns"] for f in found), "and so has the system", listed["flowtracer"])

# A link that is cut: the next round's ways avoid it.
victim = max((link for link in reported["links"] if link["port"].startswith("l0") and link["to"].startswith("s")),
             key=lambda link: link["flows"])["port"]
cut = scenario("cut.cfg", BASE % 40, 'faults = ( { kind = "link-down"; port = "%s"; start = "24ms"; } );\n' % victim)
run = rocelab(cut, *sets(**{"flowtracer.period": '"1ms"', "flowtracer.processes": 8}), expect=None)
check(len(rounds(run)) > 2, "rounds repeat", rounds(run))
before, after = paths(run, 0), paths(run, len(rounds(run)) - 2)
check(any(victim in ports for ports in before.values()), "flows took the link")
check(after and not any(victim in ports for ports in after.values()), "and leave it when it is cut")

# Switches report no queues here. Paths of flows and hosts' reports of steps place what links down cost, whatever is sent:
# steps whose data, or whose ACKs, passed them, and later those that share full links.
DOWN = """
topology = { kind = "leaf-spine"; leaves = 6; spines = 4; hosts_per_leaf = 4; rate = "100Gbps"; delay = "1us"; };
host = { mtu = "4096"; };
flowtracer = { enabled = true; rtt = "20us"; processes = 8; start = "50us"; period = "400us"; };
detection = { policy = "off"; };
routing = { convergence = "200us"; };
jobs = ( { name = "p"; collectives = ( { op = "%s"; algorithm = "%s"; %s bytes = "24MB"; channels = 4; } ); } );
faults = ( %s );
seed = %d;
"""
LINKS = ("l0:5", "l3:6")
CASES = (("allreduce", "ring", "stride = 5;", LINKS, 1), ("alltoall", "pairwise", "", LINKS, 1), ("allgather", "ring", "stride = 5;", LINKS[:1], 7))
for op, algorithm, stride, links, seed in CASES[:1] if SANITIZED else CASES:
    faults = ", ".join('{ kind = "link-down"; port = "%s"; start = "300us"; }' % link for link in links)
    run = rocelab(scenario("down.cfg", DOWN % (op, algorithm, stride, faults, seed)))
    network = run.verdict["network"]
    check({f["root"] for f in run.findings("link-down")} == set(links), f"{op}: links that are down are named, and no others",
          run.findings("link-down"))
    check(network["word"] == "guilty" and network["unexplained_ns"] < 0.05 * network["lost_ns"], f"{op}: little is left unexplained",
          network)
    others = {f["type"] for f in run.findings() if f["fault"]} - {"link-down", "packet-loss"}
    check(not others, f"{op}: and nothing else is named broken", others)

run = rocelab(path, *sets(**{"load_balancing.kind": '"random"'}))
reported = run.verdict["flowtracer"]
check(reported["sprayed"] == 192 and Counter(p["result"] for p in reported["paths"])["sprayed"] == 192, "sprayed flows are said to be")
check(not [f for f in run.verdict["findings"] if f["type"] == "path-imbalance"], "and nothing is made of ways that they have not")

run = rocelab(path, *sets(**{"limits.virtual_time": '"1ms"'}), expect=None)
check(not rounds(run)[0]["complete"], "a round that the run's end cuts is not complete", rounds(run))

# The paper's testbed: hosts' bonds are a choice of hashes, too.
run = rocelab(SCENARIOS / "flowtracer.cfg")
reported = run.verdict["flowtracer"]
check([(layer["links"], layer["flows"]) for layer in reported["layers"]] == [(64, 256)] * 4, "256 flows in four layers of 64 links",
      reported["layers"])
for layer, n, p in zip(reported["layers"], (16, 128, 128, 16), (1 / 4, 1 / 32, 1 / 32, 1 / 4)):
    chance = sum(math.comb(n, k) * p**k * (1 - p)**(n - k) * abs(k - 4) for k in range(n + 1)) / 4 * 100
    check(abs(layer["fim_by_chance_percent"] - chance) < 1e-6, f"{layer['layer']}: by chance {chance:.2f} %, of {n} flows", layer)
check(len(reported["pairs"]) == 16 and all(pair["flows"] == 16 for pair in reported["pairs"]), "16 pairs of hosts, of 16 flows")
check(run.findings("path-imbalance") and reported["cost_ns"] > 500_000, "collisions cost a quarter of the time or so", reported["cost_ns"])

# One run has one metric, whoever computes it: here of links of unequal rates, in one direction alone, and by hand.
UNEVEN = """
topology = { kind = "explicit"; hosts = [ "a", "b", "c", "d" ]; switches = [ "l", "m", "n", "s", "t" ]; links = (
  { a = "a"; b = "l"; rate = "100Gbps"; }, { a = "b"; b = "l"; rate = "100Gbps"; }, { a = "c"; b = "m"; rate = "100Gbps"; },
  { a = "d"; b = "n"; rate = "100Gbps"; },
  { a = "l"; b = "s"; rate = "200Gbps"; }, { a = "l"; b = "t"; rate = "100Gbps"; }, { a = "m"; b = "s"; rate = "100Gbps"; },
  { a = "m"; b = "t"; rate = "100Gbps"; }, { a = "n"; b = "s"; rate = "100Gbps"; }, { a = "n"; b = "t"; rate = "100Gbps"; } ); };
flowtracer = { enabled = true; rtt = "5us"; };
detection = { policy = "off"; };
jobs = ( { name = "p"; ranks = [ "a", "b", "c", "d" ]; collectives = ( { op = "sendrecv"; algorithm = "linear"; bytes = "4MB"; channels = 6;
                                                             pairs = [ "0 2", "1 2" ]; } ); } );
"""


def figures(layers, also):
    rows = [*layers, *also]
    return {row["layer"]: (row["links"], round(row["fim_percent"], 6), round(row["fim_by_chance_percent"], 6)) for row in rows}


def binomial(n, p, ideal):
    return sum(math.comb(n, k) * p**k * (1 - p)**(n - k) * abs(k - ideal) for k in range(n + 1)) / ideal * 100


path = scenario("uneven.cfg", UNEVEN)
run = rocelab(path)
reported = run.verdict["flowtracer"]
counts = Counter(port for ports in paths(run).values() for port in ports)
up = (abs(counts["l:3"] - 8) / 8 + abs(counts["l:4"] - 4) / 4) / 2 * 100
down = (abs(counts["s:2"] - 6) / 6 + abs(counts["t:2"] - 6) / 6) / 2 * 100
right = {"host to leaf": (2, 0, 0), "leaf to spine": (2, up, (binomial(12, 1 / 2, 8) + binomial(12, 1 / 2, 4)) / 2),
         "spine to leaf": (2, down, binomial(12, 1 / 2, 6)), "leaf to host": (1, 0, 0)}
for name, which in (("links of switches", list(right.values())[1:]), ("all links", list(right.values()))):
    n = sum(row[0] for row in which)
    right[name] = (n, *(sum(row[0] * row[i] for row in which) / n for i in (1, 2)))
right = {name: (n, round(fim, 6), round(chance, 6)) for name, (n, fim, chance) in right.items()}
also = [{"layer": name, "links": right[name][0], "fim_percent": reported[f"fim{key}_percent"],
         "fim_by_chance_percent": reported[f"fim{key}_by_chance_percent"]} for name, key in (("links of switches", ""), ("all links", "_all"))]
check(figures(reported["layers"], also) == right, "the run's metric is Eq. 1, by rates, over links that flows could take", (reported["layers"], also, right))
done = json.loads(command(ROCELAB, "trace", path, "--json").stdout)
check(figures(done["layers"], [done["switches"], done["all"]]) == right, "the tracer's is the same", (done["layers"], right))
study = scratch()
command(ROCELAB, "eval", "flowtracer", path, "--seeds", 1, "--runs", 1, "--out", study)
kept = json.loads((study / "flowtracer.json").read_text())
check({group["links"]: (group["count"], round(group["percent"][0], 6), round(group["expected"], 6)) for group in kept["groups"]} == right,
      "and the evaluation's", kept["groups"])
advised = command(ROCELAB, "trace", "--advise", path, "--out", scratch()).stdout
check({name: (int(n), fim) for name, n, fim in re.findall(r"^(\S.*?) +(\d+) +[\d.]+ +([\d.]+) +[\d.]+ +\d+ +\d+$", advised, re.M)} ==
      {name: (n, f"{fim:.2f}") for name, (n, fim, _) in right.items()}, "and of what is advised", advised)
pairs = {(pair["src"], pair["dst"]): round(pair["gbps"], 6) for pair in kept["ecmp"]["pairs"]}
rates = defaultdict(float)
for row in run.steps():
    rates[row["src"], row["dst"]] += 8 * int(row["bytes"]) / float(row["duration_ns"])
of_run = {(pair["from"], pair["to"]): pair["gbps"] for pair in reported["pairs"]}
check(pairs.keys() == of_run.keys() == rates.keys() and all(abs(of_run[k] - rates[k]) < 1e-3 and abs(pairs[k] - rates[k]) < 1e-3 for k in rates),
      "pairs' throughput is one: the sum of their flows'", (pairs, of_run, rates))

for key, value, refusal in (("flowtracer.rtt", '"0s"', "rtt"), ("flowtracer.threads", "65", "threads"),
                         ("flowtracer.connections", '"ssh"', "ad-hoc")):
    done = command(ROCELAB, "run", path, *sets(**{key: value}), "--out", scratch() / "bad", expect=2)
    check(refusal in done.stderr, f"{key} = {value} is refused, and it is said what would be right", done.stderr)

# Flows of one NIC share it whatever their paths are: no placement regains more than a job took beyond its expected time.
run = rocelab(scenario("pairs.cfg", """
topology = { kind = "leaf-spine"; leaves = 2; spines = 4; hosts_per_leaf = 4; rate = "100Gbps"; delay = "1us"; };
host = { mtu = "4096"; };
flowtracer = { enabled = true; rtt = "20us"; };
detection = { policy = "off"; };
jobs = ( { name = "p"; collectives = ( { name = "b"; op = "sendrecv"; algorithm = "linear"; bytes = "32MB"; channels = 4;
                                         pairs = [ "0 4", "1 5", "2 6", "3 7" ]; } ); } );
"""))
lost_ns = run.verdict["collectives"][0]["lost_ns"]
costs_ns = [collision["cost_ns"] for collision in run.verdict["flowtracer"]["collisions"]] + [run.verdict["flowtracer"]["cost_ns"]]
check(0.9 * lost_ns < max(costs_ns) <= lost_ns, "what collisions cost is at most what was lost", (costs_ns, lost_ns))
