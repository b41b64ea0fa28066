#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Wireshark opens captures of runs, and with scripts/wireshark/rocelab.lua polling, notification and telemetry as well.

Skipped (77) without tshark. rpcordma guesses at short payloads of any kind: off.
"""
import collections
import shutil
import struct

import records
from cases import ring, small
from harness import SCENARIOS, SOURCE, check, command, dpswitch, scratch, sets, skip
from pcapng import Capture, is_udp

LUA = SOURCE / "scripts/wireshark/rocelab.lua"
SMALLER = {"collectives.[0].step_bytes": "400KB"}


def tshark(path, *args, lua=True):
    """Lines that tshark prints; fails on any word of Lua's about errors."""
    script = ["-X", f"lua_script:{LUA}"] if lua else []
    done = command("tshark", *script, "-n", "--disable-protocol", "rpcordma", "-r", path, *args)
    check("lua" not in done.stderr.lower() and "error" not in done.stderr.lower(), f"tshark {' '.join(args)}", done.stderr)
    return done.stdout.splitlines()


def fields(path, condition, *names, **kwargs):
    args = [arg for name in names for arg in ("-e", name)]
    rows = tshark(path, "-Y", condition, "-T", "fields", "-E", "separator=,", "-E", "occurrence=a", "-E", "aggregator=;", *args,
                  **kwargs)
    return [tuple(row.split(",")) for row in rows]


def each(path, condition, *names):
    """fields() of packets that hold several records: a row for each of these."""
    return [one for row in fields(path, condition, *names) for one in zip(*(cell.split(";") for cell in row))]


def storm():
    run = dpswitch(SCENARIOS / "pfc-storm.cfg", "--quiet", "--capture", "5:1,0:4",
                   *sets(**SMALLER, **{"faults.[0].start": "50us", "faults.[0].duration": "300us"}))
    path = run.dir / "capture.pcapng"
    ports = {port["port"]: port for port in run.run["capture"]["ports"]}
    for lua in (False, True):
        name = "storm, with the script" if lua else "storm, Wireshark alone"
        check(tshark(path, "-Y", "_ws.malformed", lua=lua) == [], f"{name}: nothing is malformed")
        rows = fields(path, "macc.cbfc.enbv", "frame.interface_name", "frame.packet_flags_direction", "macc.opcode",
                      "macc.cbfc.enbv", "eth.src", lua=lua)
        # 1: inbound, 2: outbound
        found = collections.Counter((row[0], int(row[1], 0)) for row in rows)
        reported = {(port, key): count for port, entry in ports.items() for key, count in ((1, entry["pfc_in"]), (2, entry["pfc_out"]))
                if count}
        check(found == reported and found["5:1", 2] > 3, f"{name}: {sum(found.values())} pause frames, by port and direction",
              (found, reported))
        check({row[2:4] for row in rows} == {("0x0101", "0x0008")}, f"{name}: for class 3", set(rows))
        roce = sum(1 for _ in fields(path, "infiniband", "frame.number", lua=lua))
        frames = run.run["capture"]["frames"]
        check(0 < roce <= frames - len(rows), f"{name}: {roce} RoCEv2 frames of {frames}", roce)
    seen = Capture(path)
    times = [row[0] for row in fields(path, "frame", "frame.time_epoch")]
    check(times == [f"{f.time_ps // 10**12}.{f.time_ps % 10**12 // 1000:09d}" for f in seen.frames],
          "storm: the run's clock, to the nanosecond")


def case_study():
    """Polling and notification packets of every host; and the records of the same run, as a file and over TCP."""
    hosts = ",".join(f"{host}:1" for host in range(12, 20))
    run = dpswitch(SCENARIOS / "case-study.cfg", "--quiet", "--capture", hosts, "--capture-bytes", "128",
                   *sets(**SMALLER, **{"flows.[0].start": "0us", "flows.[1].start": "10us"}))
    path = run.dir / "capture.pcapng"
    found = records.read(run.dir / "records.bin")
    seen = Capture(path)
    check(tshark(path, "-Y", "_ws.malformed || rocelab_poll.bad || rocelab_notify.bad") == [],
          "case study: nothing is malformed, cut as frames are")

    polls = fields(path, "rocelab_poll && frame.packet_flags_direction == 2", "rocelab_poll.event", "rocelab_poll.flags",
                   "rocelab_poll.src", "rocelab_poll.dst", "rocelab_poll.sport", "rocelab_poll.dport", "ip.src", "udp.srcport")
    triggers = [r for r in found if r.type == records.TRIGGER]
    events = sorted(r.event for r in triggers)
    check(events == sorted(int(row[0], 16) for row in polls) and events,
          f"case study: {len(polls)} polling packets leave hosts, one a detection", (events, polls))
    check(all(row[2] == row[6] and row[4] == row[7] and row[1] in ("1", "3") for row in polls),
          "case study: each from its victim's source", polls)
    notifications = fields(path, "rocelab_notify && frame.packet_flags_direction == 2", "rocelab_notify.step",
                           "rocelab_notify.detections")
    sent = sorted(struct.unpack_from("<II", r.body, 12)[1:] for r in found if r.type == 18)
    check(sent == sorted((int(row[1]),) for row in notifications) and sent,
          f"case study: {len(sent)} notifications, with their detections", (sent[:5], notifications[:5]))
    check(len(notifications) == sum(len(seen.of(port, True, lambda f: is_udp(f, 47911))) for port in seen.ports),
          "case study: as many as the file holds")
    stream_as_file(run.dir / "records.bin", found)
    stream_over_tcp(run.dir / "records.bin", found)


