#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""prose.py ROOT: a paragraph, a list item and a table cell of docs/*.md has at most 600 characters, and a page at most 400 lines.
Text between <!-- NAME --> and <!-- /NAME --> is generated and does not count. prose.txt lists the pages that are exempt, and
words that the others do not use outside of code."""
import os
import re
import sys

import source

MOST_LINES, MOST_CHARACTERS = 400, 600
REFUSE = 'refuse '
GENERATED = re.compile(r'<!-- ([\w-]+) -->\n.*?<!-- /\1 -->', re.DOTALL)
ITEM = re.compile(r'\s*([-*]|\d+\.) ')
SPAN = re.compile(r'`[^`]*`')
CELLS = re.compile(r'(?<!\\)\|')


def units(lines):
    """(line number, kind, text) of each paragraph, list item and table cell. Code is left out: fenced, or indented behind an empty line."""
    kind, start, text, fenced = None, 0, '', False
    for number, line in enumerate(lines + [''], 1):
        if line.startswith('```') or fenced:
            fenced ^= line.startswith('```')
            line = ''
        opens = not line.strip() or line.startswith(('#', '|')) or ITEM.match(line)
        if kind and opens:
            yield start, kind, text
            kind = None
        if line.startswith('|'):
            yield from ((number, 'table cell', cell.strip()) for cell in CELLS.split(line))
        elif ITEM.match(line):
            kind, start, text = 'list item', number, line.strip()
        elif kind:
            text += ' ' + line.strip()
        elif not opens and not line.startswith('    '):
            kind, start, text = 'paragraph', number, line.strip()


def main():
    root = sys.argv[1]
    table = os.path.join(root, 'tests/lint/prose.txt')
    rows = list(source.rows(table)) if os.path.exists(table) else []
    refused = {left[len(REFUSE):]: terms for _, left, terms in rows if left.startswith(REFUSE)}
    exempt = {left for _, left, _ in rows if not left.startswith(REFUSE)}
    findings, looked_at = [f'tests/lint/prose.txt: there is no {page}' for page in exempt if not os.path.exists(os.path.join(root, page))], 0
    for path in source.files(root, '*.md'):
        if os.path.dirname(path) != 'docs' or path in exempt:
            continue
        looked_at += 1
        lines = GENERATED.sub(lambda mark: '\n' * mark[0].count('\n'), source.read(root, path)).split('\n')
        written = len(lines) - 1 - sum(mark[0].count('\n') for mark in GENERATED.finditer(source.read(root, path)))
        findings += [f'{path}: {written} lines of prose; at most {MOST_LINES}'] if written > MOST_LINES else []
        findings += [f'{path}:{number}: a {kind} of {len(text)} characters; at most {MOST_CHARACTERS}'
                  for number, kind, text in units(lines) if len(text) > MOST_CHARACTERS]
        findings += [f'{path}:{number}: not "{words}" but {terms}' for number, _, text in units(lines)
                     for words, terms in refused.items() if re.search(rf'(?i)\b{words}\b', SPAN.sub('', text))]
    source.conclude('prose', findings, looked_at)


main()
