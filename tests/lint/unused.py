#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""unused.py ROOT [TABLE_FOLDER]: every external function is there for the program, not for tests alone (unused.txt has those
that may be), and whatever a header declares is defined."""
import os
import re
import sys

import source

WORD = re.compile(r'[A-Za-z_]\w*')
# The layout of .clang-format: the name of a function that is defined begins its line.
DEFINITION = re.compile(r'^([A-Za-z_]\w*)\(', re.MULTILINE)
PROTOTYPE = re.compile(r'^(?!static\b|typedef\b|#|extern\b)[A-Za-z_][\w \t*]*?\b\*?([a-z_]\w*)\([^;{}]*\)[^;{}()]*(?:\(\([^;{}]*\)\))?;',
                       re.MULTILINE)


def is_static(text, at):
    """The line above a definition is its return type."""
    return 'static' in text[text.rfind('\n', 0, at - 1) + 1:at].split()


def main():
    root = sys.argv[1]
    folder = sys.argv[2] if len(sys.argv) > 2 else os.path.dirname(os.path.abspath(__file__))
    allowed = {name for _, names, _ in source.rows(os.path.join(folder, 'unused.txt')) for name in names.split()}
    defined, used, declared = {}, set(), {}
    paths = source.files(root, '*.c', '*.h')
    for path in paths:
        text = source.blank(source.read(root, path))
        spans = set()
        for match in DEFINITION.finditer(text):
            spans.add(match.start(1))
            if not is_static(text, match.start()) and match.group(1) not in ("main", "_Static_assert"):
                defined.setdefault(match.group(1), []).append((path, text.count('\n', 0, match.start()) + 1))
        if path.startswith('tests/'):
            continue
        if path.endswith('.h'):
            for match in PROTOTYPE.finditer(text):
                spans.add(match.start(1))
                declared.setdefault(match.group(1), (path, text.count('\n', 0, match.start(1)) + 1))
        used.update(match.group() for match in WORD.finditer(text) if match.start() not in spans)
    findings = [f'{path}:{line}: {name}() is called by tests alone, or by nobody'
                for name, places in sorted(defined.items()) if name not in used and name not in allowed
                for path, line in places if not path.startswith('tests/')]
    findings += [f'{path}:{line}: {name}() is declared, and defined nowhere'
                 for name, (path, line) in sorted(declared.items()) if name not in defined]
    findings += [f'unused.txt: {name}() is used, or gone: its row has no use' for name in sorted(allowed)
                 if name in used or name not in defined]
    source.conclude('unused', findings, len(paths))


main()
