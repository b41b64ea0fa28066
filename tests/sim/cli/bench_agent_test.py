#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What R-Pingmesh's agent costs, as far as no clock is in it: datagrams and bits that follow from the paper's times, memory within the
paper's. That its processor time is of this machine is all that can be said of it."""
import json
from harness import ROCELAB, SANITIZED, check, command

cost = json.loads(command(ROCELAB, "bench", "agent", "--repeats", 1, "--json").stdout)
# An RNIC's ToR-mesh, a fourth of its ToR's 21 tuples to others every 90 ms, and its connection; a probe has two ACKs.
probes = 10 + 21 / 4 / 0.09 + 100
check(3 * probes * 0.99 < cost["datagrams_per_s"] < 3 * probes + 50, "datagrams, with some of traceroutes", cost)
check(abs(cost["wire_bps"] - 8 * 142 * cost["datagrams_per_s"]) < 1, "142 bytes each", cost)
check(10e3 < cost["upload_bps"] < 1e6, "records in frames", cost)
check(SANITIZED or 1e6 < cost["memory_bytes"] < 18.5e6, "less memory than the paper's agent", cost)
check(cost["cpu_percent"] > 0 and cost["rnics"] == 8, "processor time of a host with 8 RNICs", cost)
