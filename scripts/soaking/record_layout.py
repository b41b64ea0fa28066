# SPDX-License-Identifier: BSD-3-Clause
"""The record stream as docs/wire-records.md describes it: every field of every record, with its place and width."""
import dataclasses
import pathlib
import re
import struct

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / 'docs' / 'wire-records.md'
ROW = re.compile(r'^\| ([A-Z_]+) \| (\d+) \| (\d+) \| [^|]*\| (.*) \|$')
FIELD = re.compile(r'(\d+) `(\w+)` (tuple|char|u8|u16|u32|u64)(?:\[(\d+)\])?(?: (count|end))?')
WIDTHS = {'u8': 1, 'u16': 2, 'u32': 4, 'u64': 8}
TUPLE = (('src_ip', 0, 4), ('dst_ip', 4, 4), ('sport', 8, 2), ('dport', 10, 2), ('reserved', 12, 4))
HEADER = (('type', 0, 2), ('size', 2, 2), ('node', 4, 4), ('time_ps', 8, 8), ('seq', 16, 4), ('event', 20, 4))
HEADER_BYTES = 24
STREAM_BYTES = 16
STREAM = (('magic', 0, 8), ('version', 8, 4), ('size', 12, 4))
FIRST_REPORT = 16  # the types before describe what is configured
END = 49
FRAME = 64
MAX_BYTES = 1472  # of a record or frame
MASK = (1 << 64) - 1
ROCE_PORT = 4791
MAX_TUPLES = 64


@dataclasses.dataclass
class Kind:
    name: str
    type: int
    size_bytes: int
    fields: list  # (name, offset, width); the header's are HEADER
    texts: list   # the same of texts
    packed: list  # (name, offset, width, None, 'tuple', 'count' or 'end'): as frames have them


def fields_of(text):
    fields, texts, packed = [], [], []
    for offset, name, form, count, mark in FIELD.findall(text):
        offset, count = int(offset), int(count or 1)
        packed.append((name, offset, WIDTHS.get(form, 16), 'tuple' if form == 'tuple' else mark or None))
        if form == 'char':
            texts.append((name, offset, count))
        elif form == 'tuple':
            fields += [(f'{name}.{part}', offset + at, width) for part, at, width in TUPLE]
        else:
            fields += [(name, offset + i * WIDTHS[form], WIDTHS[form]) for i in range(count)]
    return fields, texts, packed


def kinds():
    """{type: Kind} of all records."""
    found = {}
    for line in PAGE.read_text(encoding='utf-8').split('\n'):
        row = ROW.match(line)
        if row:
            found[int(row[2])] = Kind(row[1], int(row[2]), int(row[3]), *fields_of(row[4]))
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


class Frame:
    """Reads a frame as docs/wire-records.md describes it."""
    KINDS = kinds()

    def __init__(self, piece):
        self.data, self.at = piece, HEADER_BYTES
        _, _, self.node, self.time, self.seq, self.event = struct.unpack_from('<HHIQII', piece)
        self.seq -= 1
        self.latest, self.tuples, self.src_ip = {}, [], 0

    def number(self):
        value, shift = 0, 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    def change(self):
        reported = self.number()
        return reported >> 1 if reported & 1 == 0 else -(reported >> 1) - 1

    def tuple(self):
        index = self.number()
        if index:
            return self.tuples[index - 1]
        self.src_ip ^= self.number()
        reported = struct.pack('<IIHHI', self.src_ip, self.number() ^ self.src_ip, self.number(), self.number() ^ ROCE_PORT,
                           self.number())
        if len(self.tuples) < MAX_TUPLES:
            self.tuples.append(reported)
        return reported

    def record(self):
        kind = self.data[self.at]
        self.at += 1
        self.seq += 1
        if kind & 0x80:
            kind &= 0x7f
            self.time, self.seq, self.event = self.time + self.change(), self.seq + self.change(), self.event + self.change()
        size = self.KINDS[kind].size_bytes
        row = bytearray(struct.pack('<HHIQII', kind, size, self.node, self.time, self.seq, self.event) + bytes(size - HEADER_BYTES))
        self.fields(row, self.latest.get(kind, bytes(size)), self.KINDS[kind].packed)
        self.latest[kind] = bytes(row)
        return bytes(row)

    def fields(self, row, before, fields):
        named, previous = self.number(), None
        for i, (_, at, width, what) in enumerate(fields):
            reported, span = named >> i & 1, slice(at, at + width)
            if what == 'tuple':
                row[span] = self.tuple() if reported else before[span]
                continue
            expected = 0 if what == 'count' else int.from_bytes(before[span], 'little')
            if what == 'end':
                expected += int.from_bytes(row[previous], 'little') - int.from_bytes(before[previous], 'little')
            if reported:
                expected += self.number() if what == 'count' else self.change()
            row[span] = (expected & MASK).to_bytes(8, 'little')[:width]
            previous = span

    def records(self):
        out = []
        while self.at < len(self.data):
            out.append(self.record())
        return out


def unpacked(piece):
    """The records of a piece of a stream: itself, or those of a frame."""
    return Frame(piece).records() if type_of(piece) == FRAME else [piece]


def records(data):
    """The records of a stream, without its header, those of frames in their places. A last one that is cut is left out."""
    return [record for piece in pieces(data) for record in unpacked(piece)]


def type_of(record):
    return struct.unpack_from('<H', record)[0]
