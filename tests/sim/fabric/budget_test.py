#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The exporter's budget cut to a tenth of what an unlimited run needs: the run completes, the verdict says how incomplete
its evidence is, and nothing is lost uncounted."""
import re

import records
from harness import SCENARIOS, check, fail, rocelab, scenario_file, sets

SCENARIO = SCENARIOS / "case-study.cfg"

full = rocelab(SCENARIO)
peak = full.run["export"]["peak_bytes_per_s"]
[(_, reported)] = records.of(records.read(full.dir / "records.bin"), records.RUN)
check(reported.budget_bps == 1_250_000_000, "there is a budget where nobody asks for one: 10 Gbps", reported)
check(full.verdict["overhead"]["completeness"] == 1, "with that the evidence is complete", full.verdict["overhead"])
check(full.verdict["overhead"]["dropped"] == 0, "and nothing is dropped", full.verdict["overhead"])
check(not records.gaps(records.read(full.dir / "records.bin")), "and no gap is reported")
check("ncomplete evidence" not in full.report, "nor does the report speak of one", full.report)

# Half of the peak: the queue holds what has to wait, and all of it comes, late.
half = rocelab(SCENARIO, *sets(exporter__budget=peak // 2))
export, end = half.run["export"], records.end(records.read(half.dir / "records.bin"))
late = end.deferred_records
check(late > 0 == end.dropped_records, "half of the peak: records are held back, and none is lost", end)
check(export["deferred_records"] == half.verdict["overhead"]["deferred"] == late, "which both files report", export)
check(f"{late} records deferred and 0 dropped by the exporter's budget" in half.report, "and the report", half.report)
check(half.verdict["overhead"]["completeness"] == 1 and half.findings() == full.findings(), "what is found is the same",
      half.verdict["overhead"])

for share in (10, 100):
    name = f"1/{share} of the peak"
    cut = rocelab(SCENARIO, *sets(exporter__budget=peak // share))
    export = cut.run["export"]
    stream = records.read(cut.dir / "records.bin")
    gaps, end = records.gaps(stream), records.end(stream)
    overhead = cut.verdict["overhead"]

    check(cut.run["end_reason"] == "complete", f"{name}: the run completes", cut.run)
    check(cut.run["digest"] == full.run["digest"], f"{name}: the budget changes nothing in the fabric",
          (cut.run["digest"], full.run["digest"]))
    check(export["offered_bytes"] == full.run["export"]["offered_bytes"], f"{name}: as much is offered", export)

    dropped = sum(gap.dropped for gap in gaps)
    check(dropped > 0 and dropped == export["dropped_records"] == end.dropped_records,
          f"{name}: the stream reports all {dropped} records dropped", (export, end))
    check(end.offered_records == end.sent_records + end.dropped_records, f"{name}: offered = sent + dropped", end)
    there = sum(records.STEP <= r.type < records.GAP for r in stream)
    check(there == end.sent_records, f"{name}: and what was sent is there", (there, end))

    # bytes that crossed the socket and were recorded, gaps included; the bucket holds a millisecond's worth, or 4608 B, at first
    sent = records.sent(cut.dir / "records.bin")
    check(sum(s.bytes for s in sent) == export["sent_bytes"] == end.sent_bytes, f"{name}: what is counted is what was sent", export)
    check([s.time_ps for s in sent] == sorted(s.time_ps for s in sent), f"{name}: in the order of time")
    burst, rate = max(peak // share / 1000, 4608), peak // share / 1e12
    for i, first in enumerate(sent):
        bytes_since = 0
        for last in sent[i:]:
            bytes_since += last.bytes
            if bytes_since > burst + rate * (last.time_ps - first.time_ps):
                fail(f"{name}: {bytes_since} B from {first.time_ps} to {last.time_ps} ps")
    fullest = max(sum(s.bytes for s in sent[i:] if s.time_ps < first.time_ps + 1e9) for i, first in enumerate(sent))
    check(fullest <= rate * 1e9 + 4608, f"{name}: no millisecond has more than the budget, a frame and its gaps", fullest)
    check(True, f"{name}: no span of time between any of {len(sent)} frames and gaps has more than the budget")
    allowed = burst + rate * cut.run["virtual_ns"] * 1000
    check(export["sent_bytes"] > allowed / 3, f"{name}: which is made use of", (export, allowed))

    check(overhead["dropped"] == dropped, f"{name}: verdict.json counts them", overhead)
    share_sent = end.sent_records / end.offered_records
    check(abs(overhead["completeness"] - share_sent) < 1e-6, f"{name}: completeness {share_sent:.3f}", overhead)
    text = " ".join(cut.report.split())
    check(f"The exporter's budget dropped {dropped} records and held {end.deferred_records} back" in text,
          f"{name}: the report says so", cut.report)
    check(f"{share_sent:.1%}".replace("%", " %") in cut.report, f"{name}: and how incomplete", cut.report)

    # verdict-relevant records go first: steps before rows
    def kept(kind):
        lost = sum(gap.dropped for gap in gaps if gap.kind == kind)
        sent = sum(r.type == kind for r in stream)
        return sent / max(1, sent + lost)
    shares = [kept(k) for k in (records.STEP, records.PORT_ROW, records.FLOW_ROW)]
    if share < 100:  # of a hundredth nearly all that is sent is what the bucket held at first, as it came
        check(shares[0] > shares[1], f"{name}: steps come through first", shares)
        check(shares[1] > 0.95 * shares[2], f"{name}: ports are not dropped for flows", shares)

# A budget that the reports of steps exceed for certain: a warning before the run has begun, with a figure that does.
RING = """topology = { kind = "fat-tree"; k = 8; rate = "100Gbps"; };
collectives = ( { op = "allgather"; algorithm = "ring"; step_bytes = "4KB"; } );
"""
path = scenario_file(RING)
starved = rocelab(path, *sets(exporter__budget="100MB"))
words = re.search(r'exporter.budget = "100MB" a second does not hold the reports of steps.*exporter.budget = "(\w+)" would do', starved.stderr)
check(words and starved.run["export"]["dropped_records"] > 0, "a budget below the reports of steps is warned of", starved.stderr)
enough = rocelab(path, *sets(exporter__budget=words.group(1)))
check(enough.run["export"]["dropped_records"] == 0 and "does not hold" not in enough.stderr,
      f"and {words.group(1)}, which the warning names, holds all", (enough.run["export"], enough.stderr))
check("does not hold" not in full.stderr, "no warning where the default does", full.stderr)

# A policy that has every port report each epoch: that is counted with the steps, or alone.
POLLED = dict(detection__policy="full-polling", telemetry__epoch="100us")
name = re.compile(r'does not hold the reports of ([a-z ]+), .*all ports every 100us take about [\w.]+ a second; exporter.budget = "([\w.]+)" would do')
starved = rocelab(path, *sets(exporter__budget="300MB", **POLLED))
words = name.search(starved.stderr)
check(words and words.group(1) == "steps and ports" and starved.run["export"]["dropped_records"] > 0,
      "a budget for steps does not hold the reports of ports", starved.stderr)
enough = rocelab(path, *sets(exporter__budget=words.group(2), **POLLED))
check(enough.run["export"]["dropped_records"] == 0 and "does not hold" not in enough.stderr,
      f"and {words.group(2)} holds both", (enough.run["export"], enough.stderr))
flows = scenario_file("""topology = { kind = "fat-tree"; k = 4; rate = "100Gbps"; };
flows = ( { src = "h1"; dst = "h0"; sport = 20001; bytes = "1MB"; }, { src = "h2"; dst = "h0"; sport = 20002; bytes = "1MB"; } );
""")
words = name.search(rocelab(flows, *sets(exporter__budget="1MB", **POLLED)).stderr)
check(words and words.group(1) == "ports", "without steps it is of ports alone", words)
