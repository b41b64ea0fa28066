#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Arguments for DPDK's EAL: they reach it, leave the run as it is, bad ones are refused, and --telemetry lets others ask."""
import json
import os
import pathlib
import re
import socket
import subprocess
import tempfile

from harness import DPSWITCH, STALL_LIMIT_S, SANITIZED, SCENARIOS, check, command, dpswitch, scenario_file, scratch, until

SCENARIO = SCENARIOS / "pfc-storm.cfg"
REAL = """topology = { kind = "explicit"; rate = "200Mbps"; delay = "50us"; switches = [ "a" ]; hosts = [ "h0", "h1" ];
    links = ( "h0 a", "a h1" ); };
timing = { clock = "real"; };
limits = { virtual_time = "20s"; };
flows = ( { src = "h0"; dst = "h1"; sport = 49152; bytes = "1GB"; } );
"""

plain, reported = dpswitch(SCENARIO), dpswitch(SCENARIO, "--eal", "--log-level=lib.eal:debug  --vdev net_null0")
check(reported.run["digest"] == plain.run["digest"], "EAL's arguments change nothing in the run", reported.run["digest"])
check("EAL: " in reported.stderr and "EAL: " not in plain.stderr, "they reach EAL", reported.stderr[-300:])
done = command(DPSWITCH, SCENARIO, "--out", scratch(), "--eal", "--no-such-thing", expect=2)
check("--no-such-thing" in done.stderr, "an argument that EAL does not know is named", done.stderr[-300:])
done = command(DPSWITCH, SCENARIO, "--out", scratch(), "--eal", " -x" * 100, expect=2)
check("--eal" in done.stderr and "words" in done.stderr, "too many are refused", done.stderr[-300:])
if len(os.sched_getaffinity(0)) > 1:
    done = command(DPSWITCH, SCENARIO, "--out", scratch(), "--eal", "--no-huge --", expect=2)
    check("no option without its value" in done.stderr, "some that hide which CPUs are ours are, too", done.stderr[-300:])
# Devices that a port names by their arguments are probed in whatever memory.
for words in ("--no-huge", "--no-huge -m 100", "--log-level=lib.eal:error"):
    done = command(DPSWITCH, "--try-port", "net_null3,size=64", "--out", scratch(), "--eal", words)
    check(done.returncode == 0, f"a device by its arguments, with --eal \"{words}\"", done.stderr)

# Hugepages that were free when they were counted may be others' when EAL starts: then it goes without. What EAL does not take with them stands in for that.
HUGEPAGES = pathlib.Path("/sys/kernel/mm/hugepages/hugepages-2048kB")
if os.access(HUGEPAGES / "nr_hugepages", os.W_OK) and not SANITIZED:
    before = (HUGEPAGES / "nr_hugepages").read_text()
    (HUGEPAGES / "nr_hugepages").write_text(f"{int(before) + 256}\n")
    try:
        if int((HUGEPAGES / "free_hugepages").read_text()) >= 128:  # more than other runs take meanwhile
            lost = dpswitch(SCENARIO, "--eal", "--legacy-mem")
            check("with hugepages: without them" in lost.stderr and lost.run["digest"] == plain.run["digest"],
                  "without hugepages that are there no more it begins anew", lost.stderr[-300:])
    finally:
        (HUGEPAGES / "nr_hugepages").write_text(before)

# The ports of a run and their frames have room in the memory that its second line states, which follows from the scenario.
PORTS = """topology = { kind = "explicit"; rate = "%s"; delay = "20us"; switches = [ "s" ]; hosts = [ %s ]; links = ( %s ); };
hosts = ( %s ); host = { mtu = "%s"; }; limits = { connect = "100ms"; };
flows = ( { src = "h0"; dst = "h1"; sport = 49152; bytes = "1KB"; } );
"""
stated = {}
for rate, mtu, count in (("40Mbps", "1024B", 2), ("40Mbps", "1024B", 12), ("40Mbps", "4096B", 12), ("10Gbps", "4096B", 4)):
    names = [f"h{i}" for i in range(count)]
    scenario = PORTS % (rate, ", ".join(f'"{n}"' for n in names), ", ".join(f'"{n} s"' for n in names),
                        ", ".join(f'{{ kind = "port"; names = [ "{n}" ]; port = "net_null{i},no-rx=1"; }}'
                                  for i, n in enumerate(names)), mtu)
    with tempfile.TemporaryDirectory() as hosts:
        done = command(DPSWITCH, scenario_file(scenario, "ports.cfg"), "--out", scratch(), "--hosts", hosts, expect=None)
    check("did not start" in done.stderr, f"{count} ports at {rate}, {mtu}, are opened", done.stderr)
    found = re.search(r"DPDK: (\d+) MB in \w+.*, (\d+) of them for frames of up to (\d+) B: (\d+) for each of (\d+) ports",
                      done.stdout)
    check(found and int(found[5]) == count and int(found[3]) >= int(mtu[:-1]), "and the sum is stated", done.stdout)
    total, of_frames, room, frames, _ = map(int, found.groups())
    check(total > of_frames >= ((frames * count + 1023) * room) >> 20, "it holds them", found[0])
    stated[rate, mtu, count] = of_frames
check(stated["40Mbps", "1024B", 2] < stated["40Mbps", "1024B", 12] < stated["40Mbps", "4096B", 12],
      "more ports and larger frames take more", stated)


def ask(path, request):
    """As dpdk-telemetry.py does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(str(path))
        hello = json.loads(connection.recv(16384))
        connection.send(request.encode())
        return hello, json.loads(connection.recv(hello["max_output_len"]))


with tempfile.TemporaryDirectory(prefix="eal") as folder:
    fabric = subprocess.Popen([DPSWITCH, scenario_file(REAL, "real.cfg"), "--out", scratch(), "--quiet", "--eal",
                               "--telemetry --vdev net_null7"], env={**os.environ, "RUNTIME_DIRECTORY": folder})
    path = pathlib.Path(folder) / "dpdk" / "rte" / "dpdk_telemetry.v2"
    until("DPDK listens", path.exists, fabric)
    hello, reply = ask(path, "/ethdev/list")
    check(hello["pid"] == fabric.pid, "the socket is the fabric's", hello)
    check(len(reply["/ethdev/list"]) == 1, "DPDK's devices are reported", reply)
    fabric.terminate()
    fabric.wait(STALL_LIMIT_S)
