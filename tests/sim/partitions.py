# SPDX-License-Identifier: BSD-3-Clause
"""Partitions of a fabric as programs of their own, and somebody between two of them who changes what they say."""
import os
import socket
import struct
import subprocess
import threading
import time

from harness import DPSWITCH, STALL_LIMIT_S, ROCELAB, Run, descendants, fail, scratch

HEADER = struct.Struct("<IHHII")
MAGIC = 0x54504352
FRAME, RECORDS, COUNTERS, STEP, REPORT, WINDOW, LANE = 5, 8, 10, 11, 16, 19, 26

# A plugin diagnoser that asks switches and hosts of all partitions at each turn; the first turn may take a while.
ASKER = """#!/usr/bin/env python3
import json, sys, time
sys.path.insert(0, "%s")
import rocelab_records
session = rocelab_records.Session()
for turn in session:
    asks = [{"poll": {"port": f"{rack}:1"}} for rack in %s]
    asks += [{"probe": {"from": a, "to": b}} for a, b in %s]
    for ask in asks + [{"poll": {"flow": flow}} for flow in sys.argv[1:]]:
        session.control.sendall(json.dumps(ask).encode() + b"\\n")
    if turn.number == 1:
        time.sleep(%s)
"""


class Partitions:
    """Programs of one fabric, each started by hand."""

    def __init__(self, count=2):
        self.dir = scratch()
        self.addresses = [str(self.dir / f"partition-{i}") for i in range(count)]
        self.programs = {}

    def start(self, which, scenario, *args, addresses=None, where=()):
        """@param where  words before the command: in which network"""
        out = self.dir / f"out-{which}"
        out.mkdir(exist_ok=True)
        words = [*where, DPSWITCH, scenario, "--quiet", "--out", out, "--partition", f"{which}/{len(self.addresses)}", "--partitions-at",
                 ",".join(addresses or self.addresses), *args]
        self.programs[which] = subprocess.Popen([str(w) for w in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                                stderr=subprocess.PIPE, text=True)
        return self.programs[which]

    def listening(self, which, timeout=STALL_LIMIT_S):
        end = time.monotonic() + timeout
        while not os.path.exists(self.addresses[which]):
            if time.monotonic() > end or self.programs[which].poll() is not None:
                fail(f"partition {which} does not listen: {self.end(which)}")
            time.sleep(0.005)

    def end(self, which, timeout=STALL_LIMIT_S):
        program = self.programs[which]
        try:
            stdout, stderr = program.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            for other in self.programs.values():
                other.kill()
            fail(f"partition {which} still runs after {timeout} s")
        return Run(self.dir / f"out-{which}", subprocess.CompletedProcess([], program.returncode, stdout, stderr))


class Machines:
    """Two networks with a cable between them, as two machines have: 10.77.0.1 and 10.77.0.2. Takes root, else none is there."""

    def __init__(self, delay, names=("", "")):
        """@param names  host names of their own; "": this machine's"""
        self.names = names
        self.holders = [subprocess.Popen(["unshare", "--net", *(("--uts",) if name else ()), "sh", "-c",
                                          f"{f'hostname {name}; ' if name else ''}exec sleep 300"], stdin=subprocess.DEVNULL,
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for name in names]
        end = time.monotonic() + STALL_LIMIT_S
        while self.alive() and time.monotonic() < end and not self.apart():
            time.sleep(0.01)
        self.there = self.alive() and self.within(0, "ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1", "netns",
                                                  str(self.holders[1].pid))
        for i in range(2 if self.there else 0):
            self.there &= self.within(i, "ip", "address", "add", f"10.77.0.{i + 1}/24", "dev", f"v{i}")
            self.there &= self.within(i, "ip", "link", "set", f"v{i}", "up")
        self.slow = self.there and all([self.within(i, "tc", "qdisc", "add", "dev", f"v{i}", "root", "netem", "delay", delay)
                                        for i in range(2)])

    def alive(self):
        return all(h.poll() is None for h in self.holders)

    def apart(self):
        try:
            return os.readlink("/proc/self/ns/net") not in [os.readlink(f"/proc/{h.pid}/ns/net") for h in self.holders]
        except OSError:
            return False  # one has ended

    def where(self, which):
        return ("nsenter", "--net", *(("--uts",) if self.names[which] else ()), "--target", str(self.holders[which].pid))

    def within(self, which, *words):
        return subprocess.run([*self.where(which), *words], stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0

    def close(self):
        for holder in self.holders:
            holder.kill()
            holder.wait()


class Between(threading.Thread):
    """Listens in place of partition 0, and passes on what both sides say; change(type, body) gives what partition 0 hears instead."""

    def __init__(self, address, to, change):
        super().__init__(daemon=True)
        self.to, self.change = to, change
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(address)
        self.listener.listen(4)
        self.start()

    def run(self):
        try:
            theirs, _ = self.listener.accept()
            ours = socket.socket(socket.AF_UNIX)
            ours.connect(self.to)
            threading.Thread(target=self.copy, args=(ours, theirs, None), daemon=True).start()
            self.copy(theirs, ours, self.change)
        except OSError:
            pass

    @staticmethod
    def copy(source, sink, change):
        data = b""
        try:
            while got := source.recv(65536):
                data += got
                while len(data) >= HEADER.size:
                    magic, kind, zero, size, zero2 = HEADER.unpack_from(data)
                    if len(data) < HEADER.size + size:
                        break
                    body, data = data[HEADER.size:HEADER.size + size], data[HEADER.size + size:]
                    new = change(kind, body) if change else (kind, body)
                    if isinstance(new, bytes):
                        sink.sendall(new)
                    elif new is not None:
                        sink.sendall(HEADER.pack(MAGIC, new[0], 0, len(new[1]), 0) + new[1])
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Live:
    """`rocelab run --partitions` under way."""

    def __init__(self, scenario, *args):
        self.out = scratch()
        words = [ROCELAB, "run", scenario, "--partitions", "2", "--allow-unfinished", "--out", self.out, *args]
        self.process = subprocess.Popen([str(w) for w in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, start_new_session=True)

    def partition(self, which, timeout=STALL_LIMIT_S):
        """The program of a partition, once its run continues."""
        end, grown, before = time.monotonic() + timeout, 0, 0
        while grown < 3 and time.monotonic() < end and self.process.poll() is None:
            time.sleep(0.3)  # what is recorded is written four times a second; what is configured, once
            grown, before = grown + 1 if self.recorded() > before else 0, self.recorded()
        while time.monotonic() < end and self.process.poll() is None:
            for pid in descendants(self.process.pid):
                try:
                    with open(f"/proc/{pid}/cmdline", "rb") as file:
                        words = file.read().split(b"\0")
                except OSError:
                    continue
                if f"{which}/2".encode() in words:
                    return pid
            time.sleep(0.01)
        return fail(f"partition {which} does not run: {self.end().stderr}")

    def recorded(self):
        file = self.out / "records.bin"
        return file.stat().st_size if file.exists() else 0

    def end(self, timeout=STALL_LIMIT_S):
        try:
            stdout, stderr = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, 9)
            fail(f"still running after {timeout} s")
        return Run(self.out, subprocess.CompletedProcess([], self.process.returncode, stdout, stderr))
