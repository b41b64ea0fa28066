#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reads rocelab's record stream (docs/wire-records.md) in Python alone: one file, to be copied where it is needed.

    rocelab_records.py FILE [TYPE...]           prints records.bin, or "-", as lines of JSON, those of some types alone

    print([(r.time_ps, r.node, r["port"], r["depth_max"])
           for r in rocelab_records.read("out/case-study/records.bin") if r.type == "PORT_ROW"])

A Record has type, node, time_ps, seq and event, by record["NAME"] the fields that docs/wire-records.md lists, and its bytes, as no
frame has them, in data. A Reader takes bytes in any portions and knows the names of nodes, ports and flows that it has read. Session: a
diagnoser's run (docs/bring-your-own.md).
"""
import collections
import json
import os
import select
import socket
import struct
import sys

# ---- made of common/wire by tests/wire/record_tables.py --renew ----
VERSION = 23
KINDS = {
    1: ("RUN", 120, "24 name char[32], 56 policy u32, 60 detections u32, 64 rtt_percent u32, 68 epochs_kept u32, "
        "72 epoch_ps u64, 80 budget_bps u64, 88 frame_bytes u32, 92 payload_bytes u32, 96 ack_bytes u32, "
        "100 exact_contention u16, 102 strict_classes u16, 104 jitter_ps u64, 112 window_bytes u64"),
    2: ("NODE", 64, "24 name char[32], 56 kind u32, 60 nports u32"),
    3: ("PORT", 56, "24 port u16, 26 peer_port u16, 28 peer u32, 32 ip u32, 36 reserved u32, 40 rate_bps u64, "
        "48 delay_ps u64"),
    4: ("COLLECTIVE", 152, "24 id u32, 28 iteration u32, 32 algorithm u32, 36 op u32, 40 ranks u32, 44 steps u32, "
        "48 rank_steps u32, 52 job u32, 56 bytes u64, 64 ideal_ps u64, 72 expect_ps u64, 80 name char[32], "
        "112 job_name char[32], 144 group_ranks u32, 148 reserved u32"),
    5: ("SCHEDULE", 120, "24 collective u32, 28 iteration u32, 32 step u32, 36 rank u32, 40 flow tuple, 56 bytes u64, "
        "64 peer u32, 68 channel u32, 72 own_step u32, 76 depends_rank u32, 80 depends_step u32, 84 depends u32, "
        "88 ideal_ps u64, 96 expect_ps u64, 104 base_rtt_ps u64, 112 prio u32, 116 spread_ns u32"),
    6: ("ROUTE", 48, "24 flow tuple, 40 hop u16, 42 port u16, 44 reverse u16, 46 ecmp u16"),
    7: ("ECMP", 48, "24 set u32, 28 sprayed u16, 30 first u16, 32 ports_0 u64, 40 ports_1 u64"),
    8: ("FOLLOW", 32, "24 collective u32, 28 after u32"),
    9: ("DEPEND", 56, "24 collective u32, 28 iteration u32, 32 step u32, 36 rank u32, 40 on_collective u32, "
        "44 on_rank u32, 48 on_step u32, 52 reserved u32"),
    10: ("MONITOR", 80, "24 prediction u32, 28 detector u32, 32 threshold_ppm u32, 36 tolerance_ppm u32, 40 learn u32, "
        "44 counts u32, 48 ports_alone u32, 52 rate_ppb u32, 56 runs u32, 60 iterations u32, 64 virtual_ps u64, "
        "72 in_order u32, 76 reserved u32"),
    11: ("KNOWN_FAULT", 96, "24 kind char[32], 56 port u16, 58 reserved u16, 60 rate_ppb u32, 64 extra_ps u64, "
        "72 start_ps u64, 80 duration_ps u64, 88 period_ps u64"),
    12: ("PINGMESH", 88, "24 time_factor_ppm u32, 28 software_times u16, 30 algorithm u16, 32 tor_mesh_ps u64, "
        "40 inter_tor_ps u64, 48 service_ps u64, 56 timeout_ps u64, 64 upload_ps u64, 72 period_ps u64, "
        "80 pinglist_ps u64"),
    13: ("TRACER", 48, "24 rtt_ps u64, 32 period_ps u64, 40 connections u16, 42 first_hop u16, 44 processes u16, "
        "46 threads u16"),
    14: ("SETTING", 128, "24 text char[96], 120 continued u32, 124 reserved u32"),
    16: ("STEP", 232, "24 collective u32, 28 iteration u32, 32 step u32, 36 rank u32, 40 waited_collective u32, "
        "44 waited_rank u32, 48 waited_step u32, 52 retransmits u32, 56 bytes u64, 64 acked_bytes u64, 72 start_ps u64, "
        "80 end_ps u64, 88 open u32, 92 waited_ns u32, 96 rtt_min_ps u64, 104 rtt_mean_ps u64, 112 rtt_samples u32, "
        "116 naks u32, 120 wire_ps u64, 128 there_ps u64, 136 back_ps u64, 144 paced_ps u64, 152 window_ps u64, "
        "160 late_ps u64, 168 paused_ps u64, 176 nak_ps u64, 184 timeout_ps u64, 192 early_ps u64, 200 reordered_ps u64, "
        "208 nic_ps u64, 216 peer_ps u64, 224 behind_ps u64"),
    17: ("TRIGGER", 80, "24 flow tuple, 40 collective u32, 44 iteration u32, 48 step u32, 52 cause u32, 56 rtt_ps u64, "
        "64 threshold_ps u64, 72 remaining u32, 76 rank u32"),
    18: ("NOTIFY", 48, "24 to u32, 28 collective u32, 32 iteration u32, 36 step u32, 40 detections u32, 44 rank u32"),
    19: ("PROBE", 88, "24 nic u16, 26 kind u16, 28 result u16, 30 reserved u16, 32 tuple tuple, 48 target_qpn u32, "
        "52 seq u32, 56 sent_ps u64, 64 rtt_ps u64, 72 prober_ps u64, 80 responder_ps u64"),
    20: ("PROBE_HOP", 72, "24 tuple tuple, 40 hop u16, 42 back u16, 44 at u32, 48 port u16, 50 last u16, 52 trace u32, "
        "56 sent_ps u64, 64 count u32, 68 reserved u32"),
    21: ("RNIC", 40, "24 nic u16, 26 reserved u16, 28 ip u32, 32 qpn u32, 36 tor u32"),
    22: ("UPLOAD", 40, "24 probes u32, 28 timeouts u32, 32 dropped u32, 36 late_us u32"),
    23: ("CONNECTION", 48, "24 nic u16, 26 open u16, 28 collective u32, 32 tuple tuple"),
    24: ("TRACED", 80, "24 tuple tuple, 40 set_low u64, 48 set_high u64, 56 reported_ps u64, 64 messages u64, "
        "72 round u32, 76 nic u16, 78 result u16"),
    25: ("RESPONDER", 64, "24 tuple tuple, 40 nic u16, 42 chained u16, 44 first_seq u32, 48 last_seq u32, "
        "52 after_seq u32, 56 count u32, 60 qpn u32"),
    26: ("LATENESS", 80, "24 kind u32, 28 lcore u32, 32 partition u32, 36 measured u32, 40 from_ps u64, 48 to_ps u64 end, "
        "56 late_ps u64, 64 most_ps u64, 72 windows u32, 76 late_windows u32"),
    32: ("POLL", 56, "24 victim tuple, 40 in_port u16, 42 out_port u16, 44 flags u16, 46 out_paused u8, 47 repeated u8, "
        "48 ttl u32, 52 reserved u32"),
    33: ("PORT_ROW", 160, "24 port u16, 156 prio u16, 26 host u8, 27 paused u8, 28 depth_max u32, 32 epoch_first u32, "
        "36 epoch_last u32 end, 40 from_ps u64, 48 to_ps u64 end, 56 packets u64 count, 64 bytes u64 count, "
        "72 depth_sum u64 count, 80 paused_packets u64 count, 88 pause_ps u64, 96 paused_since_ps u64, "
        "104 queue_packets u64 count, 112 queue_bytes u64 count, 120 ingress_bytes u64 count, 128 ingress_xoff_bytes u64, "
        "136 pausing_since_ps u64, 144 pausing u32, 148 pauses_received u32, 152 pauses_sent u32, 158 state_only u16"),
    34: ("FLOW_ROW", 88, "24 flow tuple, 40 port u16, 42 in_port u16, 44 epoch_first u32, 48 epoch_last u32 end, "
        "52 queue_packets u32, 56 packets u64 count, 64 bytes u64 count, 72 depth_sum u64 count, "
        "80 paused_packets u64 count"),
    35: ("METER_ROW", 56, "24 in_port u16, 26 port u16, 36 prio u16, 28 epoch_first u32, 32 epoch_last u32 end, "
        "38 reserved u16, 40 bytes u64 count, 48 held_bytes u64 count"),
    36: ("MATRIX_ROW", 80, "24 flow tuple, 40 other tuple, 56 port u16, 58 reserved16 u16, 60 epoch_first u32, "
        "64 epoch_last u32 end, 68 reserved u32, 72 ahead u64 count"),
    37: ("DROP_ROW", 80, "24 last tuple, 40 port u16, 42 reason u16, 44 reserved u32, 48 packets u64 count, "
        "56 bytes u64 count, 64 first_ps u64, 72 last_ps u64 end"),
    38: ("OVERTAKE_ROW", 72, "24 flow tuple, 40 port u16, 42 acks u16, 44 epoch_first u32, 48 epoch_last u32 end, "
        "52 prio u32, 56 packets u64 count, 64 bytes u64 count"),
    39: ("PASSAGE", 96, "24 flow tuple, 40 in_port u16, 42 out_port u16, 44 waiting u32, 48 in_frames u64 count, "
        "56 sent_frames u64 count, 64 flow_packets u64 count, 72 resent u32, 76 timeouts u32, 80 duplicates u32, "
        "84 out_of_sequence u32, 88 most_missing u32, 92 naks u32"),
    40: ("VOLUME", 64, "24 port u16, 26 flaws u16, 28 sender u32, 32 iteration u32, 36 learned u32, "
        "40 predicted u64 count, 48 seen u64 count, 56 packets u64 count"),
    41: ("VOLUME_ALARM", 112, "24 port u16, 26 place u16, 28 sender u32, 32 iteration u32, 36 pooled u32, "
        "40 predicted u64 count, 48 seen u64 count, 56 expected u64 count, 64 got u64 count, 72 packets u64 count, "
        "80 drop_ppm u32, 84 low_ppm u32, 88 high_ppm u32, 92 dispersion_ppm u32, 96 noise u32, 100 reserved u32, "
        "104 reference_packets u64 count"),
    42: ("VOLUME_FLAW", 56, "24 sender u32, 28 iteration u32, 32 flaw u32, 36 reserved u32, 40 predicted u64 count, "
        "48 seen u64 count"),
    43: ("MONITORED", 72, "24 ports u32, 28 senders u32, 32 compared u32, 36 learned u32, 40 relearned u32, "
        "44 flawed u32, 48 alarms u32, 52 bytes u32, 56 late_packets u64 count, 64 lost_packets u64 count"),
    44: ("TRACED_HOP", 72, "24 tuple tuple, 40 set_low u64, 48 set_high u64, 56 round u32, 60 hop u16, 62 in_port u16, "
        "64 out_port u16, 66 result u16, 68 first u16, 70 reserved u16"),
    45: ("TRACE_ROUND", 72, "24 start_ps u64, 32 sent_bytes u64, 40 received_bytes u64, 48 round u32, 52 flows u32, "
        "56 traced u32, 60 questions u32, 64 connections u32, 68 complete u16, 70 reserved u16"),
    46: ("WATCHDOG", 48, "24 port u16, 26 prio u16, 28 event u16, 30 action u16, 32 since_ps u64, 40 packets u64 count"),
    47: ("LINK_RATE", 40, "24 port u16, 26 reserved16 u16, 28 reserved u32, 32 rate_bps u64"),
    48: ("GAP", 56, "24 kind u32, 28 dropped u32, 32 dropped_bytes u64 count, 40 from_ps u64, 48 to_ps u64"),
    49: ("END", 168, "24 reason u16, 26 recording_errno u16, 28 at_node u32, 32 end_ps u64, 40 offered_bytes u64, "
        "48 sent_bytes u64, 56 offered_records u64, 64 sent_records u64, 72 deferred_records u64, 80 dropped_records u64, "
        "88 polling_packets u64, 96 polling_bytes u64, 104 notification_packets u64, 112 notification_bytes u64, "
        "120 detections u64, 128 kept_reports u64, 136 kept_bytes u64, 144 collected_reports u64, "
        "152 collected_bytes u64, 160 clock_error_ps u64"),
    50: ("FLOW_SEEN", 80, "24 flow tuple, 40 port u16, 42 reserved16 u16, 44 reserved u32, 48 first_ps u64, "
        "56 last_ps u64, 64 packets u64 count, 72 bytes u64 count"),
}
VALUES = {
    "RUN.policy": "off, vedrfolnir, vedrfolnir-poster, hawkeye-minr, hawkeye-maxr, full-polling, "
        "vedrfolnir-paper".split(", "),
    "COLLECTIVE.algorithm": "ring, halving-doubling, linear, pairwise, bruck, binomial-tree, double-binary-tree, "
        "pipeline, file".split(", "),
    "COLLECTIVE.op": "allgather, reducescatter, allreduce, alltoall, alltoallv, broadcast, reduce, sendrecv, custom, "
        "flows".split(", "),
    "TRIGGER.cause": "rtt, stall, throttle, resent, lag".split(", "),
    "DROP_ROW.reason": "injected, corrupt, link_down, ttl, no_route, blackhole, queue_full, no_buffer, mtu, "
        "watchdog".split(", "),
    "MONITOR.prediction": "analytical, measured, learned, simulated".split(", "),
    "MONITOR.detector": "threshold, noise, pooled".split(", "),
    "VOLUME_ALARM.place": "local, remote, pair".split(", "),
    "VOLUME_ALARM.noise": "unknown, learned, random".split(", "),
    "VOLUME_FLAW.flaw": "tags, senders, routes, overlap, unknown, demand, uneven, few, shared".split(", "),
    "PROBE.kind": "tor-mesh, inter-tor, service, rail".split(", "),
    "PROBE.result": "ok, timeout, second-lost, first-lost, late".split(", "),
    "END.reason": "complete, qp_error, stall, virtual_time, invariant, interrupt, host_lost, partition_lost".split(", "),
}
# ---- until here ----

MAGIC = b"ROCELAB1"
NONE, NO_PORT = 0xffffffff, 0xffff  # no node; no port
_STREAM, _HEADER, _TUPLE = map(struct.Struct, ("<8sII", "<HHIQII", "<IIHHI"))
_FRAME, _FRAME_MOST, _ROCE_PORT, _MOST_TUPLES = 64, 1472, 4791, 64
_MASK = (1 << 64) - 1
_WIDTHS = {"u8": 1, "u16": 2, "u32": 4, "u64": 8}

Flow = collections.namedtuple("Flow", "src_ip dst_ip sport dport")
_Field = collections.namedtuple("_Field", "name at width what")  # tuple, text, count, end or None


def fields_of(text):
    """[_Field] of a kind's row: "24 name char[32], 56 policy u32, 40 packets u64 count"."""
    found = []
    for part in text.split(", "):
        at, name, form, *mark = part.split()
        text_bytes = int(form[5:-1]) if form.startswith("char") else 0
        what = "tuple" if form == "tuple" else "text" if text_bytes else mark[0] if mark else None
        found.append(_Field(name, int(at), text_bytes or _WIDTHS.get(form, _TUPLE.size), what))
    return found


