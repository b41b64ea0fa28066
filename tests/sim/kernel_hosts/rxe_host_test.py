#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rxe-host where there is nothing for it to run on: it says what is missing, to people and over its channel, and ends."""
import socket
import struct
import threading

from cases import TOPOLOGY, ring
from harness import BUILD, STALL_LIMIT_S, check, command, scenario_file, scratch, reported

RXE_HOST = BUILD / "rxe-hosts" / "rxe-host"
MAGIC = 0x474D4352
FAILED = 12
RING = ring(step_bytes=2000, sport=50000)


def refused(name, *args, refusal, code=2):
    message = reported(command(RXE_HOST, *args, expect=code, timeout=STALL_LIMIT_S))
    for text in refusal:
        check(text.lower() in message, f"{name}: \"{text}\"", message)


def usage():
    good = scenario_file(TOPOLOGY + RING, "good.cfg")
    refused("no scenario", refusal=["which scenario"])
    refused("who and where", good, refusal=["--host", "--manage"])
    refused("no such host", good, "--host", "nobody", "--manage", "fd:0", refusal=["nobody", "no host"])
    refused("a switch", good, "--host", "A", "--manage", "fd:0", refusal=["\"a\"", "no host"])
    refused("no channel", good, "--host", "a1", "--manage", scratch() / "none", refusal=["none", "no such file"])
    refused("a file as channel", good, "--host", "a1", "--manage", good, refusal=["serial line", "socket"])
    refused("no descriptor", good, "--host", "a1", "--manage", "fd:99", refusal=["fd:99"])
    refused("nobody listens", good, "--host", "a1", "--manage", "127.0.0.1:1", refusal=["127.0.0.1:1", "no fabric"])


def scenarios():
    """What an embedded host can do and an RDMA device cannot, with its place."""
    flow = 'flows = (\n  { src = "a1"; dst = "b1"; bytes = 1000; %s }\n);\n'
    cases = {
        "source port": (TOPOLOGY + ring(sport=10003), "bad.cfg:7", "10003", "49152"),
        "of a background flow": (TOPOLOGY + flow % "sport = 7;", "bad.cfg:7", "7", "49152"),
        "destination port": (TOPOLOGY + flow % "sport = 50000; dport = 4792;", "bad.cfg:7", "4792", "4791"),
        "MTU": (TOPOLOGY + RING + "host = {\n  mtu = 1000; data_overhead = 48;\n};\n", "mtu", "1000", "1024"),
    }
    for name, (text, *refusal) in cases.items():
        refused(name, scenario_file(text, "bad.cfg"), "--host", "a1", "--manage", "fd:2", refusal=refusal)


def failed_text(connection):
    """Reads the one message that is to come before the channel closes."""
    data = b""
    while chunk := connection.recv(4096):
        data += chunk
    magic, kind, _, size = struct.unpack_from("<IHHI", data)
    check(magic == MAGIC and kind == FAILED and len(data) == 12 + size, "it says FAILED and closes", data)
    return data[12:].rstrip(b"\0").decode()


def no_device():
    """The scenario's 10.x addresses are nobody's here."""
    path = str(scratch() / "manage")
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen(1)
    server.settimeout(STALL_LIMIT_S)
    texts = []

    def serve():
        connection, _ = server.accept()
        connection.settimeout(STALL_LIMIT_S)
        texts.append(failed_text(connection))

    thread = threading.Thread(target=serve)
    thread.start()
    done = command(RXE_HOST, scenario_file(TOPOLOGY + RING, "good.cfg"), "--host", "a1", "--manage", path, expect=1,
                   timeout=STALL_LIMIT_S)
    thread.join()
    server.close()
    check("rdma" in texts[0].lower(), "the fabric learns why", texts)
    check(texts[0] in done.stderr, "and so do people", done.stderr)


def main():
    usage()
    scenarios()
    no_device()


if __name__ == "__main__":
    main()
