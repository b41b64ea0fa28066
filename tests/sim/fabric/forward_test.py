#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Frames cross switches between two external ports: repeated from a file, and one at a time in real time."""
import json
import os
import pathlib
import tempfile

from harness import BUILD, check, command

FORWARD = BUILD / "dpswitch" / "dpswitch-forward"
CHAIN = """topology = { kind = "explicit"; rate = "10Gbps"; delay = "20us"; switches = [ "s0", "s1" ];
    hosts = [ "a", "b" ]; links = ( "a s0", "s0 s1", "s1 b" ); };
flows = ( { src = "a"; dst = "b"; sport = 49152; bytes = "1MB"; } );
"""

PAIRS = """topology = { kind = "explicit"; rate = "10Gbps"; delay = "20us"; switches = [ "s0", "s1" ];
    hosts = [ "a", "b", "c", "d" ]; links = ( "a s0", "s0 s1", "s1 b", "c s1", "d s0" ); };
flows = ( { src = "a"; dst = "b"; sport = 49152; bytes = "1MB"; }, { src = "c"; dst = "d"; sport = 49153; bytes = "1MB"; } );
"""

with tempfile.TemporaryDirectory() as folder:
    scenario = pathlib.Path(folder) / "chain.cfg"
    scenario.write_text(CHAIN)
    for size in (60, 1000):
        command(FORWARD, scenario, "--out", folder, "--frame-bytes", size, "--seconds", "0.2")
        result = json.loads((pathlib.Path(folder) / "forward.json").read_text())
        check(result["packets"] > 10000, f"frames of {size} B as fast as can be", str(result))
        # 10 Gbps in the run's own time: no more than its rate, and what the switches let through of it
        most = 10e9 / 8 / (size + 24) * result["window_us"] * 1e-6 * result["windows"]
        check(0.9 < result["packets"] / most < 1.01, f"frames of {size} B at the link's rate", str(result))
    command(FORWARD, scenario, "--out", folder, "--frame-bytes", 1000, "--seconds", "0.2", "--round", "ring")
    result = json.loads((pathlib.Path(folder) / "forward.json").read_text())
    check(result["packets"] > 10000, "frames go round over rings", str(result))
    command(FORWARD, scenario, "--out", folder, "--frame-bytes", "200", "--seconds", "1", "--paced")
    result = json.loads((pathlib.Path(folder) / "forward.json").read_text())
    check(result["samples"] > 100, "one at a time in real time", str(result))
    # three cables, and windows of the machine's time before and behind them
    check(result["p50_us"] > result["window_us"], "no frame is faster than its cables", str(result))
    # A pair of ports a way over the trunk: what comes in on one lcore leaves on the other.
    if len(os.sched_getaffinity(0)) > 1:
        pairs = pathlib.Path(folder) / "pairs.cfg"
        pairs.write_text(PAIRS)
        command(FORWARD, pairs, "--out", folder, "--frame-bytes", 1000, "--seconds", "0.5", "--lcores", "2")
        result = json.loads((pathlib.Path(folder) / "forward.json").read_text())
        most = 2 * 10e9 / 8 / 1024 * result["window_us"] * 1e-6 * result["windows"]
        check(0.9 < result["packets"] / most < 1.01, "both ways at the links' rate on two lcores", str(result))
    command(FORWARD, scenario, "--frame-bytes", "20000", expect=2)
    command(FORWARD, scenario, "--seconds", "no", expect=2)
    scenario.write_text(CHAIN + "host = { ip_version = 6; };\n")
    done = command(FORWARD, scenario, "--out", folder, "--seconds", "0.2", expect=1)
    check("ip_version" in done.stderr, "IPv6 is refused where frames are IPv4", done.stderr)
print("ok")