_KINDS = {number: (name, size, fields_of(text)) for number, (name, size, text) in KINDS.items()}
_BY_NAME = {number: {field.name: field for field in fields} for number, (_, _, fields) in _KINDS.items()}


class Record:
    """One record: its header's type, node, time_ps, seq and event as attributes, its type's fields as items."""
    __slots__ = ("type", "node", "time_ps", "seq", "event", "fields", "data")

    def __init__(self, data, offset):
        number, size, self.node, self.time_ps, self.seq, self.event = _HEADER.unpack_from(data)
        if number not in _KINDS or size != _KINDS[number][1]:
            raise ValueError(f"byte {offset}: a record of type {number} and {size} bytes, which version {VERSION} has not")
        self.type, self.fields, self.data = _KINDS[number][0], _BY_NAME[number], bytes(data)

    def __getitem__(self, name):
        _, at, width, what = self.fields[name]
        raw = self.data[at:at + width]
        if what == "tuple":
            return Flow(*_TUPLE.unpack(raw)[:4])
        if what == "text":
            return raw.split(b"\0")[0].decode("utf-8", "replace")
        return int.from_bytes(raw, "little")

    def name_of(self, field):
        """Name of the value of an enumeration field; None: it is no enumeration."""
        names, value = VALUES.get(f"{self.type}.{field}", ()), self[field]
        return names[value] if isinstance(value, int) and value < len(names) else None

    def as_dict(self):
        """Plain values for JSON: enumerations by name, flows by addresses."""
        reported = {name: self.name_of(name) or self[name] for name in self.fields}
        for name, value in reported.items():
            if isinstance(value, Flow):
                reported[name] = f"{_address(value.src_ip)}->{_address(value.dst_ip)}/{value.sport}>{value.dport}"
        return {"type": self.type, "node": self.node, "time_ps": self.time_ps, "seq": self.seq, "event": self.event,
                "fields": reported}


