#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's telemetry socket reports what a running fabric's ports count, as dpdk-telemetry.py asks it, whole at any moment."""
import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

from harness import BUILD, DPSWITCH, STALL_LIMIT_S, check, cpus, scenario_file, scratch, until

FORWARD = BUILD / "dpswitch" / "dpswitch-forward"
# Two senders of one rack, and a neighbour, to a host of the other: its leaf pauses spines and the neighbour.
INCAST = """topology = { kind = "leaf-spine"; leaves = 2; spines = 2; hosts_per_leaf = 2; rate = "200Mbps"; delay = "50us"; };
timing = { clock = "real"; };
limits = { virtual_time = "60s"; };
host = { cc = "none"; window = "1MB"; };
switch = { pfc = { model = "static"; xoff = "10KB"; }; };
flows = ( { src = "h0"; dst = "h2"; sport = 49152; bytes = "1GB"; }, { src = "h1"; dst = "h2"; sport = 49153; bytes = "1GB"; },
          { src = "h3"; dst = "h2"; sport = 49154; bytes = "1GB"; } );
"""
PAIRS = """topology = { kind = "explicit"; rate = "10Gbps"; delay = "20us"; switches = [ "s0", "s1" ];
    hosts = [ "a", "b", "c", "d" ]; links = ( "a s0", "s0 s1", "s1 b", "c s1", "d s0" ); };
flows = ( { src = "a"; dst = "b"; sport = 49152; bytes = "1MB"; }, { src = "c"; dst = "d"; sport = 49153; bytes = "1MB"; } );
"""
SAI = "SAI_PORT_STAT_"


class Telemetry:
    """A connection of protocol v2: one greeting, then a reply for each request."""

    def __init__(self, path, fabric):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(STALL_LIMIT_S)
        until("DPDK listens", lambda: self.socket.connect_ex(str(path)) == 0, fabric)
        self.most = json.loads(self.socket.recv(1024))["max_output_len"]

    def ask(self, request):
        self.socket.send(request.encode())
        (name, reply), = json.loads(self.socket.recv(self.most)).items()
        assert name == request.split(",")[0], (name, request)
        return reply

    def port(self, index):
        """As of now, however long the machine lets the fabric wait."""
        for _ in range(100):
            row = self.ask(f"/rocelab/port,{index}")
            if row["fresh"]:
                return row
        return row


def greet(fabric, path):
    telemetry = Telemetry(path, fabric)
    until("there is a fabric", lambda: telemetry.ask("/rocelab/ports"), fabric)
    return telemetry


def fabric_goes_on(telemetry, time_ns):
    """Waits by the fabric's own clock: on a slow machine its time passes more slowly."""
    end_ns = telemetry.port(0)["time_ns"] + time_ns
    until("the fabric goes on", lambda: telemetry.port(0)["time_ns"] >= end_ns)


@contextlib.contextmanager
def running(*args):
    """A program whose fabric answers."""
    with tempfile.TemporaryDirectory(prefix="tel") as folder:
        fabric = subprocess.Popen([*map(str, args), "--eal", "--telemetry"], env={**os.environ, "RUNTIME_DIRECTORY": folder})
        path = pathlib.Path(folder) / "dpdk" / "rte" / "dpdk_telemetry.v2"
        try:
            yield fabric, path, greet(fabric, path)
        finally:
            fabric.terminate()
            fabric.wait(STALL_LIMIT_S)


