#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The reference case: step times against an independent simulator's (tests/data/ns3-allgather-100g.csv), what the verdict
must say of it, and what it may cost."""
import csv
import hashlib
import resource
import time

from harness import SANITIZED, SCENARIOS, SOURCE, check, rocelab, skip, within

UNDISTURBED_NS = 31_300_000
SHORT, LONG = "15->18/10001>10001", "13->19/10001>10001"  # the two background flows
MOST_RSS_BYTES = 300_000_000
MOST_WALL_S = 60  # 5 s on a quiet machine

if SANITIZED:
    skip("100 million packet hops take minutes under sanitizers; the plain build runs this test")


def measured_elsewhere():
    with open(SOURCE / "tests/data/ns3-allgather-100g.csv") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return {(r["src"], r["dst"], int(r["step"])): r for r in rows}


def times(run):
    theirs = measured_elsewhere()
    ours = {(r["src"], r["dst"], int(r["step"])): r for r in run.steps()}
    check(len(theirs) == 58 and ours.keys() == theirs.keys(), "same flows and steps", ours.keys() ^ theirs.keys())
    for key, their in sorted(theirs.items(), key=lambda item: item[0][2]):
        duration, expected = int(ours[key]["duration_ns"]), int(their["duration_ns"])
        error = duration / expected - 1
        limit = 0.005 if key[2] > 0 and expected < UNDISTURBED_NS else 0.10
        name = f"{key[0]}->{key[1]} step {key[2]}: {duration / 1e6:.3f} ms, there {expected / 1e6:.3f} ms, {error:+.2%}"
        check(abs(error) <= limit, name, f"more than {limit:.1%} off")
        if key[2] > 0:
            ideal, expected = int(ours[key]["ideal_ns"]), int(their["ideal_ns"])
            check(abs(ideal / expected - 1) <= 1e-5, f"{key[0]}->{key[1]} step {key[2]}: ideal time", (ideal, expected))
    end = max(int(r["start_ns"]) + int(r["duration_ns"]) for k, r in theirs.items() if k[2] > 0)
    collective = run.verdict["collectives"][0]
    our_end = collective["end_ns"] - collective["start_ns"]
    check(abs(our_end / end - 1) <= 0.03, f"the collective takes {our_end / 1e6:.3f} ms, there {end / 1e6:.3f} ms", "3 %")


def page(run):
    """The page's table of this run is the one that scripts/reference-table would print."""
    text = (SOURCE / "docs/reference-case.md").read_text(encoding="utf-8")
    reported = {row[1].strip(): row[3].strip() for row in (line.split("|") for line in text.splitlines()) if len(row) == 8}
    rows = run.steps()
    for r in rows:
        name = f"{r['src']}->{r['dst']}, " + (r["step"] if r["step"] != "0" else "background")
        check(reported.get(name) == f"{int(r['duration_ns']) / 1e6:.3f}", f"docs/reference-case.md: {name}", (reported.get(name), r))
    times = [" ".join(r[key] for key in ("src", "dst", "step", "start_ns", "duration_ns")) for r in rows]
    digest = hashlib.sha256("\n".join(sorted(times)).encode()).hexdigest()[:16]
    check(f"1 ns rounding: seed {run.run['seed']}, step times {digest};" in text, f"docs/reference-case.md: digest {digest}",
          "scripts/reference-table prints it anew")
    short, long = (next(c for c in run.verdict["contributors"] if c["flow"] == flow) for flow in (SHORT, LONG))
    scores = {"BF1, of the collective": short["score"], "BF2, of the collective": long["score"],
              "BF2 of F18": finding(run, "flow-contention", "3:2", LONG)["score"]}
    scores |= {f"BF2 of F17, step {c['step']}": c["score"] for c in long["per_critical_flow"] if c["flow"].startswith("17->18")}
    reported = {row[1].strip(): row[4].strip() for row in (line.split("|") for line in text.splitlines()) if len(row) == 7}
    check(len(scores) == 5, "F17 is rated in two steps", scores)
    for name, score in scores.items():
        check(reported.get(name) == f"{score:.0f}", f"docs/reference-case.md: {name}", (reported.get(name), score))


def finding(run, kind, root, flow):
    matches = [f for f in run.findings(kind) if f["root"] == root and flow in f["flows"]]
    check(matches, f"{kind} at {root} by {flow}", [(f["type"], f["root"], f["flows"]) for f in run.findings()])
    return max(matches, key=lambda f: f["score"])


def steps_of(found):
    return [s["step"] for part in found["iterations"] for s in part["steps"]]


def verdict(run):
    path = {step["step"]: step["flow"] for step in run.verdict["critical_path"]}
    check(path[1] == path[2] == "17->18/10000>10000", "the critical path goes through 17->18 in steps 1 and 2", path)
    check(not run.verdict["network"]["innocent"], "the network is not innocent", run.verdict["network"])

    worst = finding(run, "flow-contention", "6:2", LONG)
    check("17->18/10000>10000" in worst["victims"], "its victim is 17->18", worst)
    pause = finding(run, "pfc-backpressure", "6:2", LONG)
    check("2:3" in pause["ports"], "PFC backpressure pauses 2:3", pause)
    check("17->18/10000>10000" in pause["victims"], "its victim is 17->18", pause)
    check(run.verdict["findings"][0]["root"] == "6:2", "6:2 comes first", run.verdict["findings"][0])

    weak = finding(run, "flow-contention", "6:2", SHORT)
    check(set(steps_of(weak)) == {1}, "15->18 at 6:2 in step 1 alone", weak)
    check(weak["score"] < worst["score"] / 3, "its score is far below that of 13->19", (weak["score"], worst["score"]))

    nic = finding(run, "flow-contention", "15:1", SHORT)
    check(1 in steps_of(nic) and "15->16/10000>10000" in nic["victims"], "15->16 shares its NIC in step 1", nic)
    nic = finding(run, "flow-contention", "13:1", LONG)
    check(2 in steps_of(nic) and "13->14/10000>10000" in nic["victims"], "13->14 shares its NIC in step 2", nic)

    scores = {c["flow"]: c["score"] for c in run.verdict["contributors"]}
    check(max(scores, key=scores.get) == LONG, "13->19 is the top contributor", scores)
    others = max((score for flow, score in scores.items() if flow != LONG), default=0)
    check(scores[LONG] > 5 * others, "by far", scores)
    check(set(scores) <= {LONG, SHORT}, "nobody else is blamed", scores)
    known = ("flow-contention", "pfc-backpressure", "strict-priority")  # ACKs of BF1 leave by 18:1
    check(all(f["type"] in known for f in run.findings()), "and for nothing else", [f["type"] for f in run.findings()])


def cost(run):
    rss_bytes = run.run["rss_bytes"]
    check(rss_bytes < MOST_RSS_BYTES, f"the fabric takes {rss_bytes / 1e6:.0f} MB", run.run)
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    check(largest < MOST_RSS_BYTES, f"no program takes more than {largest / 1e6:.0f} MB", largest)
    check(within(time.monotonic() - run.run["wall_s"], MOST_WALL_S), f"{run.run['wall_s']:.1f} s", "slower than any machine should be")


reference = rocelab(SCENARIOS / "ns3-allgather-100g.cfg")
times(reference)
page(reference)
verdict(reference)
cost(reference)
