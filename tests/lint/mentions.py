#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mentions.py ROOT: a C, Python or JavaScript file that a page or a comment names is there: by its path from the root or
its end, as `cause/incast.c`. tests/lint/mentions.txt lists the names of files that are not of this tree."""
import fnmatch
import os
import re
import sys

import source

NAMED = re.compile(r'(?<![\w/.<@$*-])((?:[\w-]+/)*[\w-]+\.(?:c|h|py|js))(?![\w/(])')
PLACEHOLDER = re.compile(r'[A-Z]+(_\w+)?\.\w+$')
COMMENTED = re.compile(r'#[^\n]*')


def comments(path, text):
    """(line number, text) of what people read: a page as a whole, of sources the comments."""
    if path.endswith('.md'):
        yield from enumerate(text.split('\n'), 1)
    elif path.endswith(('.c', '.h', '.js')):
        for match in source.TOKEN.finditer(text):
            if match[0][0] == '/':
                first = text.count('\n', 0, match.start()) + 1
                yield from enumerate(match[0].split('\n'), first)
    else:
        for number, line in enumerate(text.split('\n'), 1):
            match = COMMENTED.search(line)
            if match:
                yield number, match[0]


def main(root):
    table = os.path.join(root, 'tests/lint/mentions.txt')
    others = [name for _, name, _ in source.rows(table)] if os.path.exists(table) else []
    paths = source.files(root, '*')
    ends = {'/'.join(path.split('/')[at:]) for path in paths for at in range(path.count('/') + 1)}
    findings, used, looked_at = [], set(), 0
    for path in paths:
        if not path.endswith(('.md', '.c', '.h', '.js', 'meson.build')):
            continue
        looked_at += 1
        for number, text in comments(path, source.read(root, path)):
            for name in NAMED.findall(text):
                if name in ends or PLACEHOLDER.match(os.path.basename(name)):
                    continue
                rules = [rule for rule in others if fnmatch.fnmatchcase(name, rule)]
                used.update(rules)
                findings += [] if rules else [f'{path}:{number}: there is no {name}']
    findings += [f'tests/lint/mentions.txt: nothing needs {name}' for name in others if name not in used]
    source.conclude('mentions', findings, looked_at)


main(sys.argv[1])
