# SPDX-License-Identifier: BSD-3-Clause
"""Kind "recording": a small recording with something changed, which a diagnosis must refuse or survive."""
import checks
import record_layout
import scenarios
from case import Failure, Refused
from record_layout import HEADER, HEADER_BYTES, STREAM, STREAM_BYTES, pieces, records, type_of

KINDS = record_layout.kinds()
BASES = 24          # recordings that are changed
BASE_BYTES = 200_000
WITHIN_S = 60
MEMORY_BYTES = 1 << 30
WORDS = (b'\x1b[2J\x1b]0;x\x07', b'\xff\xfe\xfd', b'<script>alert(1)</script>', b'a' * 32, b'', b'"\\\n', b'%s%n',
         '\u202e'.encode())
MANY = 3000


def base(case, number):
    """The recording of a random run that is not too large; always the same for a number."""
    for attempt in range(50):
        inner = type(case)('base', number * 1000 + attempt, case.folder, case.programs)
        scenario = scenarios.any_scenario(inner.rng)
        path = scenario.write(case, f'base{attempt}.cfg')
        ended = case.programs.run(case, case.programs.dpswitch, path, '--out', case.folder, '--quiet')
        recording = case.folder / 'records.bin'
        if ended.code != 0 or not recording.exists():
            continue
        data = recording.read_bytes()
        if len(data) <= BASE_BYTES and any(type_of(r) == 16 for r in records(data)):
            return data
    raise Failure(f'no scenario gives base {number}')


def value(rng, old, width, others):
    """Another value of a field: near, at the limits, of another record, any."""
    top = (1 << 8 * width) - 1
    choices = (0, 1, 2, top, top - 1, top >> 1, (top >> 1) + 1, old + 1, old - 1, old * 2, old // 2,
               old ^ 1 << rng.randrange(8 * width), rng.randrange(top + 1), rng.randrange(256), *others[:1])
    return rng.choice(choices) & top


def number(data, offset, width):
    return int.from_bytes(data[offset:offset + width], 'little')


def put(data, offset, width, new):
    return data[:offset] + new.to_bytes(width, 'little') + data[offset + width:]


class Recording:
    """One under change."""

    def __init__(self, rng, data):
        self.rng = rng
        self.head = data[:STREAM_BYTES]
        self.records = records(data)
        self.output = []

    def bytes(self):
        return self.head + b''.join(self.records)

    def _pick(self):
        """A record, all types as likely as one another."""
        kind = self.rng.choice(sorted({type_of(r) for r in self.records}))
        return self.rng.choice([i for i, r in enumerate(self.records) if type_of(r) == kind])

    def field(self):
        at = self._pick()
        record, kind = self.records[at], KINDS.get(type_of(self.records[at]))
        own = kind.fields if kind else []
        name, offset, width = self.rng.choice(own if own and self.rng.random() < 0.8 else HEADER)
        others = [number(r, offset, width) for r in self.rng.sample(self.records, min(8, len(self.records)))
                  if type_of(r) == type_of(record) and len(r) >= offset + width]
        old = number(record, offset, width)
        new = value(self.rng, old, width, others)
        self.records[at] = put(record, offset, width, new)
        self.output.append(f'record {at} ({kind.name if kind else "?"}) {name}: {old} -> {new}')

    def text(self):
        named = [i for i, r in enumerate(self.records) if type_of(r) in KINDS and KINDS[type_of(r)].texts]
        if not named:
            return
        at = self.rng.choice(named)
        name, offset, length = self.rng.choice(KINDS[type_of(self.records[at])].texts)
        new = self.rng.choice(WORDS)[:length].ljust(self.rng.choice((0, length)), b'\0')
        record = self.records[at]
        self.records[at] = record[:offset] + new + record[offset + len(new):]
        self.output.append(f'record {at} {name}: {new!r}')

    def everywhere(self):
        """The same field of all records of a type."""
        kind = KINDS.get(type_of(self.records[self._pick()]))
        if kind is None:  # of an earlier change
            return
        name, offset, width = self.rng.choice(kind.fields)
        new = value(self.rng, 0, width, [])
        self.records = [put(r, offset, width, new) if type_of(r) == kind.type else r for r in self.records]
        self.output.append(f'all {kind.name} {name}: {new}')

    def repeat(self):
        at, count = self._pick(), self.rng.choice((1, 1, 2, MANY))
        self.records[at:at] = [self.records[at]] * count
        self.output.append(f'record {at} {count} times more')

    def remove(self):
        at = self._pick()
        self.output.append(f'record {at} removed')
        del self.records[at]

    def remove_type(self):
        kind = type_of(self.records[self._pick()])
        self.records = [r for r in self.records if type_of(r) != kind]
        self.output.append(f'all of type {kind} removed')

    def move(self):
        at, to = self._pick(), self.rng.randrange(len(self.records))
        self.records.insert(to, self.records.pop(at))
        self.output.append(f'record {at} moved to {to}')

    def shuffle(self):
        self.rng.shuffle(self.records)
        self.output.append('shuffled')

    def stream_header(self):
        name, offset, width = self.rng.choice(STREAM)
        new = value(self.rng, number(self.head, offset, width), width, [])
        self.head = put(self.head, offset, width, new)
        self.output.append(f'stream header {name}: {new}')


