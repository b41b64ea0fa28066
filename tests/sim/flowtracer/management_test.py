#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Management sockets: devices that are silent or lie, peers that freeze, times of the management network, runs that continue."""
import json
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import tempfile
import time

from devices import (CLOS, COUNTERS, EGRESS, EGRESSES, FLOW_LIST, FLOWS, HDR, HELLO, MAGIC, PORTS, REFUSED, SAMPLE_LIST,
                     SAMPLES, VERSION, Served, answers_zero, hello, impostor, message, paths, query, request, trace, traced)
from harness import STALL_LIMIT_S, ROCELAB, SCENARIOS, check, command, fail, scenario_file, slowness, until, within

MOE = SCENARIOS / "moe-alltoall.cfg"


def lying_host(served):
    """A device that reports a million flows one by one, and one whose flows leave by a port that it does not have."""
    flow = struct.pack("<IIHHBBHQII", 0x0a000001, 0x0a000002, 1, 2, 17, 1, 0, 0, 0, 0)
    astray = struct.pack("<IIHHBBHQII", 0x0a000001, 0x0a000002, 1, 2, 17, 1, 99, 0, 0, 0)
    for row, total, words in ((flow, 1000000, "none, or has more"), (flow * 3, 1, "none, or has more"), (astray, 1, None)):
        (served.path / "h5.manage").touch()
        end = impostor(served.path / "h5.manage", lambda sock: answers_zero(
            sock, "h5", lambda k, t, b: request(FLOW_LIST, struct.pack("<IIII", len(row) // 32, struct.unpack("<I", b[12:])[0],
                                                                       total, 0) + row, t), 2))
        found = traced(MOE, "--sockets", served.path, "--hosts", "h5", expect=1 if words else 0)
        end()
        if words and words not in found["silent"][0]["why"]:
            fail(f"a host that lies: {found}")
        if not words and [f["state"] for f in found["flows"]] != ["contradicted"]:
            fail(f"a flow by a port that is not there: {found}")
    print("ok hosts that lie are named", flush=True)


def lying_leaf(served):
    """One that has more samples than it says, or too many; and one whose samples are of other hosts, and none."""
    row = struct.pack("<IIHHBBBB", 0x0a000001, 0x0a000002, 1, 4791, 17, 6, 1, 0)
    for rows, count, words in ((row * 3, 2, "list of samples is none"), (row * 2000, 2000, "has more than 1024"), (b"", 1 << 31, "is none"),
                               (row * 5, 5, None)):
        (served.path / "l0.manage").touch()
        end = impostor(served.path / "l0.manage", lambda sock: answers_zero(
            sock, "l0", lambda k, t, b: request(SAMPLE_LIST, struct.pack("<IIQQ", count, 10, 9, 9) + rows, t)))
        found = traced(MOE, "--sockets", served.path, "--first-hop", "sflow", "--threads", "1", expect=1 if words else None)
        end()
        if words and (words not in found["silent"][0]["why"] or found["silent"][0]["device"] != "l0"):
            fail(f"a leaf that lies: {found['silent']}")
        if not words and {flow["source"] for flow in found["flows"]} != {"h0"}:
            fail(f"samples of who is not there: {found['flows']}")
    print("ok leaves that lie are named", flush=True)
    sock = served.connect("l1")
    message(sock)
    sock.sendall(request(SAMPLES, struct.pack("<H6x", 0)) + request(SAMPLES, struct.pack("<H6x", 7)) + request(SAMPLES))
    kinds = [message(sock) for _ in range(3)]
    check([kind for kind, _, _ in kinds] == [SAMPLE_LIST, REFUSED, REFUSED] and len(kinds[0][2]) == 24,
          "of a port to a host, what was sampled; of one to a spine it is refused", kinds)


def answer(port=0, more=0):
    """A row of EGRESSES: forwarded out of a port."""
    return struct.pack("<QQHBBBBBx", 0, 0, port, 0, 0, 0, 0, more)


