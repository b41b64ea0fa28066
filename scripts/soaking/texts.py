# SPDX-License-Identifier: BSD-3-Clause
"""Kind "text": the text of a scenario with something changed, which is refused with its place, or taken."""
import re

import checks
import scenarios
from case import Refused
from programs import limit_files

TOKEN = re.compile(r'"[^"]*"|[\w.+-]+|\s+|.', re.DOTALL)
VALUES = ('0', '-1', '1', '7', '2147483648', '-9223372036854775808L', '9223372036854775807L', '99999999999999999999',
          '1e308', '-0.0', '0x7fffffff', '1.5', 'true', '""', '"x"', '"1us"', '"100Gbps"', '"1B"', '"1e30s"', '"ünï\u202e"',
          '"\\x1b[2J"', '"' + 'y' * 5000 + '"', '[ ]', '( )', '{ }', '[ 1, "a" ]', '( ( ( ) ) )', '{ a = { b = ( 1 ); }; }',
          '"h0"', '"l0:1"', '@include "nowhere"')
JUNK = ('\0', '\xff', '\x1b', '}', '{', ')', ';', '"', '\\', '@include "case.cfg"\n', '@include "."\n', '/* ', '//', '# ',
        '\r\n', '\ufeff')
NAMES = ('', 'name', 'seed', 'switch', 'faults', 'ünï', 'x' * 3000, 'a.b', '__proto__')
SOON = ('--set', 'limits.virtual_time=20us')
FILES_BYTES = 64 << 20
DEEP = (10, 1000, 100_000)


class Text:
    """One under change, as its tokens."""

    def __init__(self, rng, text):
        self.rng = rng
        self.tokens = TOKEN.findall(text)

    def _some(self, wanted):
        return self.rng.choice([i for i, token in enumerate(self.tokens) if wanted(token)] or [0])

    def _value(self):
        return self._some(lambda token: re.match(r'["\d-]', token))

    def value(self):
        self.tokens[self._value()] = self.rng.choice(VALUES)

    def swap(self):
        a, b = self._value(), self._value()
        self.tokens[a], self.tokens[b] = self.tokens[b], self.tokens[a]

    def name(self):
        at = self._some(lambda token: re.match(r'[a-z]', token))
        old = self.tokens[at]
        self.tokens[at] = self.rng.choice((*NAMES, old[:-1], old + 's', old.upper()))

    def drop(self):
        del self.tokens[self._some(lambda token: not token.isspace())]

    def double(self):
        at = self.rng.randrange(len(self.tokens))
        length = self.rng.choice((1, 1, 4, 8, 40))
        self.tokens[at:at] = self.tokens[at:at + length]

    def cut_out(self):
        at = self.rng.randrange(len(self.tokens))
        del self.tokens[at:at + self.rng.choice((2, 4, 8, 40))]

    def cut(self):
        del self.tokens[self.rng.randrange(len(self.tokens)):]

    def junk(self):
        self.tokens.insert(self.rng.randrange(len(self.tokens) + 1), self.rng.choice(JUNK))

    def deep(self):
        depth, pair = self.rng.choice(DEEP), self.rng.choice(('()', '{}', '[]'))
        inside = pair[0] * depth + pair[1] * self.rng.choice((0, depth)) if pair != '{}' else 'a={' * depth + '};' * depth
        self.tokens += [f'\nzz = {"{" if pair == "{}" else ""}{inside}{"}" if pair == "{}" else ""};\n']

    def many(self):
        """A key, or an element, very often."""
        again = self.rng.choice(('seed = 1;\n', f'flows = ( {"{ }," * 5000} {{ }} );\n', f'ranks = [ {"1, " * 5000} 1 ];\n'))
        self.tokens += [again * self.rng.choice((1, 2, 500))]


CHANGES = ('value',) * 8 + ('swap', 'swap', 'name', 'name', 'drop', 'drop', 'double', 'cut_out', 'cut', 'junk', 'deep', 'many')


def run(case):
    scenario = scenarios.any_scenario(case.rng)
    text = Text(case.rng, scenario.text)
    for _ in range(case.rng.choice((1, 1, 2, 3))):
        change = case.rng.choice(CHANGES)
        case.note(f'# {change}')
        if text.tokens:
            getattr(text, change)()
    scenario.text = ''.join(text.tokens)
    path, out = scenario.write(case), case.folder / 'run'
    ended = case.programs.run(case, case.programs.rocelab, 'topo', 'check', path)
    if ended.code == 0 and 'clock' not in scenario.text:
        ended = case.programs.run(case, case.programs.rocelab, 'run', path, '--out', out, *SOON, preexec=limit_files(FILES_BYTES))
    if ended.code == 2:
        if 'nowhere: No such file' not in ended.stderr:  # libconfig does not say who includes it
            checks.refusal(out, ended, path)
        case.check(not checks.CONTROL.search(ended.stderr), 'control characters in the message', ended.output)
        raise Refused(ended.stderr.strip())
    if out.exists():
        checks.whole_run(out, checks.Names(None))
