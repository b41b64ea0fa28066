# SPDX-License-Identifier: BSD-3-Clause
"""A record stream piece by piece, as bytes to change: what its pieces are, and where the fields of a record lie. Frames are
decoded by scripts/records/rocelab_records.py."""
import dataclasses
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'records'))
import rocelab_records  # pylint: disable=wrong-import-position

TUPLE = (('src_ip', 0, 4), ('dst_ip', 4, 4), ('sport', 8, 2), ('dport', 10, 2), ('reserved', 12, 4))
HEADER = (('type', 0, 2), ('size', 2, 2), ('node', 4, 4), ('time_ps', 8, 8), ('seq', 16, 4), ('event', 20, 4))
HEADER_BYTES = 24
STREAM_BYTES = 16
STREAM = (('magic', 0, 8), ('version', 8, 4), ('size', 12, 4))
FIRST_REPORT = 16  # the types before describe what is configured
END = 49
FRAME = 64
MAX_BYTES = 1472  # of a record or frame


@dataclasses.dataclass
class Kind:
    name: str
    type: int
    size_bytes: int
    fields: list  # (name, offset, width) of numbers; the header's are HEADER
    texts: list   # the same of texts


def kinds():
    """{type: Kind} of all records."""
    found = {}
    for number, (name, size, text) in rocelab_records.KINDS.items():
        kind = found[number] = Kind(name, number, size, [], [])
        for field in rocelab_records.fields_of(text):
            if field.what == 'text':
                kind.texts.append((field.name, field.at, field.width))
            elif field.what == 'tuple':
                kind.fields += [(f'{field.name}.{part}', field.at + at, width) for part, at, width in TUPLE]
            else:
                kind.fields.append((field.name, field.at, field.width))
    return found


def pieces(data):
    """What a stream is made of, without its header: records, and frames of some. A last one that is cut is left out."""
    out, at = [], STREAM_BYTES
    while at + HEADER_BYTES <= len(data):
        size = struct.unpack_from('<H', data, at + 2)[0]
        if size < HEADER_BYTES or at + size > len(data):
            break
        out.append(data[at:at + size])
        at += size
    return out


def unpacked(piece):
    """The records of a piece of a stream, as bytes: itself, or those of a frame."""
    return [record.data for record in rocelab_records.unpack(piece)] if type_of(piece) == FRAME else [piece]


def records(data):
    """The records of a stream, without its header, those of frames in their places. A last one that is cut is left out."""
    return [record for piece in pieces(data) for record in unpacked(piece)]


def type_of(record):
    return struct.unpack_from('<H', record)[0]