def silent():
    """Devices that are dead, frozen or lie: flows end there, it is said, and it does not take long."""
    with Served(MOE, "--set", "switch.sampling=10") as served:
        begun = time.monotonic()
        (served.path / "s1.manage").unlink()
        done = trace(MOE, "--sockets", served.path, expect=1)
        check("no answer from s1" in done.stdout and "No such file" in done.stdout, "a dead switch is named", done.stdout)
        found = traced(MOE, "--sockets", served.path, expect=1)
        check({f["end"] for f in found["flows"] if f["state"] == "unanswered"} == {"s1"} and
              {f["state"] for f in found["flows"]} == {"arrived", "unanswered"}, "flows by it end there")
        lies = {
            "never greets": (lambda sock: None, "no answer within"),
            "greets as another": (lambda sock: sock.sendall(hello("s9")), "s9 answers there, and not s1"),
            "is no device": (lambda sock: sock.sendall(b"SSH-2.0-OpenSSH_9.2\r\n" * 4), "no management socket"),
            "never answers": (lambda sock: sock.sendall(hello("s1")), "no answer within"),
            "closes": (lambda sock: (sock.sendall(hello("s1")), sock.shutdown(socket.SHUT_RDWR)), ""),
            "answers too much": (lambda sock: answers_zero(sock, "s1", lambda k, t, b: request(EGRESSES, bytes(4096), t)),
                                 "other questions"),
            "claims 4 GB": (lambda sock: answers_zero(sock, "s1", lambda k, t, b: HDR.pack(MAGIC, VERSION, EGRESSES, 2**32 - 1, t)),
                            "no management socket"),
            "answers others": (lambda sock: answers_zero(sock, "s1", lambda k, t, b: request(EGRESSES, bytes(8), t + 7)),
                               "another request"),
            "ends no answer": (lambda sock: answers_zero(sock, "s1", lambda k, t, b: request(
                EGRESSES, b[:8] + answer(more=1) * struct.unpack("<I", b[:4])[0], t)), "other questions"),
            "refuses": (lambda sock: answers_zero(sock, "s1", lambda k, t, b: request(REFUSED, b"\x1b[2Jno" + bytes(234), t)),
                        "?[2Jno"),
        }
        for name, (serve, words) in lies.items():
            pathlib.Path(served.path / "s1.manage").touch()
            end = impostor(served.path / "s1.manage", serve)
            found = traced(MOE, "--sockets", served.path, "--timeout", "300ms", "--threads", "4", expect=1)
            end()
            why = {entry["device"]: entry["why"] for entry in found["silent"]}
            if set(why) != {"s1"} or words not in why["s1"] or len(found["flows"]) != 480:
                fail(f"a switch that {name}: {why}")
        print("ok switches that lie or freeze are named, and all else is traced", flush=True)
        contradicted = []
        for rows in (answer(200), answer(200, more=1) + answer(200)): # in one row each, or two
            pathlib.Path(served.path / "s1.manage").touch()
            end = impostor(served.path / "s1.manage", lambda sock, rows=rows: answers_zero(sock, "s1", lambda k, t, b: request(
                EGRESSES, struct.pack("<II", len(rows) // 24 * struct.unpack("<I", b[:4])[0], 0) +
                rows * struct.unpack("<I", b[:4])[0], t)))
            found = traced(MOE, "--sockets", served.path, "--threads", "1")
            end()
            contradicted.append({f["end"] for f in found["flows"] if f["state"] == "contradicted"})
        check(contradicted == [{"s1"}, {"s1"}], "ports that are not there", contradicted)
        lying_host(served)
        lying_leaf(served)
        (served.path / "s1.manage").unlink()
        check(within(begun, 60), "none of it takes long", time.monotonic() - begun)
        served.process.send_signal(signal.SIGSTOP)
        begun = time.monotonic()
        found = traced(MOE, "--sockets", served.path, "--timeout", "500ms", expect=1)
        check(found["flows"] == [] and len(found["silent"]) == 16 and within(begun, 10),
              "hosts that are frozen are waited for once", (len(found["silent"]), time.monotonic() - begun))


def freeze(served, leaf, flow):
    """300 peers that do not read, or say half of something, and never another word."""
    frozen = []
    for i in range(300):
        sock = served.connect(leaf)
        sock.setblocking(False)
        many = request(EGRESS, struct.pack("<II", 4000, 0) + query(flow, 0) * 4000)
        try:
            for _ in range(40 if i < 8 else 0): # never reads the replies
                if sock.send(many) < len(many): # what follows the part would be no request
                    break
        except BlockingIOError:
            pass
        if i >= 8 and i % 2 == 1:
            sock.send(request(EGRESS, bytes(8))[:11])
        frozen.append(sock)
    begun = time.monotonic()
    found = traced(MOE, "--sockets", served.path)
    check(len(found["flows"]) == 480 and found["silent"] == [] and within(begun, 10),
          "300 peers that froze are in nobody's way", time.monotonic() - begun)
    deadline = time.monotonic() + STALL_LIMIT_S
    ended = set()
    while len(ended) < 150 and time.monotonic() < deadline:
        for i, sock in enumerate(frozen):
            if i >= 8 and i % 2 == 1 and i not in ended:
                try:
                    while sock.recv(4096):
                        pass
                    ended.add(i)
                except BlockingIOError:
                    pass
                except OSError:
                    ended.add(i)
        time.sleep(0.2)
        if len(ended) == 146:
            break
    check(len(ended) == 146, "half requests are not waited for forever", len(ended))
    [sock.close() for sock in frozen]


def peers():
    """What peers do to the sockets hurts nobody but them."""
    with Served(MOE) as served:
        flow = traced(MOE)["flows"][0]
        leaf, port = flow["path"][1].split(":")
        sock = served.connect(leaf)
        kind, _, body = message(sock)
        check(kind == HELLO and body[8:].rstrip(b"\0").decode() == leaf, "devices greet by name", body)
        sock.sendall(request(EGRESS, struct.pack("<II", 2, 0) + query(flow, 0) + query(flow, 99), 41))
        kind, tag, body = message(sock)
        rows = [struct.unpack_from("<QQHBBB3x", body, 8 + 24 * i) for i in range(2)]
        check(kind == EGRESSES and tag == 41 and rows[0][2] == int(port) - 1 and rows[1][3] == 4, "a question's answer", rows)
        sock.sendall(request(COUNTERS))
        kind, _, body = message(sock)
        check(kind == PORTS and len(body) == 8 + 80 * 8, "counters of all ports", len(body))
        sock.sendall(request(FLOWS, bytes(16)) + request(77, bytes(8)) + request(COUNTERS, tag=9))
        check([message(sock)[0] for _ in range(3)] == [REFUSED, REFUSED, PORTS], "a refusal, and on")
        sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
        check(sock.recv(1) == b"", "what is no request ends the connection")
        for size in (0x10001, 2**32 - 1, 7):
            sock = served.connect(leaf)
            message(sock)
            sock.sendall(HDR.pack(MAGIC, VERSION, EGRESS, size, 0) + bytes(16))
            if sock.recv(1) != b"":
                fail(f"a request of {size} B is taken")
        print("ok so does a size that cannot be", flush=True)
        freeze(served, leaf, flow)
    numbers = [int(n) for n in re.findall(r"\d+", served.observed)]
    check(len(numbers) >= 6 and numbers[-4] == 2 and numbers[-3] >= 146 and numbers[-2] == 4 and numbers[-1] == 0,
          "and all of them are counted", served.observed)


def times():
    """The management network's round trip is in every exchange, and two of them in a greeting."""
    with Served(MOE, "--rtt", "50ms") as served:
        begun = time.monotonic()
        sock = served.connect("l0")
        message(sock)
        greeted = time.monotonic()
        check(0.1 <= greeted - begun and within(begun, 1), "a greeting takes two round trips", greeted - begun)
        asked = time.monotonic()
        sock.sendall(request(COUNTERS) * 3)
        [message(sock) for _ in range(3)]
        took_s = time.monotonic() - asked
        check(0.05 <= took_s and within(asked, 0.5), "three questions at once take one", took_s)
    quick = traced(MOE, "--hosts", "h0", "--rtt", "5ms", "--threads", "1")["work"]["wall_s"]
    slow = traced(MOE, "--hosts", "h0", "--rtt", "5ms", "--connections", "ad-hoc")["work"]["wall_s"]
    check(slow > 1.5 * quick, "connections of one flow each cost more", (quick, slow))


def live():
    """The same of a run while it continues, as its routes are then; its devices are there as long as it is."""
    scenario = scenario_file(CLOS.replace("100Gbps", "1Gbps").replace("1us", "50us") + """timing = { clock = "real"; };
management = { sockets = true; rtt = "1ms"; }; limits = { hold = "600s"; }; routing = { convergence = "0s"; };
faults = ( { kind = "link-down"; port = "s1:2"; start = "%us"; } );
""" % round(5 * slowness()))
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.Popen([ROCELAB, "run", scenario, "--out", folder], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        sockets = pathlib.Path(folder) / "management"
        until("all devices have sockets", lambda: len(list(sockets.glob("*.manage"))) == 24, run)
        frozen = [socket.socket(socket.AF_UNIX) for _ in range(20)]
        for sock in frozen:
            sock.connect(str(sockets / "l0.manage"))
            sock.sendall(request(COUNTERS) * 60 + request(COUNTERS)[:9])
        before, still = paths(traced(folder, "--timeout", "20s")), paths(traced(scenario, "--set", "management.rtt=\"0s\""))
        check(before == still, "a run answers as its scenario's control plane does, standing still")
        after, deadline = before, time.monotonic() + STALL_LIMIT_S
        while not any(state == "arrived" and path != before[t][2] for t, (state, _, path) in after.items()) and \
                time.monotonic() < deadline:
            time.sleep(0.3)
            after = paths(traced(folder, "--timeout", "20s"))
        after = paths(traced(folder, "--timeout", "20s")) # the one before may have seen a part of the change
        gone = {t for t, (_, _, path) in before.items() if {"s1:2", "l1:6"} & set(path)}
        moved = {t for t in before if after[t] != before[t]}
        check(gone and gone <= moved and not any({"s1:2", "l1:6"} & set(path) for _, _, path in after.values()),
              "and where flows go once a cable is cut", (len(gone), len(moved)))
        [sock.close() for sock in frozen]
        run.send_signal(signal.SIGINT)  # however long that took
        stderr = run.communicate(timeout=STALL_LIMIT_S)[1].decode()
        check(run.returncode >= 0 and not sockets.exists(), "sockets go with the run", (run.returncode, stderr))
    done = command(ROCELAB, "run", scenario, "--set", "timing.clock=\"virtual\"", "--out", "/nonexistent", expect=2)
    check("management.sockets" in done.stderr or "sockets" in done.stderr, "a virtual run cannot be queried", done.stderr)


def behind():
    """Devices of a fabric that no machine could keep up with, in real time: all of them answer, and the run reports how late it was."""
    scenario = scenario_file("""topology = { kind = "leaf-spine"; leaves = 4; spines = 4; hosts_per_leaf = 4; rate = "100Gbps"; delay = "20us"; };
jobs = ( { name = "train"; ranks = [ "h[0-15]" ]; iterations = 1000;
           collectives = ( { name = "a2a"; op = "alltoall"; algorithm = "linear"; bytes = "64MB"; } ); } );
timing = { clock = "real"; }; management = { sockets = true; };
""")
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.Popen([ROCELAB, "run", scenario, "--out", folder], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        sockets = pathlib.Path(folder) / "management"
        until("all devices have sockets", lambda: len(list(sockets.glob("*.manage"))) == 24, run)
        found = traced(folder)
        check(len(found["flows"]) == 240 and found["silent"] == [], "devices of a fabric that is behind answer", found["silent"])
        run.send_signal(signal.SIGINT)
        stderr = run.communicate()[1].decode()
        late = json.loads((pathlib.Path(folder) / "run.json").read_text())["realtime"]
        check("did not keep up" in stderr and 0 < late["scale_rates_by"] < 0.5 and late["worst_late_us"] > 0,
              "and it says by how much it was behind", (late, stderr))
        scale = float(re.search(r"scale the links' rates by (\S+)", stderr).group(1))
        check(abs(scale / late["scale_rates_by"] - 1) < 0.1, "in words as in numbers", (late, stderr))


def partitions():
    """Each partition serves its devices, in one folder."""
    scenario = scenario_file(CLOS.replace("100Gbps", "1Gbps").replace("1us", "50us") + """timing = { clock = "real"; };
management = { sockets = true; }; limits = { hold = "600s"; };
""")
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.Popen([ROCELAB, "run", scenario, "--partitions", "2", "--out", folder], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
        sockets = pathlib.Path(folder) / "management"
        until("devices of both partitions have sockets", lambda: len(list(sockets.glob("*.manage"))) == 24, run)
        found, still = paths(traced(folder, "--timeout", "20s")), paths(traced(scenario))
        check(found == still, "partitions answer as the scenario's control plane does, standing still")
        run.send_signal(signal.SIGINT)
        stderr = run.communicate(timeout=STALL_LIMIT_S)[1].decode()
        check(run.returncode >= 0 and not sockets.exists(), "and their sockets go with the run", (run.returncode, stderr))


os.environ.pop("ROCELAB_LOG", None)
for part in (silent, peers, times, live, behind, partitions):
    part()
