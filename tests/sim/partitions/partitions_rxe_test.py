#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Hosts with their own kernel on a fabric that two programs run: what holds in one program holds, and what crosses is whole."""
import os
import signal

import records
import rxe
from harness import INTERRUPTED, SCENARIOS, SOURCE, STALL_LIMIT_S, Run, check, scratch
from partitions import ASKER
from pcapng import Capture, icrc_is_right, is_pfc, is_roce
from rxe import HOSTS, Live, invariants, need_guests, no_drop, of_host, processes, ring, scenario, whole
from kernel_hosts.rxe_endings_test import begun, killed_guest
from kernel_hosts.rxe_faults_test import lost
from kernel_hosts.rxe_run_test import loop, ready_made

# METIS: partition 0 has b, h2 and h3, partition 1 has a, h0 and h1.
SERVER = """import socket
s = socket.create_server(("0.0.0.0", 5000)); print("listening", flush=True); c, _ = s.accept(); n = 0
while data := c.recv(65536): n += len(data)
c.sendall(b"%d" % n)"""
CLIENT = """import socket
c = socket.create_connection(("10.0.0.3", 5000), 60); c.sendall(bytes(300000)); c.shutdown(socket.SHUT_WR)
print(c.recv(100).decode())"""


def of_their_own():
    """TCP between kernels of both partitions: flows that nobody planned, of which each partition makes its own."""
    live = Live(scenario(), "--hold", "600s", "--capture", "a:3,b:1")
    live.begun()
    waiting = live.start("h2", "python3", "-c", SERVER)
    check(waiting.stdout.readline().strip() == "listening", "TCP: h2 listens")
    done = live.shell("h0", "python3", "-c", CLIENT)
    check(done.stdout.split() == ["300000"], "TCP: all bytes are there", done)
    waiting.communicate(timeout=STALL_LIMIT_S)
    live.interrupt()
    run = live.end(expect=INTERRUPTED)
    invariants(run, "TCP")
    no_drop(run, "TCP")
    check(run.run["partition"]["frames_ended"] == 0, "TCP: each flow has a slot", run.run["partition"])
    check(sorted(h["host"] for h in run.run["hosts"]) == HOSTS, "TCP: all hosts are in run.json", run.run["hosts"])
    check(of_host(run, "h0")["port"]["from_host_bytes"] > 300000, "TCP: h0 sent them", run.run["hosts"])


def captured():
    """Each partition captures what passes its own ports: frames as the kernels made them, with what became of them under way."""
    storm = '{ kind = "pfc-storm"; port = "b:1"; start = "200ms"; duration = "200ms"; }'
    live = Live(scenario(ring(), faults=[storm]), "--capture", "a:3,b:3,b:1")
    live.begun()
    run = live.end(timeout=STALL_LIMIT_S)
    whole(run, "capture")
    ends = [Capture(folder / "capture.pcapng") for folder in (run.dir, run.dir / "partitions" / "1")]
    for which, seen in enumerate(ends):
        roce = [f.bytes for f in seen.frames if is_roce(f.bytes)]
        check(len(roce) > 500, f"capture: partition {which} has {len(roce)} RoCEv2 frames", len(roce))
        wrong = [f.hex() for f in roce if not icrc_is_right(f)]
        check(not wrong, f"capture: partition {which}: every ICRC of the kernel's frames is right", wrong[:1])
    trunk = [sorted(f.bytes for f in seen.frames if f.port == port and is_roce(f.bytes)) for seen, port in zip(ends, ("b:3", "a:3"))]
    check(trunk[0] == trunk[1] and trunk[0], "capture: the same bytes at both ends of the cut cable", [len(t) for t in trunk])
    check(len(ends[0].of("b:1", True, is_pfc)) > 10, "capture: the storm's PAUSE frames")