def incast():
    with running(DPSWITCH, scenario_file(INCAST, "incast.cfg"), "--out", scratch(), "--quiet") as (fabric, path, telemetry):
        listed = telemetry.ask("/")
        check({"/rocelab/ports", "/rocelab/port", "/rocelab/pfc", "/rocelab/ecmp"} <= set(listed), "commands are listed", listed)
        ports = telemetry.ask("/rocelab/ports")
        check(len(ports) == 12 and len(set(ports)) == 12, "every port of every switch", ports)
        check(telemetry.ask("/rocelab/ports,10") == ports[10:], "and from a number on")
        for bad in ("/rocelab/port", "/rocelab/port,12", "/rocelab/port,x", "/rocelab/port,-1", "/rocelab/pfc,1x"):
            check(telemetry.ask(bad) is None, f"{bad}: null", bad)
        fabric_goes_on(telemetry, 1e9)
        first = [telemetry.port(i) for i in range(len(ports))]
        fabric_goes_on(telemetry, 5e8)
        rows = [telemetry.port(i) for i in range(len(ports))]
        check(all(row["fresh"] == 1 and row["name"] == name for row, name in zip(rows, ports)), "each is reported", rows)
        check(all(a["time_ns"] < b["time_ns"] for a, b in zip(first, rows)), "as of now", rows[0])
        busy = max(range(len(ports)), key=lambda i: rows[i][SAI + "IF_OUT_OCTETS"])
        rate = (rows[busy][SAI + "IF_OUT_OCTETS"] - first[busy][SAI + "IF_OUT_OCTETS"]) * 8e9 / (
            rows[busy]["time_ns"] - first[busy]["time_ns"])
        check(0.8 * 200e6 < rate <= 1.01 * 200e6, "the bottleneck sends at its rate", rate)
        check(rows[busy]["speed_bps"] == 200000000 and rows[busy]["oper_status"] == "up", "which is reported", rows[busy])
        pfc = telemetry.ask("/rocelab/pfc")
        check(pfc and all(ports[int(i)] == row["name"] for i, row in pfc.items() if i != "next"), "ports with PFC", pfc)
        prios = {name[len(SAI + "PFC_"):].split("_")[0] for row in pfc.values() for name in row if name.startswith(SAI + "PFC_")}
        sent = sum(row[f"{SAI}PFC_{p}_TX_PKTS"] for row in pfc.values() for p in prios)
        received = sum(row[f"{SAI}PFC_{p}_RX_PKTS"] for row in pfc.values() for p in prios)
        check(sent > received > 0, "PFC frames go to switches, and to hosts", (sent, received))
        sets = telemetry.ask("/rocelab/ecmp")
        check(len(sets) == 2 and all(row["destinations"] == 2 for row in sets.values()), "a set on each leaf, to two hosts", sets)
        members = [int(key) for row in sets.values() for key in row if key.isdigit()]
        check(len(members) == 4 and {ports[i].split(":")[0] for i in members} == {row["switch"] for row in sets.values()},
              "of the uplinks", sets)
        if shutil.which("dpdk-telemetry.py"):
            done = subprocess.run(["dpdk-telemetry.py"], input="/rocelab/ports\nquit\n", capture_output=True, text=True,
                                  env={**os.environ, "RUNTIME_DIRECTORY": str(path.parents[2])}, timeout=STALL_LIMIT_S)
            check('"l0:1"' in done.stdout, "dpdk-telemetry.py reads it", done.stdout + done.stderr)
        others = [Telemetry(path, fabric) for _ in range(5)]
        for other in others:
            other.socket.send(b"/rocelab/port,0")
        check(all(json.loads(other.socket.recv(other.most))["/rocelab/port"]["name"] == ports[0] for other in others),
              "to many at a time")


def under_load(lcores):
    """Frames of 1000 B and FCS go over all ports: a copy that was torn would not add up."""
    scenario = scenario_file(PAIRS, "pairs.cfg")
    with running(FORWARD, scenario, "--out", scratch(), "--frame-bytes", 1000, "--seconds", 100, "--lcores", lcores) as (
            fabric, _, telemetry):
        count, end, before = 0, time.monotonic() + 3, 0
        nports = len(telemetry.ask("/rocelab/ports"))
        while time.monotonic() < end:
            row = telemetry.port(count % nports)
            for direction in ("IN", "OUT"):
                octets, packets = row[f"{SAI}IF_{direction}_OCTETS"], row[f"{SAI}IF_{direction}_UCAST_PKTS"]
                if octets != 1004 * packets or row["time_ns"] < before:
                    check(False, f"{direction} adds up, and time goes on", row)
            before = row["time_ns"]
            count += 1
        check(count > 50, f"{count} copies at full load on {lcores} lcores are whole")
        check(fabric.poll() is None, "and the fabric goes on")


incast()
for n in (1, 2):
    if n <= cpus():
        under_load(n)