def _address(ip):
    return socket.inet_ntoa(struct.pack(">I", ip))


class _Frame:
    """The records of a frame, one behind the other."""

    def __init__(self, data, offset):
        self.data, self.at, self.offset = data, _HEADER.size, offset
        _, _, self.node, self.time_ps, self.seq, self.event = _HEADER.unpack_from(data)
        self.seq -= 1
        self.latest, self.tuples, self.src_ip = {}, [], 0

    def number(self):
        value = 0
        for shift in range(0, 70, 7):
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7f) << shift
            if byte < 0x80:
                return value
        raise ValueError(f"byte {self.offset}: a frame with an integer of more than 10 bytes")

    def change(self):
        reported = self.number()
        return reported >> 1 if reported & 1 == 0 else -(reported >> 1) - 1

    def tuple(self):
        index = self.number()
        if index:
            return self.tuples[index - 1]
        self.src_ip ^= self.number()
        reported = _TUPLE.pack(self.src_ip, self.number() ^ self.src_ip, self.number(), self.number() ^ _ROCE_PORT, self.number())
        if len(self.tuples) < _MOST_TUPLES:
            self.tuples.append(reported)
        return reported

    def record(self):
        number = self.data[self.at]
        self.at += 1
        self.seq += 1
        if number & 0x80:
            number &= 0x7f
            self.time_ps, self.seq, self.event = (self.time_ps + self.change(), self.seq + self.change(),
                                                  self.event + self.change())
        _, size, fields = _KINDS[number]
        row, before = bytearray(size), self.latest.get(number, bytes(size))
        _HEADER.pack_into(row, 0, number, size, self.node, self.time_ps & _MASK, self.seq & NONE, self.event & NONE)
        named, previous = self.number(), None
        for i, (_, at, width, what) in enumerate(fields):
            reported, span = named >> i & 1, slice(at, at + width)
            if what == "tuple":
                row[span] = self.tuple() if reported else before[span]
                continue
            expected = 0 if what == "count" else int.from_bytes(before[span], "little")
            if what == "end":
                expected += int.from_bytes(row[previous], "little") - int.from_bytes(before[previous], "little")
            if reported:
                expected += self.number() if what == "count" else self.change()
            row[span] = (expected & _MASK).to_bytes(8, "little")[:width]
            previous = span
        self.latest[number] = bytes(row)
        return Record(row, self.offset)

    def records(self):
        try:
            while self.at < len(self.data):
                yield self.record()
        except (IndexError, KeyError, struct.error) as error:
            raise ValueError(f"byte {self.offset}: a frame that cannot be unpacked: {error!r}") from error


