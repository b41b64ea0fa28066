#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every scenario of the tree ends in the right findings: type, root, culprits, victims; and without its faults and
background flows in none, with the network found innocent. (The reference case has a test of its own.)"""
import re
import shutil

from cases import ring, small
from harness import SCENARIOS, check, rocelab, scenario_file, scratch

TYPES = {"flow-contention", "incast", "pfc-backpressure", "pfc-storm", "pfc-deadlock", "forwarding-loop", "load-imbalance",
         "packet-loss", "link-down", "blackhole", "slow-host", "strict-priority", "tail-drop", "host-limited", "timer-too-short",
         "receiver-not-ready", "reordering", "pfc-watchdog", "link-rate", "no-pfc"}
FLOW = re.compile(r"^[\w-]+->[\w-]+/\d+>\d+$")
PORT = re.compile(r"^[\w-]+:\d+$")
REPORTS = ("verdict.json", "report.txt", "report.html", "waiting.dot", "provenance.dot", "steps.csv", "run.json",
           "truth.json", "records.bin")
reported = set()


def keys(entry, names, what):
    missing = set(names.split()) - entry.keys()
    check(not missing, f"{what} has its keys", missing)


def shape(run, name):
    """verdict.json is what others rely on."""
    verdict = run.verdict
    check(all((run.dir / report).stat().st_size > 0 for report in REPORTS), f"{name}: every report is there", run.dir)
    keys(verdict, "schema_version jobs collectives network critical_path findings contributors overhead", f"{name}: verdict.json")
    for c in verdict["collectives"]:
        keys(c, "job collective iteration name algorithm ranks step_bytes start_ns end_ns ideal_ns expect_ns complete", f"{name}: a collective")
        check(c["complete"] and c["ideal_ns"] <= c["expect_ns"] <= (c["end_ns"] - c["start_ns"]) * 1.01,
              f"{name}: ideal <= expected <= taken", c)
    path = verdict["critical_path"]
    for step, after in zip(path, path[1:] + [None]):
        keys(step, "job collective iteration rank step host flow start_ns end_ns waited_for open", f"{name}: a step of the critical path")
        check(step["start_ns"] < step["end_ns"] and FLOW.match(step["flow"]), f"{name}: step {step['step']}", step)
        # an ACK may return after the data that the next step waited for
        overlap = step["end_ns"] - after["start_ns"] if after else 0
        check(overlap < 100_000, f"{name}: step {step['step']} and the next follow each other", (step, after))
    last = {c["iteration"]: c for c in verdict["collectives"]}
    check(path and max(s["end_ns"] for s in path) <= max(c["end_ns"] for c in last.values()) + 1000,
          f"{name}: the path ends when the collective does", path[-1:])
    for f in verdict["findings"]:
        keys(f, "type root ports flows victims iterations start_ns end_ns score evidence confidence", f"{name}: a finding")
        for part in f["iterations"]:
            keys(part, "job collective iteration explained_ns steps", f"{name}: a finding's part")
        check(0 <= f["confidence"] <= 1, f"{name}: a confidence is a part of one", f)
        check(f["type"] in TYPES, f"{name}: {f['type']} at {f['root']}", f)
        check(all(PORT.match(p) for p in f["ports"]), f"{name}: ports are node:port", f["ports"])
        check(all(FLOW.match(x) for x in f["flows"] + f["victims"]), f"{name}: flows are src->dst/sport>dport", f)
        check(f["score"] > 0 and f["evidence"] and f["start_ns"] <= f["end_ns"], f"{name}: score, evidence, time", f)
        check(f["root"] in run.report or len(verdict["findings"]) > 6, f"{name}: the report names {f['root']}", f)
        reported.add(f["type"])
    for c in verdict["contributors"]:
        keys(c, "flow score per_critical_flow", f"{name}: a contributor")
        check(c["score"] > 0 and all(p["score"] > 0 for p in c["per_critical_flow"]), f"{name}: {c['flow']} has scores", c)
    scores = [c["score"] for c in verdict["contributors"]]
    check(scores == sorted(scores, reverse=True), f"{name}: contributors, the greatest first", scores)
    o = verdict["overhead"]
    keys(o, "telemetry_bytes records polling_packets polling_bytes notification_packets notification_bytes report_bytes "
            "deferred dropped completeness", f"{name}: the overhead")
    check(o["completeness"] == 1 and o["dropped"] == 0, f"{name}: the evidence is complete", o)
    check(o["report_bytes"] == run.run["export"]["sent_bytes"], f"{name}: what was reported was sent", o)


def run_of(scenario):
    run = rocelab(SCENARIOS / f"{scenario}.cfg")
    shape(run, scenario)
    return run


def undisturbed(scenario, *lists):
    """The same without what disturbs it: the lists named are taken out of the file, pins of flows that go with them."""
    folder = scratch() / "scenarios"
    shutil.copytree(SCENARIOS, folder)
    path = folder / f"{scenario}.cfg"
    text = before = path.read_text()
    for name in lists:
        text = re.sub(rf"\n{name} = \(.*?\);\n", "\n", text, flags=re.DOTALL)
    text = re.sub(r"\n  ,\n(  \{ src = .*\n)+\);", "\n);", text)
    check(text != before, f"{scenario}: something disturbs it")
    path.write_text(text)
    run = rocelab(path)
    innocent(run, f"{scenario} undisturbed")


def innocent(run, name):
    check(run.findings() == [], f"{name}: no finding", run.findings())
    check(run.verdict["network"]["innocent"], f"{name}: the network is innocent", run.verdict["network"])
    check(run.verdict["network"]["reason"], f"{name}: and why", run.verdict["network"])
    check(run.verdict["contributors"] == [], f"{name}: nobody is blamed", run.verdict["contributors"])
    check("innocent" in run.report, f"{name}: the report says so", run.report)


def expect(run, name, kind, root, flows=(), ports=(), victims=()):
    found = [f for f in run.findings(kind) if f["root"] == root and set(flows) <= set(f["flows"])
             and set(ports) <= set(f["ports"]) and set(victims) <= set(f["victims"])]
    check(found, f"{name}: {kind} at {root} by {', '.join(flows) or 'nobody'}",
          [(f["type"], f["root"], f["flows"], f["ports"], f["victims"]) for f in run.findings()])
    check(not run.verdict["network"]["innocent"], f"{name}: the network is not innocent", run.verdict["network"])
    return found[0]


def contributors(run):
    return [c["flow"] for c in run.verdict["contributors"]]


def first(run, name, kind, root):
    top = run.verdict["findings"][0]
    check((top["type"], top["root"]) == (kind, root), f"{name}: {kind} at {root} comes first", top)


def clean_ring():
    run = run_of("clean-ring")
    innocent(run, "clean-ring")
    check(run.wrong() == ["0", "0"], "clean-ring: every element is right", run.wrong())
    innocent(rocelab(small()), "another clean ring")
    innocent(rocelab(small(collective=ring(payload="synthetic", qp="per-step"))), "with a queue pair a step")


def pfc_storm():
    run = run_of("pfc-storm")
    finding = expect(run, "pfc-storm", "pfc-storm", "5:1", ports=["0:4"], victims=["13->14/10000>4791"])
    check(finding["flows"] == [], "pfc-storm: no flow is its cause", finding)
    check(len(run.findings()) == 1, "pfc-storm: nothing else is accused", run.findings())
    check(contributors(run) == [], "pfc-storm: nor is anybody's flow", contributors(run))
    # it began at 2.5 ms, for 10 ms
    check(finding["start_ns"] < 4e6 and 12.4e6 < finding["end_ns"] < 16e6, "pfc-storm: seen when it was", finding)
    undisturbed("pfc-storm", "faults")


def pfc_backpressure():
    run = run_of("pfc-backpressure")
    culprits = ["a2->d1/20001>4791", "b2->d1/20002>4791", "c2->d1/20003>4791"]
    finding = expect(run, "pfc-backpressure", "pfc-backpressure", "D:2", culprits, ["S:4", "A:1"], ["a1->b1/49152>4791"])
    check(not set(finding["victims"]) & set(culprits), "pfc-backpressure: victims are the collective's", finding)
    check(set(contributors(run)) == set(culprits), "pfc-backpressure: all three contribute, nobody else", contributors(run))
    first(run, "pfc-backpressure", "pfc-backpressure", "D:2")
    undisturbed("pfc-backpressure", "flows")


def pfc_backpressure_bystander():
    """No queue in common: a third flow stands between the culprits and their victims."""
    run = run_of("pfc-backpressure-bystander")
    culprits = ["b1->d1/20001>4791", "c1->d1/20002>4791"]
    finding = expect(run, "bystander", "pfc-backpressure", "D:2", culprits, ["S:4", "A:1"], ["a1->e1/49152>4791"])
    shared = [m for m in run.truth["contentions"] if set(m["flows"]) & set(culprits) and set(m["flows"]) & set(finding["victims"])]
    check(not shared, "bystander: victims and culprits never share a queue", shared)
    check("a2->d2/20000>4791" not in finding["flows"], "bystander: who stands between them is no culprit there", finding)
    check(set(culprits) <= set(contributors(run)), "bystander: the culprits contribute", contributors(run))
    first(run, "bystander", "pfc-backpressure", "D:2")


def incast():
    run = run_of("incast")
    culprits = ["h1->h4/20001>4791", "h7->h4/20002>4791", "h9->h4/20003>4791", "h13->h4/20004>4791"]
    expect(run, "incast", "incast", "e2:1", culprits, victims=["h2->h4/49152>4791"])
    check(set(contributors(run)) == set(culprits), "incast: all four contribute, nobody else", contributors(run))
    first(run, "incast", "incast", "e2:1")
    undisturbed("incast", "flows")


def halving_doubling():
    run = run_of("halving-doubling")
    stranger = "h9->h0/20000>4791"
    expect(run, "halving-doubling", "flow-contention", "l0:1", [stranger])
    check(contributors(run) == [stranger], "halving-doubling: the stranger contributes, nobody else", contributors(run))
    check(run.wrong() == ["0"], "halving-doubling: every element is right", run.wrong())
    undisturbed("halving-doubling", "flows")


def case_study():
    run = run_of("case-study")
    weak, strong, victim = "15->18/10001>4791", "13->19/10001>4791", "17->18/10000>4791"
    path = {(step["flow"], step["step"]) for step in run.verdict["critical_path"]}
    check({(victim, 1), (victim, 2)} <= path, "case-study: the critical path goes through 17->18 in steps 1 and 2", path)
    worst = expect(run, "case-study", "flow-contention", "6:2", [strong], victims=[victim])
    expect(run, "case-study", "pfc-backpressure", "6:2", [strong], ["2:3"], [victim])
    weaker = expect(run, "case-study", "flow-contention", "6:2", [weak])
    check(weaker["score"] < worst["score"] / 3, "case-study: 15->18 far below it", (weaker["score"], worst["score"]))
    expect(run, "case-study", "flow-contention", "13:1", [strong], victims=["13->14/10000>4791"])
    expect(run, "case-study", "flow-contention", "15:1", [weak], victims=["15->16/10000>4791"])
    check(contributors(run) == [strong, weak], "case-study: 13->19 contributes most", contributors(run))
    first(run, "case-study", "pfc-backpressure", "6:2")
    undisturbed("case-study", "flows")


def other_class():
    """A flow of another class, without PFC, shares the link by DWRR: no queue in common, and yet it is ahead."""
    run = rocelab(scenario_file("""
