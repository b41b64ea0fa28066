#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A storm costs the same whatever the epochs: within 15 % of the time that the job regains without it, at 20 us to 2 ms."""
from harness import check, rocelab, scenario_file, sets

STORM = 'faults = ( { kind = "pfc-storm"; port = "%s"; start = "%s"; duration = "%s"; } );\n'
FABRIC = """topology = { kind = "leaf-spine"; leaves = 4; spines = 2; hosts_per_leaf = 4; rate = "100Gbps"; delay = "1us"; };
collectives = ( { op = "allgather"; algorithm = "ring"; step_bytes = "%s"; ranks = [ %s ]; } );
"""
# A ring alone with a storm at a host's switch, longer than most epochs; and a ring that collides with itself.
ALONE = FABRIC % ("6MB", '"h0", "h4", "h8", "h12"')
COLLIDING = "seed = 7;\n" + FABRIC % ("3MB", '"h2", "h9", "h5", "h14", "h0", "h7"')


def grains(text, port, start, duration):
    scenario = scenario_file(text + STORM % (port, start, duration))
    whole = [rocelab(scenario, *sets(telemetry__epoch=f'"{epoch}"')) for epoch in ("20us", "200us", "2ms")]
    without = rocelab(scenario, *sets(**{"faults__[0]__enabled": "false"}))
    times = [run.verdict["collectives"][0]["end_ns"] for run in (*whole, without)]
    check(len(set(times[:-1])) == 1, "epochs do not change the run", times)
    regained = times[0] - times[-1]
    for run in whole:
        storms = run.findings("pfc-storm")
        claimed = sum(f["explained_ns"] for f in storms)
        check({f["root"] for f in storms} == {port}, "the storm is found", run.findings())
        check(abs(claimed - regained) <= 0.15 * regained, f"{claimed} of {regained} ns", [f["explained_ns"] for f in run.findings()])


grains(ALONE, "l1:1", "300us", "2ms")
grains(ALONE, "l1:1", "300us", "300us")
grains(COLLIDING, "s0:2", "400us", "2ms")
