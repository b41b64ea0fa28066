#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The exporter's budget cut to a tenth of what an unlimited run needs: the run completes, the verdict says how incomplete
its evidence is, and nothing is lost uncounted."""
import records
from harness import SCENARIOS, check, rocelab, sets

SCENARIO = SCENARIOS / "case-study.cfg"

full = rocelab(SCENARIO)
peak = full.run["export"]["peak_bytes_per_s"]
check(full.verdict["overhead"]["completeness"] == 1, "without a budget the evidence is complete", full.verdict["overhead"])
check(full.verdict["overhead"]["dropped"] == 0, "and nothing is dropped", full.verdict["overhead"])
check(not records.gaps(records.read(full.dir / "records.bin")), "and no gap is told")
check("ncomplete evidence" not in full.report, "nor does the report speak of one", full.report)

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

    dropped_bytes = sum(gap.dropped_bytes for gap in gaps)
    dropped = sum(gap.dropped for gap in gaps)
    check(dropped > 0 and dropped == export["dropped_records"] == end.dropped_records,
          f"{name}: the stream tells of all {dropped} records dropped", (export, end))
    check(export["sent_bytes"] + dropped_bytes == export["offered_bytes"] == end.offered_bytes,
          f"{name}: bytes offered = sent + dropped", (export, dropped_bytes, end))
    check(end.offered_records == end.sent_records + end.dropped_records, f"{name}: so in records", end)
    there = sum(records.STEP <= r.type < records.GAP for r in stream)
    check(there == end.sent_records, f"{name}: and what was sent is there", (there, end))

    # the bucket holds a millisecond's worth, or 1024 B, at first
    allowed = peak // share * cut.run["virtual_ns"] / 1e9 + max(peak // share / 1000, 1024)
    told = 56 * len(gaps)
    check(export["sent_bytes"] <= allowed, f"{name}: {export['sent_bytes']} B of {allowed:.0f} B allowed", export)
    check(export["sent_bytes"] + told > allowed / 3, f"{name}: which are made use of", (export, told))

    check(overhead["dropped"] == dropped, f"{name}: verdict.json counts them", overhead)
    share_sent = export["sent_bytes"] / export["offered_bytes"]
    check(abs(overhead["completeness"] - share_sent) < 1e-6, f"{name}: completeness {share_sent:.3f}", overhead)
    check("Incomplete evidence" in cut.report and f"{dropped:,}" in cut.report, f"{name}: the report says so", cut.report)
    check(f"{share_sent:.1%}".replace("%", " %") in cut.report, f"{name}: and how incomplete", cut.report)

    # verdict-relevant records go first: steps before rows
    def kept(kind):
        lost = sum(gap.dropped for gap in gaps if gap.kind == kind)
        sent = sum(r.type == kind for r in stream)
        return sent / max(1, sent + lost)
    check(kept(records.STEP) > kept(records.PORT_ROW) >= kept(records.FLOW_ROW), f"{name}: steps come through first",
          [kept(k) for k in (records.STEP, records.PORT_ROW, records.FLOW_ROW)])
