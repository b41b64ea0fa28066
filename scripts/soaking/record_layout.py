# SPDX-License-Identifier: BSD-3-Clause
"""The record stream as docs/wire-formats.md describes it: every field of every record, with its place and width."""
import dataclasses
import pathlib
import re
import struct

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / 'docs' / 'wire-formats.md'
ROW = re.compile(r'^\| ([A-Z_]+) \| (\d+) \| (\d+) \| [^|]*\| (.*) \|$')
FIELD = re.compile(r'(\d+) `(\w+)` (tuple|char|u8|u16|u32|u64)(?:\[(\d+)\])?')
WIDTHS = {'u8': 1, 'u16': 2, 'u32': 4, 'u64': 8}
TUPLE = (('src_ip', 0, 4), ('dst_ip', 4, 4), ('sport', 8, 2), ('dport', 10, 2), ('reserved', 12, 4))
HEADER = (('type', 0, 2), ('size', 2, 2), ('node', 4, 4), ('time_ps', 8, 8), ('seq', 16, 4), ('event', 20, 4))
HEADER_BYTES = 24
STREAM_BYTES = 16
STREAM = (('magic', 0, 8), ('version', 8, 4), ('size', 12, 4))
FIRST_REPORT = 16  # the types before describe what is configured
END = 49


@dataclasses.dataclass
class Kind:
    name: str
    type: int
    size_bytes: int
    fields: list  # (name, offset, width); the header's are HEADER
    texts: list   # the same of texts


def fields_of(text):
    fields, texts = [], []
    for offset, name, form, count in FIELD.findall(text):
        offset, count = int(offset), int(count or 1)
        if form == 'char':
            texts.append((name, offset, count))
        elif form == 'tuple':
            fields += [(f'{name}.{part}', offset + at, width) for part, at, width in TUPLE]
        else:
            fields += [(name, offset + i * WIDTHS[form], WIDTHS[form]) for i in range(count)]
    return fields, texts


def kinds():
    """{type: Kind} of all records."""
    found = {}
    for line in PAGE.read_text(encoding='utf-8').split('\n'):
        row = ROW.match(line)
        if row:
            found[int(row[2])] = Kind(row[1], int(row[2]), int(row[3]), *fields_of(row[4]))
    return found


def records(data):
    """The records of a stream, without its header. A last one that is cut is left out."""
    out, at = [], STREAM_BYTES
    while at + HEADER_BYTES <= len(data):
        size = struct.unpack_from('<H', data, at + 2)[0]
        if size < HEADER_BYTES or at + size > len(data):
            break
        out.append(data[at:at + size])
        at += size
    return out


def type_of(record):
    return struct.unpack_from('<H', record)[0]