topology = { kind = "leaf-spine"; leaves = 2; spines = 1; hosts_per_leaf = 4; };
collectives = ( { step_bytes = "8MB"; ranks = [ "h0", "h4" ]; } );
flows = ( { src = "h1"; dst = "h4"; sport = 20000; bytes = "4MB"; prio = 4; start = "50us"; } );
"""))
    expect(run, "other class", "flow-contention", "l0:5", ["h1->h4/20000>4791"])
    contended = [m for m in run.truth["contentions"] if "h1->h4/20000>4791" in m["flows"]]
    check(contended, "other class: the truth knows that they met", run.truth["contentions"])


def class_0():
    """What is served strictly first takes the link's time from all that waits."""
    run = rocelab(scenario_file("""
topology = { kind = "leaf-spine"; leaves = 2; spines = 1; hosts_per_leaf = 4; };
collectives = ( { step_bytes = "8MB"; ranks = [ "h0", "h4" ]; } );
flows = ( { src = "h1"; dst = "h5"; sport = 20000; bytes = "4MB"; prio = 0; start = "50us"; } );
"""))
    found = expect(run, "class 0", "strict-priority", "l0:5", ["h1->h5/20000>4791"], ["l0:5"], ["h0->h4/49152>4791"])
    check("in class 0 went ahead" in found["evidence"], "class 0: the evidence says that it is class 0", found)