def stream_as_file(path, found):
    check(fields(path, "rocelab.bad", "frame.number") == [], "records.bin: every record is known")
    rows = each(path, "rocelab", "rocelab.type", "rocelab.node", "rocelab.time_ps", "rocelab.seq", "rocelab.event")
    wanted = [(str(r.type), str(r.node), str(r.time_ps), str(r.seq), f"0x{r.event:08x}") for r in found]
    check(rows == wanted, f"records.bin: {len(rows)} records with their headers",
          [pair for pair in zip(rows, wanted) if pair[0] != pair[1]][:2])
    names = [name for name, _, _ in records.KINDS[records.PORT_ROW].fields]
    rows = each(path, "rocelab.type == 33", *(f"rocelab.port_row.{name}" for name in names))
    check(rows == [tuple(map(str, row)) for _, row in records.port_rows(found)], f"records.bin: {len(rows)} port rows", rows[:2])
    sent = [f"{s.time_ps // 10**12}.{s.time_ps % 10**12 // 1000:09d}" for s in records.sent(path)]
    check([row[0] for row in fields(path, "rocelab.frame.size", "frame.time_epoch")] == sent,
          f"records.bin: {len(sent)} frames, when they were sent")
    rows = fields(path, "rocelab.type == 2", "rocelab.node", "rocelab.node.name")
    check({int(node): name for node, name in rows} == records.node_names(found), "records.bin: the nodes' names", rows)


def tcp_capture(data, path, cuts):
    """A classic pcap of one TCP connection to port 5000 that carries data, cut as given."""
    def packet(seq, flags, payload):
        tcp = struct.pack(">HHIIBBHHH", 40000, 5000, seq, 1, 0x50, flags, 65535, 0, 0) + payload
        ip = struct.pack(">BBHHHBBHII", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0, 0x7f000001, 0x7f000001)
        return bytes(12) + b"\x08\0" + ip + tcp
    packets, at, turn = [packet(0, 2, b"")], 0, 0
    while at < len(data):
        size = cuts[turn % len(cuts)]
        packets.append(packet(1 + at, 0x18, data[at:at + size]))
        at, turn = at + size, turn + 1
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for number, frame in enumerate(packets):
            file.write(struct.pack("<IIII", number, 0, len(frame), len(frame)) + frame)


def stream_over_tcp(recording, found):
    data = recording.read_bytes()
    path = scratch() / "tcp.pcap"
    for cuts in ((1000, 7, 1448, 333), (100, 3), (40000,)):
        tcp_capture(data, path, cuts)
        rows = fields(path, "rocelab", "rocelab.type")
        types = [int(kind) for row in rows for kind in row[0].split(";") if kind]
        check(types == [r.type for r in found], f"over TCP, cut at {cuts}: {len(types)} records in order",
              (len(types), len(found)))
        check(fields(path, "rocelab.bad", "frame.number") == [], f"over TCP, cut at {cuts}: every one is known")
    # what is no record is reported, and ends nowhere else
    tcp_capture(data[:16] + b"\xff" * 1000 + b"\0" * 1000, path, (1000,))
    check(fields(path, "rocelab.bad", "frame.number"), "over TCP: nonsense is reported")


