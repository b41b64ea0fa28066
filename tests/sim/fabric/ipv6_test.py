#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Hosts that speak IPv6: frames as the RFCs and IBTA annex A17 have them, the flow label as what ECMP hashes, and what is refused."""
import collections
import shutil
import struct
import zlib

from harness import ROCELAB, check, command, dpswitch, rocelab, scenario_file, sets
from pcapng import Capture

NETWORK = bytes.fromhex("fd726f63656c6162") + bytes(4)
LEAVES = 'topology = { kind = "leaf-spine"; leaves = 2; spines = 4; hosts_per_leaf = 2; rate = "100Gbps"; delay = "1us"; };\n'
FLOWS = "flows = ( " + ", ".join(f'{{ src = "h0"; dst = "h2"; sport = {49152 + i}; bytes = "64KB"; }}' for i in range(64)) + " );\n"
SIX = "host = { ip_version = 6; %s};\n"


def icrc_is_right(frame):
    """IBTA Annex A17.3.3, of IPv6: traffic class, flow label and hop limit count as ones, as the UDP checksum and byte 4 of the BTH."""
    covered = bytearray(frame[14:-4])
    covered[0] |= 0x0f
    for i in (1, 2, 3, 7, 46, 47, 52):
        covered[i] = 0xff
    return zlib.crc32(b"\xff" * 8 + covered) == int.from_bytes(frame[-4:], "little")


def udp_sum_is_right(frame):
    """RFC 8200, 8.1: addresses, length and next header belong to it."""
    udp = frame[54:]
    words = frame[22:54] + struct.pack(">IBBBB", len(udp), 0, 0, 0, 17) + udp + bytes(len(udp) & 1)
    total = sum(struct.unpack(f">{len(words) // 2}H", words))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total == 0xffff


def label_of(frame):
    return int.from_bytes(frame[14:18], "big") & 0xfffff


def frames():
    """What a host sends and gets: the same packets as over IPv4, 20 B longer, later by what these take."""
    text = LEAVES + 'flows = ( { src = "h0"; dst = "h2"; sport = 50001; bytes = "64KB"; } );\n'
    four = rocelab(scenario_file(text), "--capture", "h0:1")
    six = rocelab(scenario_file(text + SIX % ""), "--capture", "h0:1")
    two = rocelab(scenario_file(text + SIX % ""), "--capture", "h0:1", "--lcores", "2")
    check(six.run["digest"] == two.run["digest"], "frames: two lcores change nothing")
    old, new = Capture(four.dir / "capture.pcapng").frames, Capture(six.dir / "capture.pcapng").frames
    check(len(old) == len(new) and [f.size + 20 for f in old] == [f.size for f in new], f"frames: {len(new)}, 20 B longer each")
    check(all(f.bytes[12:14] == b"\x86\xdd" and f.bytes[14] >> 4 == 6 and f.bytes[20] == 17 and
              int.from_bytes(f.bytes[18:20], "big") == f.size - 54 for f in new), "frames: IPv6, UDP, of their length")
    check(all(n.bytes[22:38] == NETWORK + o.bytes[26:30] and n.bytes[38:54] == NETWORK + o.bytes[30:34]
              for o, n in zip(old, new)), "frames: addresses are those of IPv4 in a network of their own")
    check(all(n.bytes[21] == o.bytes[22] and (int.from_bytes(n.bytes[14:16], "big") >> 4 & 0xff) == o.bytes[15]
              for o, n in zip(old, new)), "frames: hop limit and traffic class are TTL and TOS")
    check(all(n.bytes[54:58] == o.bytes[34:38] and n.bytes[60:62] == b"\0\0" for o, n in zip(old, new)),
          "frames: ports are the same, RoCEv2 has no UDP checksum")
    check(all(n.bytes[62:-4] == o.bytes[42:-4] and icrc_is_right(n.bytes) for o, n in zip(old, new)),
          "frames: what UDP carries is the same, with an ICRC of its own that is right")
    for out in (True, False):
        labels = {label_of(f.bytes) for f in new if f.out == out}
        check(len(labels) == 1 and 0 not in labels, f"frames: one label {'out' if out else 'in'}", labels)
        label = labels.pop()
        check(0xc000 | ((label & 0x3fff) ^ (label >> 14)) == 50001, "frames: a device with this label has this port", label)
    data = [(o, n) for o, n in zip(old, new) if o.out]
    took = [packets[-1].time_ps - packets[0].time_ps for packets in zip(*data)]
    check(abs(took[1] - took[0] - (len(data) - 1) * 20 * 8 * 10) < 100 * len(data),
          "frames: a packet leaves after another by 1.6 ns more, 20 B at 100 Gbps", took)
    dissected(six.dir / "capture.pcapng", len(new))


def dissected(path, count):
    if shutil.which("tshark") is None:
        print("tshark is not installed: what it makes of IPv6 is not tested", flush=True)
        return
    done = command("tshark", "-n", "--disable-protocol", "rpcordma", "-r", path, "-Y", "ipv6 && infiniband && !_ws.malformed", "-T",
                   "fields", "-E", "separator=,", "-e", "ipv6.src", "-e", "ipv6.dst", "-e", "ipv6.flow", "-e", "udp.dstport")
    rows = collections.Counter(done.stdout.split())
    check(rows.total() == count and len(rows) == 2, f"dissector: {count} RoCEv2 frames over IPv6, a label a direction", rows)
    check({row.split(",")[3] for row in rows} == {"4791"} and
          all(row.startswith("fd72:6f63:656c:6162::a") for row in rows), "dissector: addresses and port", rows)