def corruption():
    """On a polling packet receivers report damaged frames: loss and damage look different."""
    run = rocelab(scenario_file("""
topology = { kind = "fat-tree"; k = 4; };
collectives = ( { step_bytes = "8MB"; ranks = [ "h0", "h4", "h8", "h12" ]; } );
faults = ( { kind = "corruption"; port = "e0:3"; rate = 0.02; }, { kind = "corruption"; port = "e0:4"; rate = 0.02; } );
"""))
    found = run.findings("packet-loss")
    check(found and {f["root"] for f in found} <= {"a0:1", "a1:1"}, "corruption: the end of the cable is named", run.findings())
    check({"e0:3", "e0:4"} & set(found[0]["ports"]), "corruption: and the port that sends by it", found)
    check("arrived damaged" in found[0]["evidence"], "corruption: the evidence distinguishes loss and damage", found)


def packets_in_flight():
    """Long links, on which a QP's packets are fewer than bandwidth times delay: expected, whatever the window is, and nobody's fault."""
    text = """
topology = { kind = "explicit"; hosts = [ "a", "b" ]; switches = [ "s", "t" ]; rate = "400Gbps"; delay = "1us";
             links = ( "a s", "b t", "s t 400Gbps 200us" ); };
collectives = ( { op = "allgather"; algorithm = "ring"; bytes = "80MB"; } );
"""
    for name, sets in (("bdp", ()), ("none", ("--set", "host.window=none")), ("longer frames", ("--set", "host.mtu=2048"))):
        run = rocelab(scenario_file(text), *sets)
        innocent(run, f"packets in flight, {name}")
        took = run.verdict["collectives"][0]
        check(took["end_ns"] - took["start_ns"] > (1_350_000 if name != "longer frames" else 1_200_000), f"packets in flight, {name}: the time", took)


clean_ring()
packets_in_flight()
other_class()
class_0()
corruption()
pfc_storm()
pfc_backpressure()
pfc_backpressure_bystander()
incast()
halving_doubling()
case_study()
check({"flow-contention", "incast", "pfc-backpressure", "pfc-storm"} <= reported, "the four signatures were reported", reported)
