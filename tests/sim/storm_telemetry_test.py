# SPDX-License-Identifier: BSD-3-Clause
"""Telemetry answers 20 ms into a storm, when every kept epoch is empty: the present state tells what the rows no longer do."""
import struct

from harness import SCENARIOS, check, rocelab

# The step starts into a storm that began long before: nothing moves, and two epochs of 1 ms remember nothing.
run = rocelab(SCENARIOS / "pfc-storm.cfg", "--set", "collectives.[0].step_bytes=2MB", "--set", "collectives.[0].start=22ms",
              "--set", "faults.[0].start=1ms", "--set", "faults.[0].duration=60ms", "--set", "telemetry.epochs_kept=2")
PORT_ROW, HDR = 33, struct.Struct("<HHIQII")
BODY = struct.Struct("<HBBIIIQQQQQQQQQQQQQIIII")
MS = 10**9

data, at, late = (run.dir / "records.bin").read_bytes(), 16, []
names = {}
while at < len(data):
    kind, size, node, time_ps, _, _ = HDR.unpack_from(data, at)
    if kind == 2:
        names[node] = data[at + 24:at + 56].split(b"\0")[0].decode()
    if kind == PORT_ROW:
        row = BODY.unpack_from(data, at + HDR.size)
        late.append((names[node], row[0] + 1, time_ps, row))
    at += size

halted = [r for r in late if (r[0], r[1]) == ("0", 4) and r[3][2] == 1]
check(halted, "0:4 reported that it is paused", [(r[0], r[1]) for r in late])
name, port, time_ps, row = halted[0]
check(time_ps >= 21 * MS, f"it answered {time_ps / MS:.1f} ms into the run, 20 ms into the storm", time_ps)
check(row[12] <= 2 * MS, f"paused since {row[12] / MS:.3f} ms, long before the oldest kept epoch", row[12])
check(row[13] > 0, f"{row[13]} packets stand in its queue", row)
storm = run.findings("pfc_storm")
check(storm and storm[0]["root"] == "5:1", "and the storm's port is found", run.verdict["findings"])
