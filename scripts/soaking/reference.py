# SPDX-License-Identifier: BSD-3-Clause
"""Every key of a scenario with its limits, and every kind of fault, as `rocelab reference --json` prints them; and values at and
beyond the limits."""
import dataclasses
import functools
import json
import re
import subprocess

QUANTITY = re.compile(r'^([0-9.e+-]+)([A-Za-z]*)$')
QUANTITIES = ('time', 'rate', 'bytes')
INSIDE, BEYOND, ANY = 'inside', 'beyond', 'any'
LONG = 'x' * 20_000


@dataclasses.dataclass(frozen=True)
class Key:
    path: str      # group, "" for the scenario itself
    kind: str      # where a group has kinds
    name: str
    type: str
    low: str | None    # as a scenario has it; None: no limit
    high: str | None
    words: tuple       # of a word


@dataclasses.dataclass(frozen=True)
class Trial:
    key: Key
    value: str     # as it stands in a scenario
    expect: str    # INSIDE: taken, unless other keys speak against it; BEYOND: refused; ANY: no matter


@functools.lru_cache
def printed(rocelab):
    return json.loads(subprocess.run([rocelab, 'reference', '--json'], capture_output=True, text=True, check=True, timeout=60).stdout)


def keys(rocelab):
    """All keys that a program knows."""
    return [Key(table['path'], table['kind'] or '', key['name'], key['type'], key['min'], key['max'],
                tuple(word['word'] for word in key.get('words', ())))
            for table in printed(rocelab)['tables'] for key in table['keys']]


def fault_examples(rocelab):
    """{kind: its keys as a scenario has them, without kind}"""
    return {fault['kind']: dict(re.findall(r'(\w+) = ([^;]+);', fault['example'].partition('; ')[2]))
            for fault in printed(rocelab)['faults']}


def scaled(text, factor):
    """"10Tbps" times a factor."""
    number, unit = QUANTITY.match(text).groups()
    return f'{float(number) * factor:.12g}{unit}'


def below(text):
    return scaled(text, 0.4) if float(QUANTITY.match(text)[1]) > 0 else f'-1{QUANTITY.match(text)[2]}'


def quoted(text):
    return f'"{text}"'


def of_quantity(key):
    low, high = key.low, key.high
    units = {'time': 's', 'rate': 'bps', 'bytes': 'B'}[key.type]
    wrong = ('', f'4 parsec{units}', f'x{units}', f'-5{units}', f'nan{units}', f'inf{units}', f'1e400{units}', f'{"9" * 40}{units}')
    yield from ((quoted(text), BEYOND) for text in wrong)
    yield '[ 1, 2 ]', BEYOND
    yield '{ a = 1; }', BEYOND
    yield 'true', BEYOND
    yield quoted({'time': '9000000s', 'rate': '1Tbps', 'bytes': '1TB'}[key.type]), ANY
    if low:
        yield quoted(low), INSIDE
        yield quoted(below(low)), BEYOND
    if high:
        yield quoted(high), INSIDE
        yield quoted(scaled(high, 2)), BEYOND


def of_number(key):
    low, high = key.low, key.high
    whole = key.type == 'integer'
    yield from ((text, BEYOND) for text in ('"many"', '[ ]', '( )', 'true' if whole else '"1.0"'))
    if whole:
        yield from ((text, ANY) for text in ('2147483647', '-2147483648', '9223372036854775807L', '-9223372036854775808L'))
        yield '99999999999999999999999L', BEYOND
        yield '1.5', BEYOND
    if low and not whole:
        yield from (((f'{float(low):.9f}', INSIDE), (f'{float(low) - 1:.9f}', BEYOND), ('1e308', BEYOND), ('1e999', BEYOND)))
        yield f'{float(high):.9f}', INSIDE
    if low and whole:
        first, last = int(float(low)), int(float(high))
        yield from ((f'{first}', INSIDE), (f'{first - 1}', BEYOND), (f'{last}L', INSIDE))
        yield f'{last + 1}L', BEYOND if last < 1e17 else ANY  # the page rounds


def of_word(key):
    yield from ((quoted(word), INSIDE) for word in key.words)
    yield from ((text, BEYOND) for text in ('"nonsense"', '""', '7', '[ "x" ]', quoted(LONG)))


def of_text(key):
    odd = ('""', quoted(LONG), '"\\x1b[2J"', '"ünï\u202e"', '"../../etc"', '"a/b"', '"a b"', '"%s%n"')
    yield from ((text, ANY) for text in (*odd, '7'))  # nodes may be called by numbers
    yield from ((text, BEYOND) for text in ('true', '{ }'))


def of_texts(key):
    odd = ('[ ]', '[ "" ]', f'[ "{LONG}" ]', '[ "h0", "h0" ]', '( "h0" )', '[ "ünï" ]')
    yield from ((text, ANY) for text in (*odd, '[ 1 ]'))
    yield from ((text, BEYOND) for text in ('{ }', '7'))


def of_bool(key):
    yield from (('true', INSIDE), ('false', INSIDE), ('"yes"', BEYOND), ('7', BEYOND), ('[ ]', BEYOND))


TYPES = {'time': of_quantity, 'rate': of_quantity, 'bytes': of_quantity, 'integer': of_number, 'number': of_number,
         'word': of_word, 'string': of_text, 'path': of_text, 'strings': of_texts, 'bool': of_bool}


def trials(rocelab):
    """Every value worth a trial, of every key."""
    return [Trial(key, value, expect) for key in keys(rocelab) for value, expect in TYPES[key.type](key)]
