# SPDX-License-Identifier: BSD-3-Clause
"""Reads a pcapng file as the draft describes it, and computes ICRCs as the standard does: no code in common with what
writes them."""
import collections
import struct
import zlib

Frame = collections.namedtuple("Frame", "time_ps port out size bytes")


def options(body):
    found = {}
    while len(body) >= 4:
        code, size = struct.unpack_from("<HH", body)
        if code == 0:
            break
        found[code] = body[4:4 + size]
        body = body[4 + (size + 3) // 4 * 4:]
    return found


class Capture:
    def __init__(self, path):
        self.ports, self.frames, self.statistics = [], [], {}
        data = path.read_bytes()
        at = 0
        while at < len(data):
            kind, size = struct.unpack_from("<II", data, at)
            assert size % 4 == 0 and data[at + size - 4:at + size] == data[at + 4:at + 8], f"block at {at}"
            self.block(kind, data[at + 8:at + size - 4])
            at += size
        assert at == len(data)

    def block(self, kind, body):
        if kind == 0x0a0d0d0a:
            assert body[:8] == struct.pack("<IHH", 0x1a2b3c4d, 1, 0)
            self.section = options(body[16:])
        elif kind == 1:
            found = options(body[8:])
            assert body[:2] == b"\1\0" and found[9] == b"\x0a", "Ethernet, 100 ps"
            self.ports.append(found[2].decode())
        elif kind == 6:
            port, high, low, captured, size = struct.unpack_from("<IIIII", body)
            flags = options(body[20 + (captured + 3) // 4 * 4:])[2]
            assert flags[0] in (1, 2)
            self.frames.append(Frame((high << 32 | low) * 100, self.ports[port], flags[0] == 2, size, body[20:20 + captured]))
        elif kind == 5:
            port = struct.unpack_from("<I", body)[0]
            found = options(body[12:])
            self.statistics[self.ports[port]] = tuple(int.from_bytes(found[code], "little") for code in (4, 5))
        else:
            assert False, f"block type {kind}"

    def of(self, port, out, keep=lambda frame: True):
        return [f for f in self.frames if f.port == port and f.out == out and keep(f.bytes)]


def is_pfc(frame):
    return frame[12:16] == b"\x88\x08\x01\x01"


def is_udp(frame, port):
    return frame[12:14] == b"\x08\x00" and frame[36:38] == port.to_bytes(2, "big")


def is_roce(frame):
    return is_udp(frame, 4791)


def icrc_is_right(frame):
    """IBTA Annex A17.3.3: the LRH that is not there, and what routers may change, count as ones."""
    covered = bytearray(frame[14:-4])
    for i in (1, 8, 10, 11, 26, 27, 32):
        covered[i] = 0xff
    return zlib.crc32(b"\xff" * 8 + covered) == int.from_bytes(frame[-4:], "little")
