# SPDX-License-Identifier: BSD-3-Clause
"""Reads a recorded stream as rows of numbers, decoded by scripts/records/rocelab_records.py, which shares no code with the
programs. STEP, TRIGGER, ... are the numbers of kinds."""
import pathlib
import struct
import sys
from collections import namedtuple

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
from soaking import record_layout  # pylint: disable=wrong-import-position
from soaking.record_layout import rocelab_records  # pylint: disable=wrong-import-position

MAGIC, VERSION = rocelab_records.MAGIC, rocelab_records.VERSION
KINDS = record_layout.kinds()
globals().update({kind.name: number for number, kind in KINDS.items()})
FORMS = {1: "B", 2: "H", 4: "I", 8: "Q"}

Record = namedtuple("Record", "type node time_ps seq event body")


def read(path):
    return read_bytes(path.read_bytes())


def read_bytes(data):
    magic, version, size = struct.unpack_from("<8sII", data)
    assert (magic, version, size) == (MAGIC, VERSION, 16), (magic, version, size)
    found, used = [], size
    for piece in record_layout.pieces(data):
        used += len(piece)
        for record in record_layout.unpacked(piece):
            kind, _, node, time_ps, seq, event = struct.unpack_from("<HHIQII", record)
            found.append(Record(kind, node, time_ps, seq, event, record[24:]))
    assert used == len(data), (used, len(data))
    return found


def standing_alone(data):
    """The same stream without frames: every record by itself."""
    return data[:record_layout.STREAM_BYTES] + b"".join(record_layout.records(data))


def frames(data):
    """(byte offset, size) of every frame."""
    found, at = [], record_layout.STREAM_BYTES
    for piece in record_layout.pieces(data):
        if record_layout.type_of(piece) == record_layout.FRAME:
            found.append((at, len(piece)))
        at += len(piece)
    return found


Sent = namedtuple("Sent", "time_ps bytes")


def sent(path):
    """When how many bytes left for the outputs during the run: frames and gaps, by their own times."""
    found = []
    for piece in record_layout.pieces(path.read_bytes()):
        kind, size, _, time_ps = struct.unpack_from("<HHIQ", piece)
        if kind in (record_layout.FRAME, GAP):
            found.append(Sent(time_ps, size))
    return found


def telemetry_bytes(path):
    """Of the frames of switches and NICs."""
    frames = [p for p in record_layout.pieces(path.read_bytes()) if record_layout.type_of(p) == record_layout.FRAME]
    return sum(len(p) for p in frames if POLL <= p[24] & 0x7f < GAP)


def reader(number):
    """Of a kind's records: a function that makes a named tuple of the numbers in one."""
    fields = [(name.replace(".", "_"), at - record_layout.HEADER_BYTES, width) for name, at, width in KINDS[number].fields]
    row = namedtuple(KINDS[number].name.title().replace("_", ""), [name for name, _, _ in fields])
    return lambda record: row(*(struct.unpack_from("<" + FORMS[width], record.body, at)[0] for _, at, width in fields))


def of(records, number):
    """(record, its numbers) of every one of a kind."""
    read_one = reader(number)
    return [(r, read_one(r)) for r in records if r.type == number]


def gaps(records):
    return [gap for _, gap in of(records, GAP)]


def end(records):
    assert records[-1].type == END and sum(r.type == END for r in records) == 1
    return of(records, END)[0][1]


def port_rows(records):
    """(record, row) of every port row."""
    return of(records, PORT_ROW)


def node_names(records):
    return {r.node: r.body[:32].split(b"\0")[0].decode() for r in records if r.type == NODE}
