#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""layers.py ROOT [TABLE_FOLDER]: every #include is one that layers.txt and libraries.txt allow, and no chain of them has more
than 10 files. Prints the number of files, of headers among them, and the longest chain, tests left out."""
import os
import sys

import source

MOST_CHAIN = 10


def load(path):
    table = {}
    for _, folder, entries in source.rows(path):
        table.setdefault(folder, []).extend(entries.split())
    return table


def covers(entry, path):
    return path == entry or path.startswith(entry + '/')


def row_of(table, path):
    """The row that speaks for a file: its own, else its folder's, else that of a folder above it that may see all."""
    if path in table:
        return path
    folder = os.path.dirname(path)
    if folder in table:
        return folder
    while folder and '*' not in table.get(folder, []):
        folder = os.path.dirname(folder)
    return folder or None


def cycle(table):
    """Rows that reach themselves over allowed entries, as a path; None if there are none."""
    below = {}
    for row, entries in table.items():
        below[row] = [other for other in table if other != row and any(covers(entry, other) for entry in entries)]
    done = set()

    def visit(row, trail):
        if row in trail:
            return trail[trail.index(row):] + [row]
        if row in done:
            return None
        for other in below[row]:
            found = visit(other, trail + [row])
            if found:
                return found
        done.add(row)
        return None

    for row in table:
        found = visit(row, [])
        if found:
            return found
    return None


def check_layer(root, table, path, line, target):
    row = row_of(table, path)
    if not os.path.exists(os.path.join(root, target)) or '..' in target.split('/'):
        return f'{path}:{line}: no "{target}" in the tree: include paths start at the repository root'
    if row is None:
        return f'{path}:{line}: folder {os.path.dirname(path)} has no row in layers.txt'
    if os.path.dirname(target) == os.path.dirname(path):
        return None
    if '*' in table.get(row_of(table, target), []) and not path.startswith('tests/'):
        return f'{path}:{line}: {row} may not include "{target}": nobody includes a composition root'
    if '*' in table[row] or any(covers(entry, target) for entry in table[row]):
        return None
    allowed = ' '.join(table[row]) or 'nothing'
    return f'{path}:{line}: {row} may not include "{target}" (it may include: {allowed})'


def chains(root, paths):
    """{path: the longest chain of includes that begins with it}"""
    known, longest = set(paths), {}

    def chain(path):
        if path not in longest:
            longest[path] = [path]    # a circle ends here
            below = [chain(target) for _, target, is_system in source.includes(source.read(root, path))
                     if not is_system and target in known]
            longest[path] = [path] + max(below, key=len, default=[])
        return longest[path]

    for path in paths:
        chain(path)
    return longest


def main():
    root = sys.argv[1]
    folder = sys.argv[2] if len(sys.argv) > 2 else os.path.dirname(os.path.abspath(__file__))
    table = load(os.path.join(folder, 'layers.txt'))
    libraries = load(os.path.join(folder, 'libraries.txt'))
    findings = []
    loop = cycle(table)
    if loop:
        findings.append('layers.txt: an arrow points back: ' + ' -> '.join(loop))
    paths = source.files(root, '*.c', '*.h')
    for path in paths:
        for line, target, is_system in source.includes(source.read(root, path)):
            if not is_system:
                finding = check_layer(root, table, path, line, target)
                if finding:
                    findings.append(finding)
                continue
            for header, users in libraries.items():
                if source.matches(target, [header]) and not source.matches(path, users):
                    findings.append(f'{path}:{line}: <{target}> only in: {" ".join(users)}')
    longest = chains(root, [path for path in paths if not path.startswith('tests/')])
    findings += [f'{path}:1: a chain of {len(files)} includes, at most {MOST_CHAIN}: ' + ' -> '.join(files)
                 for path, files in sorted(longest.items()) if len(files) > MOST_CHAIN]
    print(f'outside of tests: {len(longest)} files, {sum(path.endswith(".h") for path in longest)} headers, '
          f'chains of at most {max(map(len, longest.values()), default=0)}')
    source.conclude('layers', findings, len(paths))


if __name__ == '__main__':
    main()
