#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""symbols.py ROOT BUILD [TABLE_FOLDER]: no object file needs what stands above its folder in layers.txt. Includes alone do not show a
function that is declared in one folder and defined in another, above it."""
import json
import os
import subprocess
import sys

import source
from layers import covers, load, row_of


def objects(root, build):
    """Source file -> object file, of all but tests."""
    with open(os.path.join(build, 'compile_commands.json'), encoding='utf-8') as file:
        commands = json.load(file)
    found = {}
    for command in commands:
        path = os.path.relpath(os.path.join(command['directory'], command['file']), root)
        path = path.removeprefix(os.path.relpath(build, root) + '/') # what the build makes of a folder is that folder's
        built = os.path.join(command['directory'], command['output'])
        if not path.startswith(('tests/', '..')) and os.path.exists(built):
            found[path] = built
    return found


def symbols(built):
    """@return {object file: (names that it defines for others, names that it needs)}, by one process for all"""
    of = {name: (set(), set()) for name in built}
    lines = subprocess.run(['nm', '-g', '-A', *of], check=True, capture_output=True, text=True).stdout if of else ''
    for line in lines.splitlines():
        name, _, row = line.rpartition(':')
        words = row.split()
        of[name][words[-2] == 'U'].add(words[-1])
    return of


def below(table):
    """Row -> rows whose files it may use: those that its entries name, or a header of, and those below them."""
    reach = {row: {row} | {other for other in table if any(covers(entry, other) or os.path.dirname(entry) == other or
                                                          row_of(table, entry) == other for entry in entries)}
             for row, entries in table.items()}
    for _ in table:
        grown = {row: set().union(*(reach[other] for other in seen)) for row, seen in reach.items()}
        if grown == reach:
            break
        reach = grown
    return reach


def main():
    root, build = sys.argv[1:3]
    folder = sys.argv[3] if len(sys.argv) > 3 else os.path.dirname(os.path.abspath(__file__))
    table = load(os.path.join(folder, 'layers.txt'))
    built = objects(root, build)
    named = symbols(built.values())
    of = {path: named[name] for path, name in built.items()}
    where = {}
    for path in sorted(of):
        for name in of[path][0]:
            where.setdefault(name, []).append(path)
    reach = below(table)
    findings = []
    for path in sorted(of):
        row = row_of(table, path)
        for name in sorted(of[path][1]):
            rows = {row_of(table, target) for target in where.get(name, [])}
            if row is not None and '*' not in table[row] and rows and not rows & reach[row]:
                findings.append(f'{path}: {row} may not use {name}() of {where[name][0]}')
    source.conclude('symbols', findings, len(of))


main()
