#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The exporter's budget in real time: the bytes on the analyzer's socket, by the clock of whoever reads them, are never more
than the bucket holds and the rate brings since time 0."""
import socket
import subprocess
import time

import records
from harness import DPSWITCH, STALL_LIMIT_S, UNFINISHED, Run, check, scenario_file, scratch

BUDGET = 40_000     # bytes a second
BURST = 4608        # the least that a bucket holds (docs/engine.md)
SECONDS = 2
SCENARIO = f"""topology = {{ kind = "explicit"; rate = "200Mbps"; delay = "50us"; switches = [ "a", "b" ];
    hosts = [ "h0", "h1", "h2", "h3" ]; links = ( "h0 a", "h1 a", "h2 b", "h3 b", "a b" ); }};
timing = {{ clock = "real"; }};
telemetry = {{ epoch = "1ms"; }};
detection = {{ policy = "full-polling"; }};
exporter = {{ budget = "{BUDGET}B"; }};
limits = {{ virtual_time = "{SECONDS}s"; }};
flows = ( {{ src = "h0"; dst = "h2"; sport = 49152; bytes = "1GB"; }}, {{ src = "h1"; dst = "h3"; sport = 49153; bytes = "1GB"; }},
          {{ src = "h2"; dst = "h1"; sport = 49154; bytes = "1GB"; }} );
"""


def receive(connection):
    """@return the bytes received, and (time.monotonic(), bytes so far) at each piece"""
    data, pieces = bytearray(), []
    while piece := connection.recv(1 << 16):
        data += piece
        pieces.append((time.monotonic(), len(data)))
    return bytes(data), pieces


def budgeted(data, pieces):
    """
    Frames and gaps alone wait for the budget; what describes the fabric stands before them, record by record.
    @return (time.monotonic(), bytes of frames and gaps so far) at each piece
    """
    spans, at = [], records.record_layout.STREAM_BYTES
    for piece in records.record_layout.pieces(data):
        if records.record_layout.type_of(piece) in (records.record_layout.FRAME, records.GAP):
            spans.append((at, at + len(piece)))
        at += len(piece)
    return [(at_s, sum(max(0, min(end, size) - start) for start, end in spans)) for at_s, size in pieces]


path = scratch() / "analyzer"
listener = socket.socket(socket.AF_UNIX)
listener.bind(str(path))
listener.listen(1)
listener.settimeout(STALL_LIMIT_S)
run = Run(scratch())
fabric = subprocess.Popen([DPSWITCH, scenario_file(SCENARIO, "budget.cfg"), "--out", run.dir, "--analyzer", path, "--quiet"])
connection, _ = listener.accept()
data, pieces = receive(connection)
fabric.wait(STALL_LIMIT_S)
check(fabric.returncode == UNFINISHED, "the run ends as flows without an end do", fabric.returncode)
realtime = run.run["realtime"]
zero_s = realtime["zero_clock_ns"] / 1e9
rows = [(at_s - zero_s, sent) for at_s, sent in budgeted(data, pieces) if sent]
end_s, total = rows[-1]
check(end_s > 0.8 * SECONDS, f"it took {end_s:.2f} s", rows[-1])
check(total > 0.5 * BUDGET * SECONDS, f"the budget is what bounds it: {total} B", total)
# What is read late may have been sent in its time; what comes after the end closes the stream.
over = [row for row in rows if row[0] < SECONDS and row[1] > BURST + BUDGET * max(row[0], 0)]
check(not over, f"no moment has seen more than the bucket and {BUDGET} B a second", over[:5])
busy = len({int(at_s * 10) for at_s, _ in rows})
check(busy > 5 * SECONDS, f"it comes bit by bit: in {busy} tenths of a second", rows[:20])
