#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The exporter's budget in real time: the bytes on the analyzer's socket, by the clock of whoever reads them, are never more
than the bucket holds and the rate brings since time 0."""
import socket
import subprocess
import time

from harness import DPSWITCH, STALL_LIMIT_S, UNFINISHED, Run, check, scenario_file, scratch

BUDGET = 40_000     # bytes a second
BURST = 4608        # the least that a bucket holds (docs/engine.md)
HEADERS = 4096      # should they come in two pieces
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
    """@return (time.monotonic(), bytes) of each piece"""
    pieces = []
    while data := connection.recv(1 << 16):
        pieces.append((time.monotonic(), len(data)))
    return pieces


path = scratch() / "analyzer"
listener = socket.socket(socket.AF_UNIX)
listener.bind(str(path))
listener.listen(1)
listener.settimeout(STALL_LIMIT_S)
run = Run(scratch())
fabric = subprocess.Popen([DPSWITCH, scenario_file(SCENARIO, "budget.cfg"), "--out", run.dir, "--analyzer", path, "--quiet"])
connection, _ = listener.accept()
pieces = receive(connection)
fabric.wait(STALL_LIMIT_S)
check(fabric.returncode == UNFINISHED, "the run ends as flows without an end do", fabric.returncode)
realtime = run.run["realtime"]
zero_s = realtime["zero_clock_ns"] / 1e9
rows = [(at_s - zero_s, size) for at_s, size in pieces[1:]] # behind the headers, which no budget holds back
total = sum(size for _, size in rows)
end_s = rows[-1][0]
check(end_s > 0.8 * SECONDS, f"it took {end_s:.2f} s", pieces[-1])
check(total > 0.5 * BUDGET * SECONDS, f"the budget is what bounds it: {total} B", total)
# What is read late may have been sent in its time.
sent = 0
over = []
for at_s, size in rows[:-1]: # the last piece holds what ends the stream
    sent += size
    if sent > BURST + HEADERS + BUDGET * at_s:
        over.append((at_s, sent))
check(not over, f"no moment has seen more than the bucket and {BUDGET} B a second", over[:5])
busy = len({int(at_s * 10) for at_s, _ in rows})
check(busy > 5 * SECONDS, f"it comes bit by bit: in {busy} tenths of a second", rows[:20])