def clocks(run):
    other = Run(run.dir / "partitions" / "1").run["partition"]
    check(0 < other["clock_error_us"] < 50000, "the error of partition 1's clock is reported", other)
    ours = max(host["clock_error_us"] for host in run.run["hosts"] if host["host"] not in other["nodes"])
    theirs = max(host["clock_error_us"] for host in run.run["hosts"] if host["host"] in other["nodes"]) + other["clock_error_us"]
    reported_us = run.verdict["evidence"]["clock_error_ns"] / 1e3
    check(abs(reported_us - max(ours, theirs)) < 0.01 and theirs > ours / 10, "the verdict states by how much hosts' clocks may be wrong",
          (reported_us, ours, theirs))
    check("their own clocks, which are known to within" in " ".join(run.report.split()), "and so does the report", run.report)


def probed():
    """Agents of R-Pingmesh on kernel hosts of both partitions: each finds the others, and ICMP about their probes comes back."""
    live = Live(SCENARIOS / "pingmesh-rxe.cfg", "--set", "limits.connect=180s", "--set", "pingmesh.duration=4s", "--set", "limits.virtual_time=600s")
    live.begun()
    run = live.end(timeout=2 * STALL_LIMIT_S)
    check(run.run["end_reason"] == "complete" and run.run["partition"]["frames_ended"] == 0, "R-Pingmesh: complete", run.run["partition"])
    invariants(run, "R-Pingmesh")
    found = records.read(run.dir / "records.bin")
    names = records.node_names(found)
    check({names[r.node] for r, _ in records.of(found, records.UPLOAD)} == set(HOSTS), "R-Pingmesh: all hosts upload")
    theirs = set(Run(run.dir / "partitions" / "1").run["partition"]["nodes"])
    across = {names[r.node] for r, p in records.of(found, records.PROBE)
              if p.result == 0 and (names[r.node] in theirs) != (names[(p.tuple_dst_ip & 0xffff) - 1] in theirs)}
    check({host in theirs for host in across} == {True, False}, "R-Pingmesh: probes come back over the boundary, both ways", across)
    hops = {(names[r.node] in theirs, names[hop.at] in theirs) for r, hop in records.of(found, records.PROBE_HOP)}
    check((True, False) in hops and (False, True) in hops, "R-Pingmesh: hops beyond the boundary reply to traceroutes", hops)


def asked():
    """A plugin diagnoser in partition 0 asks switches of both, which report."""
    asker = scratch() / "asker.py"
    asker.write_text(ASKER % (SOURCE / "scripts/records", ["a", "b"], [], 0))
    asker.chmod(0o755)
    live = Live(scenario(ring()), "--diagnoser", asker)
    live.begun()
    run = live.end(timeout=STALL_LIMIT_S)
    whole(run, "a plugin")
    section = run.verdict["plugins"][0]
    check(section["polls"] > 20 and not section["refused"] and not section["left_out"], "a plugin: it asks", section)
    found = records.read(run.dir / "records.bin")
    names = records.node_names(found)
    replied = [names[r.node] for r in found if r.event and r.event >> 16 == r.node and names.get(r.node) in ("a", "b")]
    check(min(replied.count("a"), replied.count("b")) > 10, "a plugin: switches of both partitions report", replied[:20])


def gone():
    """A partition dies: hosts of both end with it, and it is named."""
    live = begun()
    partition = [pid for pid, words in processes(live.out).items() if "1/2" in words]
    os.kill(partition[0], signal.SIGKILL)
    run = live.end(expect=1)
    check(run.run["end_reason"] == "partition_lost", "a partition dies: end reason", run.stderr)
    check("partition 1 (h0, h1, a) was lost: its program has ended" in run.stderr, "a partition dies: named", run.stderr)


def early():
    """A host of partition 1 that never arrives: partition 0 does not begin, and both say so."""
    live = Live(scenario(ring(), limits='limits = { connect = "20s"; virtual_time = "60s"; };'))
    live.booting()
    live.kill_guest("h0")
    run = live.end(expect=None)
    check(live.code in (1, 3) and "h0" in run.stderr, "a host dies before the run: named", (live.code, run.stderr))
    check(not (live.out / "records.bin").exists(), "a host dies before the run: nothing is recorded")


if __name__ == "__main__":
    rxe.BESIDES.extend(["--partitions", "2"])
    need_guests()
    clocks(ready_made())
    of_their_own()
    captured()
    lost()
    loop()
    killed_guest()
    probed()
    asked()
    gone()
    early()
