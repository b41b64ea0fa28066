#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""words.py ROOT [TABLES]: names of C and Python, names of files, and texts of programs (string literals of C, Python and
JavaScript) use the field's terms; words.txt of the folder TABLES lists the words that they do not use."""
import fnmatch
import io
import os
import re
import sys
import tokenize

import source

NAME = re.compile(r'[A-Za-z_]\w*')
JAVASCRIPT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|`(?:\\.|[^`\\])*`', re.DOTALL)
JOINED = re.compile(r'[\s\\]*')
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include\b[^\n]*', re.MULTILINE)


class Table:
    """words.txt: words of names, words and phrases of texts, and exceptions of both."""

    def __init__(self, path):
        self.terms, self.text_terms = {}, {}
        self.allowed, self.text_allowed = [], []    # (pattern of names, or text, pattern of files)
        for number, left, right in source.rows(path):
            kind, *words = left.split()
            if not right:
                sys.exit(f'{path}:{number}: a row has the terms, or a reason')
            if kind == 'allow' and len(words) in (1, 2):
                self.allowed.append((words[0], words[1] if len(words) == 2 else '*'))
            elif kind == 'text' and words:
                self.text_terms[' '.join(words)] = right
            elif kind == 'allow-text' and words:
                self.text_allowed.append((' '.join(words[1:]), words[0]))
            elif not words:
                self.terms[kind] = right
            else:
                sys.exit(f'{path}:{number}: "WORD: TERMS", "text WORDS: TERMS", "allow NAME [FILES]: WHY" or "allow-text FILES [TEXT]: WHY"')
        words = '|'.join(re.escape(words) for words in self.text_terms)
        self.text = re.compile(rf'(?<![\w-])(?:{words})(?![\w-])', re.IGNORECASE) if words else None
        # Where none of these stands, no name and no text can be refused; a phrase may be broken between its words.
        longest = {re.escape(max(words.split(), key=len)) for words in (*self.terms, *self.text_terms)}
        self.anywhere = re.compile('|'.join(sorted(longest)) or r'(?!)', re.IGNORECASE)
        self.name = re.compile('|'.join(sorted(self.terms)) or r'(?!)', re.IGNORECASE)


def c_names(text, wanted):
    """(line number, name) of the names that a pattern is found in, where each stands first."""
    code = INCLUDE.sub('', source.blank(text))
    for name in set(NAME.findall(code)):
        if wanted.search(name):
            yield code.count('\n', 0, re.search(rf'\b{name}\b', code).start()) + 1, name


def c_texts(text):
    """(line number, text) of C's string literals; adjacent ones are one text."""
    texts, end = [], None
    for match in source.TOKEN.finditer(text):
        if match[0][0] != '"' or text[text.rfind('\n', 0, match.start()) + 1:match.start()].lstrip().startswith('#'):
            end = None
            continue
        if end is not None and JOINED.fullmatch(text, end, match.start()):
            texts[-1][1] += match[0][1:-1]
        else:
            texts.append([text.count('\n', 0, match.start()) + 1, match[0][1:-1]])
        end = match.end()
    return texts


def python_parts(text):
    """The same of Python: its names, and its string literals."""
    names, texts = [], []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME:
            names.append((token.start[0], token.string))
        elif token.type == tokenize.STRING:
            texts.append((token.start[0], token.string))
    return names, texts


def javascript_texts(text):
    for match in JAVASCRIPT.finditer(text):
        if match[0][0] in '"\'`':
            yield text.count('\n', 0, match.start()) + 1, re.sub(r'\$\{[^}]*\}', '', match[0])


def is_python(path, text):
    return path.endswith('.py') or '.' not in os.path.basename(path) and re.match(r'#!.*\bpython3?\b', text)


class Check:
    """The names and texts of a tree against the table."""

    def __init__(self, table):
        self.table, self.used, self.findings = table, set(), []

    def name(self, path, where, name):
        refused = [word for word in re.split(r'[_.-]', name.lower()) if word in self.table.terms]
        if not refused:
            return
        for rule in self.table.allowed:
            if fnmatch.fnmatchcase(name, rule[0]) and fnmatch.fnmatchcase(path, rule[1]):
                self.used.add(rule)
                return
        self.findings.extend(f'{where}: {name}: not "{word}" but {self.table.terms[word]}' for word in refused)

    def names(self, path, names):
        seen = set()
        for number, name in names:
            if name not in seen:
                seen.add(name)
                self.name(path, f'{path}:{number}', name)

    def text(self, path, number, text):
        text = ' '.join(text.replace('\\n', ' ').split())
        for match in self.table.text.finditer(text) if self.table.text else ():
            rules = [rule for rule in self.table.text_allowed if fnmatch.fnmatchcase(path, rule[1]) and rule[0] in text]
            self.used.update(rules)
            if not rules:
                self.findings.append(f'{path}:{number}: "{match[0]}" in a text: {self.table.text_terms[match[0].lower()]}')

    def file(self, root, path, passed, salt):
        """Not again where nothing was refused, and no exception needed."""
        key = source.digest(salt, path, source.read(root, path))
        if passed.has(key):
            return
        used, known = self.used, len(self.findings)
        self.used = set()
        self.contents(root, path)
        if not self.used and len(self.findings) == known:
            passed.add(key)
        self.used |= used

    def contents(self, root, path):
        self.name(path, path, os.path.basename(path))
        for folder in os.path.dirname(path).split('/'):
            self.name(path, path, folder)
        if path.endswith(('.c', '.h')):
            text = source.read(root, path)
            if not self.table.anywhere.search(text):
                return
            names, texts = sorted(c_names(text, self.table.name)), c_texts(text)
        elif path.endswith('.js'):
            names, texts = (), javascript_texts(source.read(root, path))
        elif path.endswith('.py') or '.' not in os.path.basename(path) and is_python(path, source.read(root, path)):
            text = source.read(root, path)
            if not self.table.anywhere.search(text):
                return
            names, texts = python_parts(text)
        else:
            return
        self.names(path, names)
        for number, text in texts:
            self.text(path, number, text)


def main(root, tables=os.path.dirname(os.path.abspath(__file__))):
    table = Table(os.path.join(tables, 'words.txt'))
    check, paths, passed = Check(table), source.files(root, '*'), source.Passed('words')
    salt = source.digest(source.read(tables, 'words.txt'), source.own(__file__))
    for path in paths:
        check.file(root, path, passed, salt)
    passed.save()
    check.findings += [f'tests/lint/words.txt: nothing needs "allow {name} {files}"' for name, files in table.allowed
                       if (name, files) not in check.used]
    check.findings += [f'tests/lint/words.txt: nothing needs "allow-text {files} {text}"'.rstrip(' "') + '"'
                       for text, files in table.text_allowed if (text, files) not in check.used]
    source.conclude('words', check.findings, len(paths))


if __name__ == '__main__':
    main(*sys.argv[1:])
