# SPDX-License-Identifier: BSD-3-Clause
"""With a tenth of the budget that it needs, a run completes, and its verdict says how incomplete its evidence is."""
import struct

from harness import SCENARIOS, SANITIZED, check, rocelab

SCENARIO = SCENARIOS / "case-study.cfg"
SMALL = ["--set", "collectives.[0].step_bytes=2MB", "--set", "flows.[0].start=30us", "--set", "flows.[0].bytes=500KB",
         "--set", "flows.[1].start=160us", "--set", "flows.[1].bytes=2500KB"] if SANITIZED else []
REC_GAP, HDR = 48, struct.Struct("<HHIQII")


def gaps(path):
    """Records that the stream says were dropped."""
    data, at, dropped = path.read_bytes(), 16, 0
    while at < len(data):
        kind, size, *_ = HDR.unpack_from(data, at)
        if kind == REC_GAP:
            dropped += struct.unpack_from("<I", data, at + HDR.size + 4)[0]
        at += size
    check(at == len(data), "the recording is whole records", (at, len(data)))
    return dropped


free = rocelab(SCENARIO, *SMALL)
peak = free.run["export"]["peak_bytes_per_s"]
check(free.verdict["overhead"]["completeness"] == 1, "without a budget nothing is missing", free.verdict["overhead"])
check(free.run["export"]["offered_bytes"] == free.run["export"]["sent_bytes"], "all that is offered is sent", free.run["export"])

tight = rocelab(SCENARIO, *SMALL, "--set", f"exporter.budget={max(peak // 10, 1)}")
export, overhead = tight.run["export"], tight.verdict["overhead"]
check(tight.run["end_reason"] == "complete", "a tenth of the peak: the run completes", tight.run["end_reason"])
check(export["offered_bytes"] == free.run["export"]["offered_bytes"], "the budget changes nothing in the fabric", export)
check(tight.run["digest"] == free.run["digest"], "nor its digest", (tight.run["digest"], free.run["digest"]))
check(export["dropped_records"] > 0, f"{export['dropped_records']} records did not fit", export)
check(gaps(tight.dir / "records.bin") == export["dropped_records"], "every one of them is told in the stream", export)
check(overhead["dropped"] == export["dropped_records"], "and in the verdict", overhead)
share = export["sent_bytes"] / export["offered_bytes"]
check(abs(overhead["completeness"] - share) < 0.01, f"completeness {overhead['completeness']:.3f}", share)
check("complete" in (tight.dir / "report.txt").read_text(), "the report says so", "")
