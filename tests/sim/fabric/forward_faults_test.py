#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Faults under load: on DPDK ports that send and take at line rate, on one lcore and two, a storm, a loop, loss and a flap
lose no frame of a lossless class for want of buffer, and every frame is found."""
import json
import os
import pathlib
import tempfile

from harness import BUILD, check, command

FORWARD = BUILD / "dpswitch" / "dpswitch-forward"
# Two pairs whose frames cross the trunk in both directions; each switch, with its ports, is an lcore's.
PAIRS = """topology = { kind = "explicit"; rate = "10Gbps"; delay = "20us"; switches = [ "s0", "s1" ];
    hosts = [ "a", "b", "c", "d" ]; links = ( "a s0", "s0 s1", "s1 b", "c s1", "d s0" ); };
switch = { profile = "ns3"; };
flows = ( { src = "a"; dst = "b"; sport = 49152; bytes = "1MB"; }, { src = "c"; dst = "d"; sport = 49153; bytes = "1MB"; } );
"""
# Ports: s0:1 a, s0:2 the trunk, s0:3 d; s1:1 the trunk, s1:2 b, s1:3 c.
TIMES = 'start = "1ms"; duration = "2ms"; period = "5ms";'
FAULTS = {
    "storm": f'{{ kind = "pfc-storm"; port = "b:1"; {TIMES} }}',
    # Longer, it fills the buffers of its own links, which then halt each other for ever: a PFC deadlock.
    "loop": '{ kind = "misroute"; dst = "b"; port = "s1:1"; start = "1ms"; duration = "40us"; period = "5ms"; }',
    "loss": f'{{ kind = "loss"; port = "s0:2"; rate = 0.01; {TIMES} }}',
    "flap": f'{{ kind = "link-down"; port = "s0:2"; {TIMES} }}',
}


def scenario(folder, faults):
    path = pathlib.Path(folder) / "faults.cfg"
    path.write_text(PAIRS + f"faults = ( {', '.join(faults)} );\n")
    return path


def forward(folder, faults, lcores):
    command(FORWARD, scenario(folder, faults), "--out", folder, "--frame-bytes", 1000, "--seconds", "0.4", "--lcores", lcores)
    return json.loads((pathlib.Path(folder) / "forward.json").read_text())


def expect(name, result):
    check(result["packets"] > 1000, f"{name}: frames get through", result)
    check(result["born"] == result["found"], f"{name}: every frame is delivered, dropped by name, lost on a cable or there", result)
    check(result["dropped"]["no_buffer"] == 0, f"{name}: none of a lossless class is dropped for want of buffer", result)
    check(result["end_reason"] == "interrupt", f"{name}: no invariant ends the run", result)
    check(result["order_errors"] == result["pause_errors"] == 0, f"{name}: order of flows and of PAUSE and RESUME", result)


with tempfile.TemporaryDirectory() as folder:
    for lcores in (1, 2) if len(os.sched_getaffinity(0)) > 1 else (1,):
        for kind, fault in FAULTS.items():
            name = f"{kind}, {lcores} lcores"
            result = forward(folder, [fault], lcores)
            expect(name, result)
            lost, dropped = result["lost_on_cables"], result["dropped"]
            check(kind not in ("storm", "loop") or result["pauses_at_hosts"] > 0, f"{name}: PAUSE comes back to the senders", result)
            check((lost > 0) == (kind in ("loss", "flap")), f"{name}: cables lose what the fault says", result)
            check(kind != "flap" or dropped["link_down"] > 0, f"{name}: what has no way is dropped as such", result)
        expect(f"all at once, {lcores} lcores", forward(folder, FAULTS.values(), lcores))
    path = scenario(folder, ['{ kind = "host-down"; host = "a"; start = "1ms"; }'])
    done = command(FORWARD, path, "--out", folder, "--seconds", "0.1", expect=1)
    check("which are ports here" in done.stderr, "a fault of a host is refused", done.stderr)
print("ok")
