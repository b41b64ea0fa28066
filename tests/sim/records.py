# SPDX-License-Identifier: BSD-3-Clause
"""Reads a recorded stream as docs/wire-formats.md describes it, with no code in common with the programs. STEP, TRIGGER, ...
are the numbers of kinds."""
import pathlib
import struct
import sys
from collections import namedtuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "scripts"))
from soaking import record_layout  # pylint: disable=wrong-import-position

MAGIC, VERSION = b"ROCELAB1", 2
KINDS = record_layout.kinds()
globals().update({kind.name: number for number, kind in KINDS.items()})
FORMS = {1: "B", 2: "H", 4: "I", 8: "Q"}

Record = namedtuple("Record", "type node time_ps seq event body")


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
