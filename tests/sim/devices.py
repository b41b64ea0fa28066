# SPDX-License-Identifier: BSD-3-Clause
"""Management sockets, spoken by hand: what tests ask of devices, and devices that tests play."""
import json
import pathlib
import signal
import socket
import struct
import subprocess
import tempfile
import threading

from harness import STALL_LIMIT_S, ROCELAB, check, command, fail

HDR = struct.Struct("<IHHII")
MAGIC = 0x4D575352
HELLO, EGRESS, COUNTERS, FLOWS, EGRESSES, PORTS, FLOW_LIST, REFUSED, SAMPLES, SAMPLE_LIST = range(1, 11)
VERSION = 3
CLOS = """topology = { kind = "leaf-spine"; leaves = 4; spines = 4; hosts_per_leaf = 4; rate = "100Gbps"; delay = "1us"; };
collectives = ( { op = "alltoall"; algorithm = "pairwise"; bytes = "1MB"; } );
"""


def trace(*args, expect=0, **kwargs):
    return command(ROCELAB, "trace", *args, expect=expect, **kwargs)


def traced(*args, expect=0):
    """@param expect  None: a trace that failed has no flows, and says why on stderr"""
    done = trace(*args, "--json", expect=expect)
    if expect is None and not done.stdout:
        print(f"# no trace: {done.stderr.strip()}", flush=True)
        return {"flows": []}
    return json.loads(done.stdout)


def tuple_of(flow):
    return flow["src_ip"], flow["dst_ip"], flow["sport"], flow["dport"], flow["protocol"]


def paths(found):
    return {tuple_of(flow): (flow["state"], flow["end"], flow["path"]) for flow in found["flows"]}


class Served:
    """The devices of a scenario, standing still, in a folder of their own."""

    def __init__(self, scenario, *args):
        self.dir = tempfile.TemporaryDirectory(prefix="tr")
        self.path = pathlib.Path(self.dir.name)
        self.process = subprocess.Popen([ROCELAB, "trace", scenario, "--serve", self.path, "--for", "120s", *args],
                                        stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        check("sockets in" in line, "devices are served", line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(signal.SIGTERM)
        self.observed = self.process.communicate(timeout=STALL_LIMIT_S)[1]
        if self.process.returncode != 0:
            fail(f"--serve ended with {self.process.returncode}: {self.observed}")
        if list(self.path.glob("*.manage")) != [] and not getattr(self, "littered", False):
            fail("sockets are left over")
        self.dir.cleanup()

    def connect(self, name):
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(str(self.path / f"{name}.manage")) # waits while the queue of connections is full
        sock.settimeout(STALL_LIMIT_S)
        return sock


def read(sock, size):
    data = b""
    while len(data) < size:
        more = sock.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def message(sock):
    magic, version, kind, size, tag = HDR.unpack(read(sock, HDR.size))
    assert magic == MAGIC and version == VERSION
    return kind, tag, read(sock, size)


def request(kind, body=b"", tag=1):
    return HDR.pack(MAGIC, VERSION, kind, len(body), tag) + body


def query(flow, in_port):
    ip = [int.from_bytes(socket.inet_aton(flow[key]), "big") for key in ("src_ip", "dst_ip")]
    return struct.pack("<IIHHBBH", *ip, flow["sport"], flow["dport"], flow["protocol"], 0, in_port)


def impostor(path, serve):
    """Somebody else in a device's place."""
    path.unlink()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(16)
    stop = threading.Event()
    kept = []

    def accept():
        while not stop.is_set():
            try:
                kept.append(listener.accept()[0])
                serve(kept[-1])
            except OSError:
                return

    threading.Thread(target=accept, daemon=True).start()
    return lambda: (stop.set(), listener.shutdown(socket.SHUT_RDWR), listener.close(), [k.close() for k in kept])


def hello(name, kind=1):
    return request(HELLO, struct.pack("<IHH32s", 0, kind, 8, name.encode()), 0)


def answers_zero(sock, name, body, kind=1):
    """A device that greets, and answers every question with the same bytes."""
    sock.sendall(hello(name, kind))
    try:
        while True:
            asked_kind, tag, asked = message(sock)
            sock.sendall(body(asked_kind, tag, asked))
    except (OSError, EOFError):
        pass
