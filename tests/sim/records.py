# SPDX-License-Identifier: BSD-3-Clause
"""Reads a recorded stream as docs/wire-formats.md describes it, with no code in common with the programs."""
import struct
from collections import namedtuple

MAGIC, VERSION = b"ROCELAB1", 1
NODE = 2
STEP, TRIGGER, POLL, PORT_ROW, FLOW_ROW = 16, 17, 32, 33, 34
GAP, END = 48, 49

Record = namedtuple("Record", "type node time_ps seq event body")
Gap = namedtuple("Gap", "kind dropped dropped_bytes from_ps to_ps")
End = namedtuple("End", "reason at_node end_ps offered_bytes sent_bytes offered_records sent_records deferred_records "
                        "dropped_records")
PortRow = namedtuple("PortRow", "port host paused depth_max epoch_first epoch_last from_ps to_ps packets bytes depth_sum "
                                "paused_packets pause_ps paused_since_ps queue_packets queue_bytes ingress_bytes "
                                "ingress_xoff_bytes pausing_since_ps pausing pauses_received pauses_sent")


def read(path):
    return read_bytes(path.read_bytes())


def read_bytes(data):
    magic, version, size = struct.unpack_from("<8sII", data)
    assert (magic, version, size) == (MAGIC, VERSION, 16), (magic, version, size)
    found, at = [], size
    while at < len(data):
        kind, length, node, time_ps, seq, event = struct.unpack_from("<HHIQII", data, at)
        assert length >= 24 and at + length <= len(data), (at, length)
        found.append(Record(kind, node, time_ps, seq, event, data[at + 24:at + length]))
        at += length
    return found


def gaps(records):
    return [Gap(*struct.unpack_from("<IIQQQ", r.body)) for r in records if r.type == GAP]


def end(records):
    assert records[-1].type == END and sum(r.type == END for r in records) == 1
    return End(*struct.unpack_from("<IIQQQQQQQ", records[-1].body))


def port_rows(records):
    """(record, row) of every port row."""
    layout = struct.Struct("<HBBIIIQQQQQQQQQQQQQIII")
    return [(r, PortRow(*layout.unpack_from(r.body))) for r in records if r.type == PORT_ROW]


def node_names(records):
    return {r.node: r.body[:32].split(b"\0")[0].decode() for r in records if r.type == NODE}