def unpack(piece, offset=0):
    """The records of a piece of a stream: those of a frame, or itself. offset: of the piece, for errors."""
    return _Frame(piece, offset).records() if _HEADER.unpack_from(piece)[0] == _FRAME else (Record(piece, offset),)


class Reader:
    """Decodes a stream. bytes: fed so far; nodes: names by number; hosts: names by address."""

    def __init__(self):
        self.bytes, self.nodes, self.hosts, self._at, self._held, self._opened = 0, {}, {}, 0, bytearray(), False

    def feed(self, data):
        """The records that these bytes complete."""
        self._held += data
        self.bytes += len(data)
        if not self._opened and len(self._held) >= _STREAM.size:
            self._open()
        while self._opened and len(self._held) >= _HEADER.size:
            number, size = struct.unpack_from("<HH", self._held)
            if size < _HEADER.size or (number == _FRAME and size > _FRAME_MOST):
                raise ValueError(f"byte {self._at}: a record of {size} bytes")
            if len(self._held) < size:
                return
            at, piece = self._at, self._take(size)
            for record in unpack(piece, at):
                self._learn(record)
                yield record

    def port(self, node, port):
        """"6:2"; None: no port."""
        return None if port == NO_PORT else f"{self.nodes.get(node, node)}:{port + 1}"

    def flow(self, flow):
        """"h1->h2/20000>4791"."""
        src, dst = (self.hosts.get(ip, _address(ip)) for ip in (flow.src_ip, flow.dst_ip))
        return f"{src}->{dst}/{flow.sport}>{flow.dport}"

    def _take(self, size):
        piece = bytes(self._held[:size])
        del self._held[:size]
        self._at += size
        return piece

    def _open(self):
        magic, version, size = _STREAM.unpack(self._take(_STREAM.size))
        if (magic, version, size) != (MAGIC, VERSION, _STREAM.size):
            raise ValueError(f"no record stream of version {VERSION}: it begins with {magic}, {version}, {size}")
        self._opened = True

    def _learn(self, record):
        if record.type == "NODE":
            self.nodes[record.node] = record["name"]
        elif record.type == "PORT" and record["ip"]:
            self.hosts[record["ip"]] = self.nodes.get(record.node, str(record.node))


