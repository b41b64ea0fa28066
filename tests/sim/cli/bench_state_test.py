#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Bytes of a port's telemetry: by the structures, the same twice, and those of the page."""
import importlib.machinery
import importlib.util
import json

from harness import ROCELAB, SOURCE, check, command

state = json.loads(command(ROCELAB, "bench", "state", "--json").stdout)
rows = {row["state"]: row for row in state["rows"]}
check(len(rows) == 7 and state["epochs_kept"] > 0 and state["senders"] > 0, "every structure has a row", state)
for name, row in rows.items():
    sizes = list(row["port_bytes"].values())
    check(all(size > 0 for size in sizes), f"{name}: has bytes", row)
    check("FlowPulse" in name or sizes == sorted(sizes), f"{name}: more ports, more meters", row)
whole = rows["a port's telemetry, all of it"]
check(whole["flow_bytes"] >= state["epochs_kept"] * 32, "a flow has a row an epoch", whole)
exact = rows["with the exact contention matrix"]
check(exact["flow_bytes"] - whole["flow_bytes"] == state["epochs_kept"] * 64, "and in the exact matrix 16 columns more", exact)
polled, drops = rows["of it, events of polling packets"], rows["of it, drops by reason"]
check(all(polled["port_bytes"][n] + drops["port_bytes"][n] < whole["port_bytes"][n] for n in whole["port_bytes"]), "parts are within it")
counters = rows["of it, FlowPulse's counters in the data plane"]
check(set(counters["port_bytes"].values()) == {state["senders"] * counters["flow_bytes"]}, "counters are by sender", counters)

loader = importlib.machinery.SourceFileLoader("telemetry_tables", str(SOURCE / "scripts/telemetry-tables"))
tables = importlib.util.module_from_spec(importlib.util.spec_from_loader("telemetry_tables", loader))
loader.exec_module(tables)
text = tables.PAGE.read_text(encoding="utf-8")
for line in tables.state(ROCELAB).splitlines():
    check(line + "\n" in text, f"docs/telemetry-benchmark.md: {line}", "scripts/telemetry-tables writes it anew")
shown = command(ROCELAB, "bench", "state").stdout
check("SRAM BITS" in shown and f"{whole['flow_bytes']} B" in shown, "a table for people", shown)
