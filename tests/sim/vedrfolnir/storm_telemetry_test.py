#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Telemetry answers 20 ms into a storm, when every kept epoch is empty: the present state shows what the rows no longer do."""
import records
from harness import SCENARIOS, check, rocelab, sets

MS = 10**9

# The step starts into a storm that began long before: nothing moves, and two epochs of 1 ms remember nothing.
run = rocelab(SCENARIOS / "pfc-storm.cfg", *sets(**{
    "collectives__[0]__step_bytes": "2MB", "collectives__[0]__start": "22ms", "faults__[0]__start": "1ms",
    "faults__[0]__duration": "60ms", "telemetry__epochs_kept": 2}))
stream = records.read(run.dir / "records.bin")
names = records.node_names(stream)
rows = [(r, row) for r, row in records.port_rows(stream)]

stopped = [(r, row) for r, row in rows if (names[r.node], row.port + 1) == ("0", 4) and row.paused]
check(stopped, "0:4 reported that it is paused", [(names[r.node], row.port + 1) for r, row in rows])
record, row = stopped[0]
check(record.time_ps >= 21 * MS, f"it answered {record.time_ps / MS:.1f} ms into the run, 20 ms into the storm", row)
check(1 * MS < row.paused_since_ps < 2 * MS, f"paused since {row.paused_since_ps / MS:.3f} ms", row)
oldest_kept_ps = (record.time_ps // MS - 1) * MS
check(row.from_ps >= oldest_kept_ps, f"the epochs it counted begin at {row.from_ps / MS:.0f} ms", row)
check(row.pauses_received < 25, "the PAUSE frames of 20 ms are not among them", row)
check(row.queue_packets > 0 and row.queue_bytes > 0, f"{row.queue_packets} packets stand in its queue", row)

origin = [row for r, row in rows if (names[r.node], row.port + 1) == ("5", 1)]
check(origin, "the poll went on to 5:1, where the PAUSE comes from", [(names[r.node], row.port + 1) for r, row in rows])
origin = [row for row in origin if row.pausing]
check(origin and 1 * MS <= origin[0].pausing_since_ps < 2 * MS, "it says that it pauses, and since when", origin)
check(origin[0].ingress_bytes < origin[0].ingress_xoff_bytes, "and that its buffer gives it no reason to", origin[0])

storm = run.findings("pfc-storm")
check(storm and storm[0]["root"] == "5:1", "the storm's port is found", run.findings())
check(len(run.findings()) == 1, "and nothing else", run.findings())
