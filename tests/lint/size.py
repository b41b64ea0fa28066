#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""size.py ROOT: no file has more than 1,000 lines, and no function more than 60: between its braces in C, of its body in
Python. No line of C, JavaScript, shell or meson has more than 124 columns, with tabs of 8."""
import ast
import re
import sys

import source

MOST_FUNCTION, MOST_FILE, MOST_COLUMNS = 60, 1000, 124
TAB = 8


def c_functions(text):
    """(line, name, lines) of each function. The layout of .clang-format: its braces stand alone at the beginning of a line."""
    lines = text.split('\n')
    opened = None
    for number, line in enumerate(lines, 1):
        if line == '{':
            opened = number
        elif line == '}' and opened is not None:
            yield opened, lines[opened - 2].split('(')[0], number - opened - 1
            opened = None


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.name, node.end_lineno - node.body[0].lineno + 1


def functions_of(path, text):
    """@return the functions of a source, None of what is no source"""
    if path.endswith(('.c', '.h')):
        return c_functions(text)
    if path.endswith('.py') or re.match(r'#!.*\bpython3\n', text):
        return python_functions(text)
    return None


def is_narrow(path):
    return path.endswith(('.c', '.h', '.js', '.sh')) or path.rsplit('/', 1)[-1] == 'meson.build'


def wide_lines(path, text):
    for number, line in enumerate(text.split('\n'), 1):
        columns = len(line.expandtabs(TAB))
        if columns > MOST_COLUMNS:
            yield f'{path}:{number}: {columns} columns; at most {MOST_COLUMNS}'


def main():
    root = sys.argv[1]
    findings, looked_at = [], 0
    for path in source.files(root, '*'):
        text = source.read(root, path)
        findings += wide_lines(path, text) if is_narrow(path) else []
        functions = functions_of(path, text)
        if functions is None:
            continue
        looked_at += 1
        lines = text.rstrip('\n').count('\n') + 1
        findings += [f'{path}:{MOST_FILE + 1}: {lines} lines; at most {MOST_FILE}'] if lines > MOST_FILE else []
        findings += [f'{path}:{line}: {name}() has {length} lines; at most {MOST_FUNCTION}'
                  for line, name, length in functions if length > MOST_FUNCTION]
    source.conclude('size', findings, looked_at)


main()
