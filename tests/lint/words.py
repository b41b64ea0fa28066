#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""words.py ROOT [TABLES]: names of C and Python, and of files, have the field's terms; words.txt of the folder TABLES lists
those that they do not have."""
import fnmatch
import io
import os
import re
import sys
import tokenize

import source

NAME = re.compile(r'[A-Za-z_]\w*')
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include\b[^\n]*', re.MULTILINE)


def load(path):
    """@return {word: terms}, [(pattern of names, pattern of files)]"""
    terms, allowed = {}, []
    for number, left, right in source.rows(path):
        words = left.split()
        if not right:
            sys.exit(f'{path}:{number}: a row says what else, or why')
        if words[0] == 'allow' and len(words) in (2, 3):
            allowed.append((words[1], words[2] if len(words) == 3 else '*'))
        elif len(words) == 1:
            terms[words[0]] = right
        else:
            sys.exit(f'{path}:{number}: "WORD: TERMS" or "allow NAME [FILES]: WHY"')
    return terms, allowed


def c_names(text):
    code = INCLUDE.sub('', source.blank(text))
    for number, line in enumerate(code.split('\n'), 1):
        for match in NAME.finditer(line):
            yield number, match.group()


def python_names(text):
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME:
            yield token.start[0], token.string


def is_python(path, text):
    return path.endswith('.py') or '.' not in os.path.basename(path) and re.match(r'#!.*\bpython3?\b', text)


def main(root, tables=os.path.dirname(os.path.abspath(__file__))):
    terms, allowed = load(os.path.join(tables, 'words.txt'))
    used, findings, looked_at = set(), [], 0

    def check(path, where, name):
        refused = [word for word in re.split(r'[_.-]', name.lower()) if word in terms]
        if not refused:
            return
        for rule in allowed:
            if fnmatch.fnmatchcase(name, rule[0]) and fnmatch.fnmatchcase(path, rule[1]):
                used.add(rule)
                return
        findings.extend(f'{where}: {name}: not "{word}" but {terms[word]}' for word in refused)

    for path in source.files(root, '*'):
        looked_at += 1
        check(path, path, os.path.basename(path))
        for folder in os.path.dirname(path).split('/'):
            check(path, path, folder)
        if path.endswith(('.c', '.h')):
            names = c_names(source.read(root, path))
        elif path.endswith('.py') or '.' not in os.path.basename(path):
            text = source.read(root, path)
            names = python_names(text) if is_python(path, text) else ()
        else:
            continue
        seen = set()
        for number, name in names:
            if name not in seen:
                seen.add(name)
                check(path, f'{path}:{number}', name)
    findings += [f'tests/lint/words.txt: nothing needs "allow {name} {files}"' for name, files in allowed
                 if (name, files) not in used]
    source.conclude('words', findings, looked_at)


if __name__ == '__main__':
    main(*sys.argv[1:])