def cut(rng, data):
    """Cut where a disk was full or a program was killed: between records and frames, within one, within the header."""
    whole, at = [STREAM_BYTES], STREAM_BYTES
    for piece in pieces(data):
        at += len(piece)
        whole.append(at)
    place = rng.choice((rng.choice(whole), rng.choice(whole) + rng.randrange(1, HEADER_BYTES), rng.randrange(len(data) + 1),
                        rng.randrange(STREAM_BYTES + 1), 0))
    return data[:place], f'cut at {place} of {len(data)}'


def noise(rng, data):
    """Bytes changed, put in, put behind."""
    at, size = rng.randrange(len(data) + 1), rng.choice((1, 4, 24, 1000))
    how = rng.choice(('change', 'insert', 'append', 'remove', 'only'))
    junk = rng.randbytes(size)
    changed = {'change': data[:at] + junk + data[at + size:], 'insert': data[:at] + junk + data[at:], 'append': data + junk,
               'remove': data[:at] + data[at + size:], 'only': junk}[how]
    return changed, f'{how} {size} B at {at}'


def splice(rng, data, other):
    """The first part of one, the last of another."""
    first, last = records(data), records(other)
    at, begin = rng.randrange(len(first) + 1), rng.randrange(len(last) + 1)
    return data[:STREAM_BYTES] + b''.join(first[:at] + last[begin:]), f'{at} records, then another from record {begin}'


CHANGES = ('field',) * 12 + ('text', 'everywhere', 'everywhere', 'repeat', 'remove', 'remove_type', 'move', 'shuffle',
                             'stream_header')


def changed(rng, data, other):
    """@return (recording, its change)"""
    how = rng.random()
    if how < 0.12:
        return cut(rng, data)
    if how < 0.2:
        return noise(rng, data)
    if how < 0.24:
        return splice(rng, data, other)
    recording = Recording(rng, data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if recording.records:
            getattr(recording, rng.choice(CHANGES))()
    return recording.bytes(), '; '.join(recording.output)


def bases(case):
    """Two recordings; kept by the worker, as they are the same each time."""
    numbers = case.rng.sample(range(BASES), 2)
    return [kept_base(case, n) for n in numbers]


def kept_base(case, n):
    if n not in kept_base.kept:
        kept_base.kept[n] = base(case, n)
    return kept_base.kept[n]


kept_base.kept = {}


def run(case):
    data, other = bases(case)
    data, what = changed(case.rng, data, other)
    case.note(f'# {what}')
    path, out = case.write('records.bin', data), case.folder / 'out'
    ended = case.programs.run(case, case.programs.analyzer, '--read', path, '--out', out, '--print', within_s=WITHIN_S)
    case.check(ended.peak_bytes <= MEMORY_BYTES, f'{ended.peak_bytes} B of memory for {len(data)} B', ended.output)
    if ended.code != 0:
        case.check(ended.stderr.startswith('analyzer: ') and ended.stderr.count('\n') == 1, 'no clear message', ended.output)
        case.check(not checks.CONTROL.search(ended.stderr), 'control characters in the message', ended.output)
        case.check(ended.code == 2, 'a bad recording is bad input', ended.output)
        case.check(not out.exists() or not list(out.iterdir()), 'a refused recording leaves something')
        raise Refused(ended.stderr.strip())
    checks.whole_files(out)
    reported = checks.verdict(out, checks.Names(None))
    if record_layout.END not in {type_of(r) for r in records(data)}:
        case.check(reported['evidence']['truncated'], 'without its end, and not reported as truncated', what)
