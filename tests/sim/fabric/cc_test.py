#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Eight senders, one receiver, under every congestion control: queues, shares and goodput within what the papers promise,
and the same bytes on one lcore and on two. Bounds are loose; packets are 1024 B, and the path without queues holds 72, a
sender's window of the profile ns3."""
import json
import os

from harness import ROCELAB, SANITIZED, SCENARIOS, SOURCE, check, command, cpus, dpswitch, sets

SCENARIO = SCENARIOS / "eight-to-one.cfg"
ALGORITHMS = ("dcqcn", "hpcc", "swift", "timely", "none")
SIZE = "1MB" if SANITIZED else "16MB"
FLOWS = [arg for i in range(8) for arg in ("--set", f"flows.[{i}].bytes={SIZE}")]
NS3 = sets(switch__profile="ns3", host__profile="ns3")
PAYLOAD_GBPS = 100 * 1024 / 1106  # what 100 Gbps carry at most
WINDOWS = 8 * 72                  # packets: what eight windows of a path's product hold


def results(*args):
    env = dict(os.environ, ROCELAB=str(ROCELAB))
    return json.loads(command(SOURCE / "scripts/cc-table", "--json", *FLOWS, *NS3, *args, env=env).stdout)


def deterministic():
    for algorithm in ALGORITHMS:
        args = sets(host__cc=algorithm) + [a.replace(SIZE, "1MB") for a in FLOWS]
        runs = [dpswitch(SCENARIO, *args), dpswitch(SCENARIO, *args)]
        if cpus() >= 2:
            runs.append(dpswitch(SCENARIO, "--lcores", "2", *args))
        recordings = [(r.dir / "records.bin").read_bytes() for r in runs]
        check(len({r.run["digest"] for r in runs}) == 1 and all(r == recordings[0] for r in recordings),
              f"{algorithm}: the same on one lcore, again, and on two", [r.run["digest"] for r in runs])


def shared():
    """With room for all windows."""
    found = results()
    for algorithm, r in found.items():
        check(r["dropped"] == 0 and r["halted_us"] == 0, f"{algorithm}: no loss and no PAUSE", r)
        check(r["jain"] > 0.98, f"{algorithm}: fair: Jain's index above 0.98", r)
    none = found["none"]
    check(none["depth_mean"] > 0.9 * WINDOWS and none["goodput"] > 0.99 * PAYLOAD_GBPS,
          "none: all windows stand in the queue, and the link is full", none)
    hpcc = found["hpcc"]
    check(hpcc["depth_mean"] < 20, "hpcc: next to no queue", hpcc)
    # 42 B of telemetry in 1148; eta = 0.95.
    check(0.93 < hpcc["goodput"] / (100 * 1024 / 1148) < 0.97, "hpcc: the link is held at eta, 95 %", hpcc)
    swift = found["swift"]
    # The target is one and a half times the round trip, a microsecond for the switch, and what eight flows scale it by.
    check(72 / 2 < swift["depth_mean"] < 3 * 72, "swift: the queue is what the target delay asks for", swift)
    check(swift["goodput"] > 0.98 * PAYLOAD_GBPS and swift["slowest"] > 0.95, "swift: full link, equal shares", swift)
    timely = found["timely"]
    check(timely["depth_mean"] < none["depth_mean"] and timely["goodput"] > 0.95 * PAYLOAD_GBPS,
          "timely: a queue of about t_low, full link", timely)
    dcqcn = found["dcqcn"]
    # kmin, 400 KB, are 361 packets.
    check(0.5 * 361 < dcqcn["depth_mean"] < 0.9 * WINDOWS and dcqcn["goodput"] > 0.95 * PAYLOAD_GBPS,
          "dcqcn: a queue of about kmin, full link", dcqcn)


def step_marking():
    """kmin equal to kmax, a quarter of the default: DCQCN's queue follows."""
    step = results(*sets(switch__ecn__kmin="100KB", switch__ecn__kmax="100KB"))["dcqcn"]
    check(step["depth_mean"] < 150 and step["goodput"] > 0.85 * PAYLOAD_GBPS, "dcqcn: a step holds the queue at about K", step)


def small_buffer():
    """As a switch is sized by default: PFC has to catch the first round trip."""
    found = results(*sets(switch__buffer="0"))
    none = found["none"]
    for algorithm in ("hpcc", "swift"):
        check(found[algorithm]["halted_us"] < none["halted_us"] / 20, f"{algorithm}: PAUSE for the first burst alone",
              (found[algorithm], none))
    check(found["dcqcn"]["dropped"] == 0 and found["timely"]["dropped"] == 0, "lossless all the same", found)


deterministic()
if not SANITIZED:
    shared()
    step_marking()
    small_buffer()