def read(source):
    """The records of a recording's path, or of an open binary file, pipe or socket.makefile("rb")."""
    reader = Reader()
    with open(source, "rb") if isinstance(source, (str, os.PathLike)) else source as file:
        while data := file.read1(1 << 16) if hasattr(file, "read1") else file.read(1 << 16):
            yield from reader.feed(data)


Turn = collections.namedtuple("Turn", "number time_ps records last")


class Session:
    """A run that this program diagnoses. for turn in session: look at turn.records, then find(), poll() or probe()."""

    def __init__(self):
        self.records, self.control = (socket.socket(fileno=int(os.environ[f"ROCELAB_{name}_FD"]))
                                      for name in ("RECORDS", "CONTROL"))
        self.reader, self.begin, self.refused, self._waiting, self._lines = Reader(), None, [], [], bytearray()

    def __iter__(self):
        while line := self._line():
            if line["is"] == "begin":
                self.begin = line
            elif line["is"] in ("turn", "end"):
                while self.reader.bytes < line["bytes"] and self._receive():
                    pass
                reported, self._waiting = self._waiting, []
                yield Turn(line["turn"], line["time_ns"] * 1000, reported, line["is"] == "end")
                self._print({"done": line["turn"]})
            else:
                self.refused.append(line)

    def find(self, type, evidence, start_ps, end_ps, confidence=1.0, ports=(), links=(), hosts=(), **more):
        """A finding; more: flows, steps, collective, job, explained_ns."""
        where = {"ports": list(ports), "links": list(links), "hosts": list(hosts)}
        self._print({"finding": {"type": type, "where": where, "time": {"start_ns": start_ps // 1000, "end_ns": end_ps // 1000},
                               "confidence": confidence, "evidence": evidence, **more}})

    def poll(self, **what):
        """port="6:2" or flow="h1->h2/20000>4791": the reply arrives with later turns' records."""
        self._print({"poll": what})

    def probe(self, source, target):
        self._print({"probe": {"from": source, "to": target}})

    def _print(self, line):
        self.control.sendall(json.dumps(line).encode() + b"\n")

    def _line(self):
        """The next line on the control socket; records are taken meanwhile, so that the run need not wait."""
        while b"\n" not in self._lines:
            ready, _, _ = select.select([self.control, self.records], [], [])
            if self.records in ready and not self._receive():
                ready, _, _ = select.select([self.control], [], [])
            if self.control in ready:
                data = self.control.recv(1 << 16)
                if not data:
                    return None
                self._lines += data
        line, _, self._lines = self._lines.partition(b"\n")
        return json.loads(line)

    def _receive(self):
        data = self.records.recv(1 << 18)
        self._waiting += self.reader.feed(data)
        return len(data)


def main(path, *types):
    names = [name for name, _, _ in _KINDS.values()]
    if set(types) - set(names):
        sys.exit(f"no record type has the name {min(set(types) - set(names))}; there are: {', '.join(names)}")
    try:
        for record in read(sys.stdin.buffer if path == "-" else path):
            if not types or record.type in types:
                print(json.dumps(record.as_dict()))
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError) as error:
        sys.exit(f"{path}: {error}")


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("--"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
