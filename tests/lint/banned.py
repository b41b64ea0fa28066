#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""banned.py ROOT [TABLE_FOLDER]: no file makes a call that banned.txt keeps from it."""
import os
import re
import sys

import source

# A call: not a member (x.time, x->time), and not the definition of one.
CALL = re.compile(r'(?<![\w.>])([A-Za-z_]\w*)\s*\(')


def main():
    root = sys.argv[1]
    folder = sys.argv[2] if len(sys.argv) > 2 else os.path.dirname(os.path.abspath(__file__))
    table = []
    for _, calls, rest in source.rows(os.path.join(folder, 'banned.txt')):
        users, _, instead = rest.partition('|')
        table.append((calls.split(), users.split(), instead.strip()))
    findings, rules = [], {}
    paths = source.files(root, '*.c', '*.h')
    for path in paths:
        for number, line in enumerate(source.blank(source.read(root, path)).split('\n'), 1):
            for name in CALL.findall(line):
                if name not in rules:
                    rules[name] = [row[1:] for row in table if source.matches(name, row[0])]
                findings.extend(f'{path}:{number}: {name}() is banned here: {instead}' for users, instead in rules[name]
                                if not source.matches(path, users))
    source.conclude('banned', findings, len(paths))


main()
