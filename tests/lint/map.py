#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""map.py ROOT: docs/architecture.md is a map of this tree: every file and folder that it names in `...` is there, and every
row "| `FILE` | `function()` | ..." of a journey names a function, or a row of a table, that stands in that file. A journey's
section states how many files the path has, and how often it returns to one that it had left; where it states that, it is right."""
import os
import re
import sys

import source

PAGE = 'docs/architecture.md'
ROW = re.compile(r'^\| `([\w./-]+\.[ch])` \| `(\w+)(?:\(\))?` \|')
NAMED = re.compile(r'`([\w-]+/[\w./-]*)`')
STATED = re.compile(r'The path has \d+ files and (?:no return|returns once|returns \d+ times)')


def statement(files):
    """@return the sentence that STATED finds, as it is right for the files of a journey in their order"""
    returns = sum(file != files[at - 1] and file in files[:at] for at, file in enumerate(files) if at)
    return f'The path has {len(set(files))} files and ' + ('no return', 'returns once', f'returns {returns} times')[min(returns, 2)]


def main():
    root = sys.argv[1]
    path = os.path.join(root, PAGE)
    lines = source.read(root, PAGE).split('\n') if os.path.exists(path) else []
    findings, journeys, sections, heading = [], {}, {}, ''
    for number, line in enumerate(lines, 1):
        if line.startswith('#'):
            heading = line.lstrip('# ')
        sections[heading] = f'{sections.get(heading, "")} {line}'
        for name in NAMED.findall(line):
            if not os.path.exists(os.path.join(root, name)):
                findings.append(f'{PAGE}:{number}: there is no {name}')
        match = ROW.match(line)
        if not match:
            continue
        file, name = match.groups()
        journeys.setdefault(heading, []).append(file)
        if os.path.exists(os.path.join(root, file)) and not re.search(rf'\b{name}\b', source.blank(source.read(root, file))):
            findings.append(f'{PAGE}:{number}: {file} has no {name}')
    for heading, files in journeys.items():
        print(f'{heading}: {statement(files)}')
        stated = STATED.search(sections[heading])
        if stated and stated[0] != statement(files):
            findings.append(f'{PAGE}: {heading}: "{stated[0]}": it is "{statement(files)}"')
    source.conclude('map', findings, len(lines))


main()
