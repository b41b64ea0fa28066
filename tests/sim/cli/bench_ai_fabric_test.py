#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rocelab bench ai-fabric: the rows of a small fabric, their rules, and that the same command resumes; a fabric without PFC fails where
nothing may be lost; the scenario's own traffic plays no part. The ECN threshold is found to a packet, and one that a port does not have
is not."""
import json

from harness import ROCELAB, check, command, scenario_file, scratch

FABRIC = """topology = { kind = "leaf-spine"; leaves = 2; spines = 2; hosts_per_leaf = 4; rate = "100Gbps"; delay = "500ns"; };
flows = ( { src = "h0"; dst = "h1"; sport = 20001; bytes = "1GB"; } );
host = { cc = "none"; };
faults = ( { kind = "loss"; port = "l0:1"; rate = 0.5; } );
%s
"""
FAT = FABRIC.replace('kind = "leaf-spine"; leaves = 2; spines = 2; hosts_per_leaf = 4', 'kind = "fat-tree"; k = 4').replace("h1", "h2")
RAIL = FABRIC.replace('kind = "leaf-spine"; leaves = 2; spines = 2; hosts_per_leaf = 4', 'kind = "rail"; hosts = 8; nics = 2; hosts_per_group = 2; spines = 4')
RAIL = RAIL.replace("l0:1", "g0r0:1")
FAT = FAT.replace("l0:1", "e0:1")
OUT = scratch() / "ai"


def bench(scenario, *tests, out=OUT):
    done = command(ROCELAB, "bench", "ai-fabric", scenario, *tests, "--json", "--out", str(out))
    return {(row["test"], row["value"]): row for row in json.loads(done.stdout)["rows"]}


def times():
    return {path: path.stat().st_mtime_ns for path in OUT.glob("*/*/*/run.json")}


path = scenario_file(FABRIC % "")
rows = bench(path, "incast", "allreduce", "tenants", "link-failure", "deadlock")
check(sorted(value for test, value in rows if test == "incast") == [2, 4], "as many senders as the fabric has hosts", rows)
check(all(rows["incast", n]["result"] == "pass" and rows["incast", n]["figure"] > 90 for n in (2, 4)), "an incast loses nothing", rows)
for size, least in (1, 10), (4, 30), (16, 60), (64, 80):
    row = rows["allreduce", size]
    check(row["result"] == "pass" and least < row["figure"] < 93, f"{size} MB: a ring on a clean fabric takes an idle one's time, delays included", row)
check(rows["tenants", 16]["figure"] >= 0.99, "two tenants are no faster than one", rows)
check("the busiest uplink sent 2.00 times what any did with one alone" in rows["tenants", 16]["note"], "as one link has a flow of each", rows)
check(rows["link-failure", 16]["result"] == "pass" and rows["link-failure", 16]["figure"] > 1, "a failure costs time, and no more", rows)
lost = json.loads((OUT / "link-failure/16/1/run.json").read_text())["drops"]["link_down"]
check(lost > 0 and f" {lost} packets lost within" in rows["link-failure", 16]["note"], "and says what was lost, on the cable too", rows)
check(rows["deadlock", 16]["result"] == "pass", "no deadlock", rows)
# The link that fails is one that the ring uses: where the first one of a leaf is idle, too. Where it is the only one, the ring does not end.
for name, text in (("eight", FABRIC.replace("spines = 2", "spines = 8")), ("fat", FAT), ("rail", RAIL)):
    row = bench(scenario_file(text % ""), "link-failure", out=OUT.parent / name)["link-failure", 16]
    check(row["result"] == "pass" and row["figure"] > 1 and int(row["note"].split(" packets lost")[0].split()[-1]) > 0, f"{name}: packets are lost", row)
    check("the busiest uplink" in row["note"], f"{name}: and the link has its name", row)
row = bench(scenario_file(FABRIC.replace("spines = 2", "spines = 1") % ""), "link-failure", out=OUT.parent / "one")["link-failure", 16]
check(row["result"] == "fail" and row["figure"] is None and row["note"] == "the job did not complete", "no other path: the row fails", row)
before = times()
check(len(before) == 2 + 4 + 3 + 2 + 1, "a folder for each run", before)
cut = OUT / "deadlock/16/0/run.json"
cut.write_text(json.dumps({**json.loads(cut.read_text()), "end_reason": "interrupt"}))
bench(path, "deadlock")
check(json.loads(cut.read_text())["end_reason"] == "complete", "a run that was interrupted is made again")
before = times()
check(bench(path, "incast", "allreduce") == {key: row for key, row in rows.items() if key[0] in ("incast", "allreduce")} and times() == before,
      "what has run is not run again")

# Beside the roofline, which has no delays: 64 MB are near it.
rows = bench(path, "jct")
check(1 < rows["jct", 64]["figure"] < 1.15 and rows["jct", 64]["result"] == "pass", "the roofline is a little faster", rows)

# Flows that join others, at a rate at which windows are few: fair where nothing but the switch's turns divides the link, one host a flow,
# and not where rates that fell never rise.
JOIN = """topology = { kind = "explicit"; hosts = [ "h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8" ]; switches = [ "s" ]; rate = "1Gbps";
    delay = "20us"; links = ( "h0 s", "h1 s", "h2 s", "h3 s", "h4 s", "h5 s", "h6 s", "h7 s", "h8 s" ); };