def control():
    """Polling and notification packets are IPv6 as well; their UDP checksum is right."""
    ring = 'collectives = ( { op = "allgather"; algorithm = "ring"; step_bytes = "200KB"; } );\n'
    slow = 'faults = ( { kind = "slow-host"; host = "h1"; delay = "1ms"; } );\n'
    run = rocelab(scenario_file(LEAVES + SIX % "" + ring + slow), "--capture", "h0:1,h1:1,h2:1,h3:1")
    seen = [f.bytes for f in Capture(run.dir / "capture.pcapng").frames if f.bytes[56:58] in (b"\xbb\x26", b"\xbb\x27")]
    check(len(seen) > 0 and all(f[12:14] == b"\x86\xdd" and udp_sum_is_right(f) for f in seen),
          f"control: {len(seen)} packets over IPv6 with a right checksum")


def entropy():
    """64 flows of one pair of hosts: by ports or label they take all four spines, by addresses alone one."""
    def used(text):
        run = dpswitch(scenario_file(LEAVES + FLOWS + text), "--capture", "s0:1,s1:1,s2:1,s3:1", "--capture-bytes", "60")
        seen = Capture(run.dir / "capture.pcapng")
        return [len({f.bytes[34:36] if f.bytes[12:14] == b"\x08\0" else f.bytes[54:56] for f in seen.of(f"s{i}:1", False)})
                for i in range(4)]
    for fields, spread in (('"src", "dst", "flow-label"', True), ('"flow-label"', True), ('"src", "dst", "sport"', True),
                           ('"src", "dst"', False)):
        for hash_name in ("crc32c", "crc16", "xor"):
            counts = used(SIX % "" + f'load_balancing = {{ fields = [ {fields} ]; hash = "{hash_name}"; }};\n')
            name = f"entropy: {fields} by {hash_name}"
            if spread:
                check(sum(counts) == 64 and min(counts) >= 4, f"{name}: all spines have flows", counts)
            else:
                check(sorted(counts) == [0, 0, 0, 64], f"{name}: one spine has all", counts)
    by_label, by_port = (used(SIX % "" + f'load_balancing = {{ fields = [ "src", "dst", {field} ]; }};\n')
                         for field in ('"flow-label"', '"sport"'))
    check(by_label != by_port, "entropy: it is the label that is hashed", (by_label, by_port))


def refused():
    pingmesh = "pingmesh = { enabled = true; };\n"
    kernels = 'hosts = ( { names = [ "h0" ]; kind = "guest"; } );\n'
    for text, *words in ((SIX.replace("6;", "5;") % "", ":2:", "ip_version", "4 or 6"),
                         ("host = { ip_version = 7; };\n", ":2:", "ip_version"),
                         ('load_balancing = { fields = [ "flow-label" ]; };\n', ":2:", "flow-label", "host.ip_version"),
                         ('load_balancing = { fields = [ "flow-label" ]; encapsulation = "vxlan"; };\n' + SIX % "", "vxlan", "sport"),
                         (pingmesh + SIX % "", ":3:", "ip_version", "pingmesh"),
                         (kernels + SIX % "", ":3:", "ip_version", "embedded")):
        scenario = scenario_file(LEAVES + text)
        done = command(ROCELAB, "run", scenario, expect=2)
        check(all(word in done.stderr for word in ("test.cfg", *words)), f"refused: {words[1]}", done.stderr)


def measured():
    """FlowPulse's tag is in the traffic class, and its prediction knows the longer frames: nothing is amiss, a fault is found."""
    text = """topology = { kind = "leaf-spine"; leaves = 8; spines = 4; hosts_per_leaf = 1; rate = "100Gbps"; delay = "1us"; };
load_balancing = { kind = "adaptive"; }; flowpulse = { enabled = true; }; detection = { policy = "off"; };
collectives = ( { op = "allgather"; algorithm = "halving-doubling"; bytes = "16MB"; iterations = 3; measured = true; } );
"""
    fault = 'faults = ( { kind = "loss"; port = "l2:3"; rate = 0.05; silent = true; } );\n'
    clean = rocelab(scenario_file(text + SIX % 'transport = "selective"; '))
    lossy = rocelab(scenario_file(text + fault + SIX % 'transport = "selective"; '), *sets(name="lossy"))
    reported = clean.verdict["flowpulse"]
    check(reported["faults"] == reported["doubtful"] == reported["unmeasured"] == [] and len(reported["switches"]) == 8,
          "measured: all volumes are as predicted", reported)
    check([[link["port"] for link in f["links"]] for f in lossy.verdict["flowpulse"]["faults"]] == [["l2:3"]],
          "measured: the link that loses packets is named", lossy.verdict["flowpulse"]["faults"])


frames()
control()
entropy()
refused()
measured()