def damaged():
    """Another version of a polling packet is reported, not read."""
    poll = struct.pack(">IBBBBIIIHH", 0x524c504c, 2, 1, 17, 0, 7, 0x0a000001, 0x0a000002, 1, 4791)
    path = scratch() / "polls.pcap"
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for payload in (poll, poll[:4] + b"\1" + poll[5:], poll[:20], b""):
            udp = struct.pack(">HHHH", 1, 47910, 8 + len(payload), 0) + payload
            ip = struct.pack(">BBHHHBBHII", 0x45, 0, 20 + len(udp), 0, 0x4000, 64, 17, 0, 0x0a000001, 0x0a000002)
            frame = bytes(12) + b"\x08\0" + ip + udp
            file.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)
    check(fields(path, "rocelab_poll.bad", "frame.number") == [("1",), ("3",)], "damaged polling packets are reported")
    check(fields(path, "rocelab_poll.event", "frame.number") == [("2",)], "and not read")


def tags():
    """Wireshark alone sees the DSCP, with the script the iteration."""
    run = dpswitch(small(collective=ring(step_bytes=3000, iterations=17, measured=True)), "--quiet", "--capture", "a1:1",
                   *sets(detection__policy="off"))
    path = run.dir / "capture.pcapng"
    rows = fields(path, "rocelab_tag", "rocelab_tag.iteration", "ip.dsfield.dscp")
    found = collections.Counter(int(iteration) for iteration, _ in rows)
    check(found == {i: 18 * (2 if i == 0 else 1) for i in range(16)}, "tags: 3 packets a step out and in, of 17 iterations", found)
    check(all(int(dscp) == 4 * int(iteration) + 3 for iteration, dscp in rows), "tags: in the DSCP")
    alone = fields(path, "ip.dsfield.dscp & 3 == 3", "frame.number", lua=False)
    check(len(alone) == len(rows), "tags: a filter without the script", (len(alone), len(rows)))
    six = dpswitch(small(collective=ring(step_bytes=3000, iterations=17, measured=True), extra="host = { ip_version = 6; };\n"),
                   "--quiet", "--capture", "a1:1", *sets(detection__policy="off"))
    rows = fields(six.dir / "capture.pcapng", "rocelab_tag", "rocelab_tag.iteration", "ipv6.tclass.dscp")
    check(found == collections.Counter(int(iteration) for iteration, _ in rows) and
          all(int(dscp) == 4 * int(iteration) + 3 for iteration, dscp in rows), "tags: over IPv6 in the traffic class", rows)
    polled = dpswitch(SCENARIOS / "case-study.cfg", "--quiet", "--capture", "12:1", "--capture-bytes", "160",
                      *sets(**SMALLER, **{"flows.[0].start": "0us", "flows.[1].start": "10us", "host.ip_version": 6}))
    path = polled.dir / "capture.pcapng"
    check(tshark(path, "-Y", "_ws.malformed || rocelab_poll.bad || rocelab_notify.bad || ip") == [] and
          len(fields(path, "rocelab_notify && ipv6", "frame.number")) > 0, "tags: nothing over IPv6 is malformed")


def selective_acks():
    """Wireshark alone reads the frames, with the script the two numbers. Both ends of a host's cable, nothing lost."""
    run = dpswitch(small(collective=ring(step_bytes=3000)), "--quiet", "--capture", "a1:1",
                   *sets(detection__policy="off", host__transport="selective", host__ack_every=1))
    path = run.dir / "capture.pcapng"
    check(tshark(path, "-Y", "_ws.malformed", lua=False) == [], "selective: nothing is malformed")
    data = fields(path, "infiniband.bth.opcode == 10 || infiniband.bth.opcode == 11", "infiniband.bth.opcode",
                  "infiniband.bth.psn", "infiniband.reth.va", "infiniband.reth.dmalen", "frame.packet_flags_direction", lua=False)
    check(len(data) == len(fields(path, "infiniband.bth.opcode < 17", "frame.number", lua=False)) > 6,
          "selective: every data packet is an RDMA WRITE ONLY", len(data))
    check({row[3] for row in data if row[0] == "10"} == {"1024"} and {row[3] for row in data if row[0] == "11"} == {"952"},
          "selective: with its own length", collections.Counter(row[3] for row in data))
    acks = fields(path, "rocelab_sack", "rocelab_sack.psn", "rocelab_sack.expected", "rocelab_sack.before")
    check(len(acks) == len(data) == len(fields(path, "infiniband.aeth.syndrome == 0x5f", "frame.number", lua=False)),
          "selective: each is acknowledged for itself", (len(acks), len(data)))
    check(all(int(row[1]) == int(row[0]) + 1 and row[2] == "0x1f" for row in acks), "selective: in order, with the next expected",
          acks[:5])


if shutil.which("tshark") is None:
    skip("tshark is not installed (apt-get install tshark)")
storm()
case_study()
damaged()
tags()
selective_acks()