flows = ( { src = "h0"; dst = "h1"; sport = 20001; bytes = "1GB"; } );
host = { dcqcn = { %s }; };
switch = { profile = "ns3"; };
"""
for name, keys, fair in (("same", 'ai = "0bps"; hai = "0bps"; min_rate = "1Gbps";', True), ("lost", 'ai = "0bps"; hai = "0bps"; g = 1.0; min_rate = "1Mbps";', False)):
    row = bench(scenario_file(JOIN % keys), "dcqcn-convergence", out=OUT.parent / name)["dcqcn-convergence", 4]
    check((row["result"] == "pass") == fair == row["note"].startswith("fair"), f"M = 4 join 4, {name}: {row['note']}", row)
    check(row["figure"] > 20 and row["runs"] >= 2 and row["runs"] % 2 == 0, f"{name}: two runs a window", row)

# The first mark, and every packet above it; a search of runs that resumes, too.
rows = bench(path, "ecn-threshold", "latency", "polarisation", "soak")
for kilobytes in (100, 1000, 5000):
    row = rows["ecn-threshold", kilobytes]
    check(row["result"] == "pass" and 0 < row["figure"] <= 1, f"kmin of {kilobytes} KB: the first mark is less than a packet above it", row)
for size in (64, 1024, 16384, 131072):
    row = rows["latency", size]
    check(row["result"] == "pass" and row["figure"] > 1, f"{size} B: idle is as computed, and load costs time", row)
check(all(0.25 <= rows["polarisation", n]["figure"] <= 1 for n in (1, 8, 32)), "Jain's index of four uplinks", rows)
check(rows["polarisation", 1]["result"] == "reported" and "the draft" in rows["polarisation", 1]["rule"], "which has no limit, and why", rows)
check(rows["soak", 50]["result"] == "pass" and "50 iterations" in rows["soak", 50]["note"], "a soak is steady", rows)
before = times()
check(bench(path, "ecn-threshold")["ecn-threshold", 100] == rows["ecn-threshold", 100] and times() == before, "a search is not made again")
other = scenario_file(FABRIC % 'ports = ( { names = [ "l0:1" ]; ecn = { kmin = "90KB"; kmax = "90KB"; }; } );')
row = bench(other, "ecn-threshold", out=OUT.parent / "other")["ecn-threshold", 100]
check(row["result"] == "fail" and row["figure"] < -8, "a port that marks earlier than asked fails", row)

# Bursts: a small buffer pauses earlier than a large one, and does not mark where it pauses.
figures = {}
for buffer in ("2MB", "8MB"):
    small = scenario_file(FABRIC % f'switch = {{ profile = "ns3"; buffer = "{buffer}"; }};')
    rows = bench(small, "absorption", "ecn-threshold", out=OUT.parent / buffer)
    check(all(rows["absorption", n]["result"] == "pass" and "PAUSE" in rows["absorption", n]["note"] for n in (2, 4)), "PFC loses nothing", rows)
    figures[buffer] = rows["absorption", 2]["figure"]
check(figures["8MB"] > 1.5 * figures["2MB"], "the burst that is absorbed grows with the buffer", figures)
check(rows["ecn-threshold", 5000]["result"] == "unknown", "a queue that PFC ends before the threshold proves nothing", rows)

# Rates that DCQCN cut leave the link idle: the row says so, and not of a fabric that loses packets.
row = bench(scenario_file(FABRIC.replace('cc = "none"', 'cc = "dcqcn"') % ""), "incast", out=OUT.parent / "rates")["incast", 4]
idle = 100 - row["figure"]
check(row["result"] == "fail" and 0 < idle and f"senders' rates left {idle:.1f} % of the link idle" in row["note"] and "cut by dcqcn (" in row["note"],
      "an incast that fails without loss or PAUSE says why", row)

lossy = scenario_file(FABRIC % 'switch = { pfc = { enabled = false; }; lossy_queue = "50KB"; };')
rows = bench(lossy, "incast", "absorption", out=OUT.parent / "lossy")
check(rows["absorption", 2]["result"] == "fail" and "the first loss" in rows["absorption", 2]["note"], "and bursts, too", rows)
check(rows["incast", 4]["result"] == "fail" and "idle" not in rows["incast", 4]["note"], "without PFC an incast loses packets", rows)
table = command(ROCELAB, "bench", "ai-fabric", path, "incast", "--out", str(OUT)).stdout
check("no loss, at least 90 %" in table and "pass" in table and "UET" in table, "the table has rules, results and what is not there", table)
done = command(ROCELAB, "bench", "ai-fabric", path, "nonsense", "--out", str(OUT), expect=2)
check('"nonsense" is no test' in done.stderr, "a wrong name is refused", done.stderr)
