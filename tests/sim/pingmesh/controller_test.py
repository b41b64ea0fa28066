#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pingmesh-controller as a person starts it: agents over its socket, a restart, and what it refuses."""
import signal
import socket
import struct
import subprocess
import time

from harness import BUILD, STALL_LIMIT_S, check, command, fail, scenario_file, scratch, reported

PROGRAM = BUILD / "rxe-hosts" / "pingmesh-controller"
TOPOLOGY = 'topology = { kind = "leaf-spine"; leaves = 2; spines = 2; hosts_per_leaf = 2; };\n' \
    'collectives = ( { op = "allreduce"; bytes = "1MB"; } );\n'
MAGIC, VERSION = 0x4d504752, 1
REGISTER, PINGLISTS, RESOLVE, REGISTERED, ENTRIES, RESOLVED, REFUSED = range(1, 8)


class Agent:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(STALL_LIMIT_S)
        self.socket.connect(str(path))

    def ask(self, kind, body):
        self.socket.sendall(struct.pack("<IHHII", MAGIC, VERSION, kind, len(body), 0) + body)
        _, _, kind, size, _ = struct.unpack("<IHHII", self.read(16))
        return kind, self.read(size)

    def read(self, size):
        data = b""
        while len(data) < size:
            got = self.socket.recv(size - len(data))
            if not got:
                fail("the controller closed the connection")
            data += got
        return data


def address(host):
    return 0x0a000001 + host


def gid(host):
    return bytes(10) + b"\xff\xff" + struct.pack(">I", address(host))


def register(agent, host, qpn, tors):
    """Registers a host at whichever ToR it is connected to. @return what was said of the others"""
    refused = []
    for tor in tors:
        kind, body = agent.ask(REGISTER, struct.pack("<II", host, 1) + gid(host) + struct.pack("<IIIHH", address(host), qpn, tor, 0, 0))
        if kind == REGISTERED:
            return refused
        refused.append(body.rstrip(b"\0").decode())
    return check(False, f"host {host} is registered", refused)


def start(*args):
    process = subprocess.Popen([PROGRAM, *map(str, args)], stderr=subprocess.PIPE, text=True)
    line = process.stderr.readline()
    check("ready" in line, "the controller is ready", line)
    return process


def stop(process):
    process.send_signal(signal.SIGTERM)
    text = process.stderr.read()
    check(process.wait(STALL_LIMIT_S) == 0, "it ends in good order", text)
    return text


def main():
    scenario = scenario_file(TOPOLOGY)
    work = scratch()
    args = [scenario, "--listen", work / "socket", "--store", work / "store"]
    process = start(*args)
    agent = Agent(work / "socket")
    hosts = range(4)
    refused = [text for host in hosts for text in register(agent, host, 50 + host, range(8))]
    check(any("mend the cable, or the scenario" in text for text in refused), "a host at another ToR is refused", refused)
    kind, body = agent.ask(PINGLISTS, struct.pack("<II", 0, 0))
    count = struct.unpack_from("<I", body)[0]
    check(kind == ENTRIES and len(body) == 40 + 40 * count and count >= 1 + 4, "host 0 has its pinglists", (kind, count))
    qpns = {struct.unpack_from("<II", body, 40 + 40 * i + 16) for i in range(count)}
    check(qpns <= {(address(h), 50 + h) for h in hosts} and len(qpns) >= 2, "of whoever registered", qpns)
    text = stop(process)
    check("requests of 1 connections" in text, "it says what it did", text)
    check(not (work / "socket").exists(), "its socket is gone")

    process = start(*args)
    kind, again = Agent(work / "socket").ask(PINGLISTS, struct.pack("<II", 0, 0))
    check(kind == ENTRIES and again == body, "a restart changes nothing", again)
    done = command(PROGRAM, scenario, "--listen", work / "other", "--store", work / "store", expect=2)
    check("another program has it open" in reported(done), "a store has one controller", reported(done))
    process.kill()
    process.wait(STALL_LIMIT_S)
    process.stderr.close()
    process = start(*args)
    kind, again = Agent(work / "socket").ask(RESOLVE, struct.pack("<III", 1, 0, address(3)))
    check(kind == RESOLVED and again[8:24] == gid(3) and struct.unpack_from("<II", again, 24) == (address(3), 53),
          "what was registered outlives a crash", again)
    stop(process)

    whole = (work / "store").read_bytes()
    for name, data in (("cut off", whole[:len(whole) * 3 // 4]), ("cut off early", whole[:100]),
                       ("garbled", whole[:4096] + bytes(byte ^ 0xff for byte in whole[4096:]))):
        (work / "damaged").write_bytes(data)
        done = command(PROGRAM, scenario, "--listen", work / "socket", "--store", work / "damaged", expect=2)
        check("damaged; remove it" in reported(done), f"a store that is {name} is refused", reported(done))

    remote = work / "notes"
    remote.write_text("no database\n" * 100)
    done = command(PROGRAM, scenario, "--listen", work / "socket", "--store", remote, expect=2)
    check("no registry, but another file" in reported(done), "another file is left alone", reported(done))
    done = command(PROGRAM, scenario, "--listen", work / "socket", expect=2)
    check("--store" in reported(done), "options are asked for", reported(done))


begin = time.monotonic()
main()
print(f"controller: {time.monotonic() - begin:.1f} s")
