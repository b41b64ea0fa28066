#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""size.py ROOT: outside of tests no function has more than 60 lines between its braces, and no file more than 400."""
import sys

import source

MOST_FUNCTION, MOST_FILE = 60, 400


def main():
    root = sys.argv[1]
    findings = []
    paths = [path for path in source.files(root, '*.c', '*.h') if not path.startswith('tests/')]
    for path in paths:
        lines = source.read(root, path).rstrip('\n').split('\n')
        if len(lines) > MOST_FILE:
            findings.append(f'{path}:{MOST_FILE + 1}: {len(lines)} lines; at most {MOST_FILE}')
        opened = None
        for number, line in enumerate(lines, 1):
            # The layout of .clang-format: a function's braces stand alone at the beginning of a line.
            if line == '{':
                opened = number
            elif line == '}' and opened is not None:
                if number - opened - 1 > MOST_FUNCTION:
                    name = lines[opened - 2].split('(')[0]
                    findings.append(f'{path}:{opened}: {name}() has {number - opened - 1} lines; at most {MOST_FUNCTION}')
                opened = None
    source.conclude('size', findings, len(paths))


main()
