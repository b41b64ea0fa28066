#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Figures beside each other agree: in report.txt, verdict.json and the page's data the parts of the lost time add up to it,
by findings, jobs and collectives too, and nobody is sure of "unknown"."""
import random
import re

from harness import SANITIZED, SCENARIOS, check, page_data, rocelab, scenario_file

TIME = r"([\d.]+) (ms|us|ns)"
UNIT_NS = {"ms": 1e6, "us": 1e3, "ns": 1}
LOST = re.compile(rf"Of the {TIME} lost(?: in all)?, (.*?) is unexplained\.")
PART = re.compile(rf"{TIME} \([\d.]+ %\)")
SHARE = re.compile(r"\(([\d.]+) %\)")
EXPLAINED = re.compile(r"(?:causes? explains?|alone explains?) ([\d.]+) ")
LINES = re.compile(rf"(?:cost|:) {TIME}, [\d.]+ % of the lost time|\.\.\. and [^:\n]*: {TIME}, in report")
SCENARIO = """
name = "drawn-%d";
seed = %d;
topology = { kind = "leaf-spine"; leaves = %d; spines = 2; hosts_per_leaf = 4; rate = "100Gbps"; delay = "1us"; };
%s
"""


def near(left, right, name, within):
    check(abs(left - right) <= within, name, f"{left} and {right}, within {within}")


def agrees(root, name):
    """verdict.json, and the page's data, which has all of it."""
    network, findings, timed = root["network"], root["findings"], root["collectives"]
    parts = [network[f"{part}_ns"] for part in ("explained", "without_effect", "late_little", "unexplained")]
    check(sum(parts) == network["lost_ns"], f"{name}: parts of the lost time", (parts, network))
    for key, effect in (("explained_ns", False), ("without_effect_ns", True)):
        costs = [f["explained_ns"] for f in findings if f["without_effect"] == effect]
        check(sum(costs) == network[key], f"{name}: {key} of findings", (costs, network))
    for f in findings:
        check(sum(p["explained_ns"] for p in f["iterations"]) == f["explained_ns"], f"{name}: {f['type']} {f['root']} by iterations", f)
    near(sum(c["lost_ns"] for c in timed), network["lost_ns"], f"{name}: by collectives", len(timed) + 1)
    near(sum(c["unexplained_ns"] for c in timed), network["unexplained_ns"], f"{name}: unexplained by collectives", len(timed) + 1)
    near(sum(j["lost_ns"] for j in root["jobs"]), network["lost_ns"], f"{name}: by jobs", len(timed) + 1)
    check((network["confidence"] is None) == (network["word"] == "unknown"), f"{name}: nobody is sure of unknown", network)


def report_agrees(run, name):
    text, network = re.sub(r"\s+", " ", run.report), run.verdict["network"]
    observed = LOST.search(text)
    check(bool(observed) == (network["lost_ns"] > 0 and not network["innocent"]), f"{name}: the report says what was lost", text[:600])
    check(("Confidence that the network is " + network["word"] in text) == (network["confidence"] is not None),
          f"{name}: and how sure its word is", text[:900])
    if not observed:
        return
    unit = UNIT_NS[observed[2]]
    parts = [float(part[0]) for part in PART.findall(observed[3] + " is")]
    check(f"{sum(parts):.3f}" == observed[1], f"{name}: the report's parts", (parts, observed[1]))
    shares = [float(share) for share in SHARE.findall(observed[3] + " is")]
    check(f"{sum(shares):.1f}" == "100.0", f"{name}: and their shares", shares)
    near(float(observed[1]) * unit, network["lost_ns"], f"{name}: what it says was lost", 0.0006 * unit + 1)
    listed = [float(one[0] or one[2]) for one in LINES.findall(text.split(" % of the lost time. Of the ", 1)[-1])]
    explained = sum(float(part) for part in EXPLAINED.findall(observed[3]))
    check(f"{sum(listed):.3f}" == f"{explained:.3f}", f"{name}: what it lists", (listed, observed[3]))


def holds(scenario, *args):
    run = rocelab(scenario, *args)
    name = run.run["name"]
    agrees(run.verdict, name)
    agrees(page_data(run), f"{name}, page")
    report_agrees(run, name)


def job(chance, name, leaves):
    count = chance.choice((3, 4, 6, 8))
    ranks = ", ".join(f'"h{i}"' for i in chance.sample(range(4 * leaves), count))
    op, algorithm = chance.choice((("allgather", "ring"), ("allreduce", "ring"), ("alltoall", "pairwise")))
    late = f'delays = ( "{chance.randrange(count)} {chance.randint(1, 90)}us" ); ' if chance.random() < 0.4 else ""
    more = f'{{ name = "{name}b"; op = "allgather"; bytes = "2MB"; }}, ' if chance.random() < 0.3 else ""
    return (f'{{ name = "{name}"; ranks = [ {ranks} ]; iterations = {chance.randint(1, 3)}; start = "{chance.randint(0, 200)}us"; '
            f'compute = "{chance.randint(1, 50)}us"; {late}collectives = ( {more}{{ name = "{name}a"; op = "{op}"; '
            f'algorithm = "{algorithm}"; bytes = "{chance.randint(1, 9)}MB"; }} ); }}')


def drawn(seed):
    chance = random.Random(seed)
    leaves = chance.randint(2, 4)
    jobs = [job(chance, f"j{i}", leaves) for i in range(chance.randint(1, 3))]
    flows = [f'{{ src = "h{a}"; dst = "h{b}"; sport = {20000 + i}; bytes = "{chance.randint(1, 9)}MB"; start = "{chance.randint(0, 300)}us"; }}'
             for i, (a, b) in enumerate(chance.sample(range(4 * leaves), 2) for _ in range(chance.randint(0, 4)))]
    return SCENARIO % (seed, seed, leaves, f"jobs = ( {', '.join(jobs)} );\nflows = ( {', '.join(flows)} );")


SHIPPED = ("case-study", "two-jobs", "incast", "incast-flows", "eight-to-one", "halving-doubling", "pfc-backpressure",
           "pfc-backpressure-bystander", "pfc-storm", "clean-ring", "moe-alltoall", "poisson-websearch")
for shipped in SHIPPED[:3] if SANITIZED else SHIPPED:
    holds(SCENARIOS / f"{shipped}.cfg")
for number in range(1, 4 if SANITIZED else 13):
    holds(scenario_file(drawn(number)))
