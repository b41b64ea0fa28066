#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a host's monitor costs, as far as no clock is in it: memory in proportion to a rank's steps, tables to all steps of the
collective, records that get no longer with more steps. That its times are of this machine is all that can be said of them."""
import json
from harness import ROCELAB, SANITIZED, check, command

cases = json.loads(command(ROCELAB, "bench", "monitor", "--repeats", 1, "--json").stdout)["cases"]
check(all(c["steps"] == c["ranks"] - 1 for c in cases), "rings", cases)
first, last = cases[0], cases[-1]
check(all(0 < c["ack_ns"] < c["step_ns"] and 0 < c["look_ns"] for c in cases), "an ACK costs least", cases)
records = [c["record_bytes"] for c in cases]
check(records == sorted(records, reverse=True) and records[0] < 64, "records are packed", records)
a_step = (last["memory_bytes"] - first["memory_bytes"]) / (last["steps"] - first["steps"])
for c in cases if not SANITIZED else ():  # whose allocator reports nothing
    name = f"{c['ranks']} ranks"
    linear = first["memory_bytes"] + a_step * (c["steps"] - first["steps"])
    check(abs(c["memory_bytes"] - linear) < 128, f"{name}: {a_step:.0f} B of memory a step and a little", (c, linear))
    check(c["tables_bytes"] < 1000 + 80 * c["ranks"] * c["steps"], f"{name}: tables in proportion to all steps", c)
