#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""record_tables.py LISTING ROOT [--renew]: docs/wire-records.md, scripts/wireshark/rocelab.lua and scripts/records say of
records what the compiler knows of them (record_listing.c). With --renew they are made to; but where kinds or values differ
and the version does not, REC_VERSION has to be raised first."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(sys.argv[2])
PAGE = ROOT / "docs/wire-records.md"
LUA = ROOT / "scripts/wireshark/rocelab.lua"
READER = ROOT / "scripts/records/rocelab_records.py"
LUA_COLUMNS = 122
ROW = re.compile(r"^\| ([A-Z_]+) \| (\d+) \| (\d+) \| [^|]*\| (.*) \|$")
FIELD = re.compile(r"(\d+) `(\w+)` (tuple|char|u8|u16|u32|u64)(\[\d+\])?( count| end)?")


def listed():
    """(version, {number: (name, bytes, title, [(offset, name, type)])}, {"KIND.field": [name of 0, of 1, ...]})"""
    version, kinds, values = 0, {}, {}
    for line in subprocess.run([sys.argv[1]], capture_output=True, text=True, check=True).stdout.splitlines():
        what, *words = line.split(maxsplit=4)
        if what == "version":
            version = words[0]
        elif what == "kind":
            fields = []
            kinds[int(words[0])] = (words[1], int(words[2]), words[3], fields)
        elif what == "field":
            fields.append((int(words[0]), words[1], " ".join(words[2:])))
        else:
            names = values.setdefault(words[0], [])
            assert int(words[1]) == len(names), f"{words[0]}: {words[2]} is not number {len(names)}"
            names.append(words[2])
    return version, kinds, values


def page_fields(fields):
    """24 `flow` tuple, ...; members ports[0] and ports[1] are `ports` u64[2]"""
    parts = []
    for at, name, form in fields:
        array = re.match(r"(\w+)\[(\d+)\]", name)
        if array and array[2] != "0":
            parts[-1] = re.sub(r"(\[\d+\])?$", f"[{int(array[2]) + 1}]", parts[-1])
        else:
            parts.append(f"{at} `{array[1] if array else name}` {form}")
    return ", ".join(parts)


def page_with(page, version, kinds, values):
    """The page as it should be; what it says in words of a record stays."""
    rows = {int(row[2]): row for row in (ROW.match(line) for line in page.splitlines()) if row}
    table = []
    for number, (name, size, title, fields) in sorted(kinds.items()):
        old = rows.get(number)
        right = page_fields(fields)
        same = old and FIELD.findall(old[4]) == FIELD.findall(right)
        what = old[0].split("|")[4].strip() if old else title
        table.append(f"| {name} | {number} | {size} | {what} | {old[4] if same else right} |")
    first, last = min(rows.values(), key=lambda row: int(row[2]))[0], max(rows.values(), key=lambda row: int(row[2]))[0]
    start, end = page.index(first), page.index(last) + len(last)
    page = page[:start] + "\n".join(table) + page[end:]
    for field, names in values.items():
        text = ", ".join(f"{number} {name}" for number, name in enumerate(names))
        page = re.sub(rf"^\| {re.escape(field)} \| .* \|$", f"| {field} | {text} |", page, flags=re.M)
    return re.sub(r"(`magic` u64 \"ROCELAB1\", 8 `version` u32) \d+", rf"\1 {version}", page)


def lua_type(name, form):
    if form.startswith("char"):
        return "s" + re.search(r"\d+", form)[0]
    form, *mark = form.split()
    return ("ps" if name.endswith("_ps") else "ip" if name == "ip" else form) + {"count": "+", "end": "-"}.get("".join(mark), "")


def lua_kind(number, name, size, fields):
    lines, line = [], f'  [{number}] = {{ "{name.lower()}", {size}, "'
    indent = " " * (len(f"[{number}] = {{ ") + 2)
    for at, (_, member, form) in enumerate(fields):
        word = re.sub(r"\[(\d+)\]", r"_\1", member) + ":" + lua_type(member, form)
        if len(line) + len(word) + len(' " ..') > LUA_COLUMNS:
            lines.append(line + '" ..')
            line = indent + '"'
        line += word + (" " if at + 1 < len(fields) else '" },')
    return "\n".join(lines + [line])


def lua_with(lua, version, kinds, values):
    start = lua.index("local RECORDS = {\n") + len("local RECORDS = {\n")
    end = lua.index("}\n\n", start)
    table = [lua_kind(number, name, size, fields) for number, (name, size, _, fields) in sorted(kinds.items())]
    lua = lua[:start] + "\n".join(table) + "\n" + lua[end:]
    for field, names in values.items():
        text = ", ".join(f'"{name}"' for name in names)
        lua = re.sub(rf'^  \["{re.escape(field.lower())}"\] = .*$', f'  ["{field.lower()}"] = {{ [0] = {text} }},', lua, flags=re.M)
    return re.sub(r'(local MAGIC, VERSION, .* = "ROCELAB1",) \d+', rf"\1 {version}", lua)


def wrapped(head, words, tail):
    """A row of a table in Python: words in one text, on as many lines as it takes."""
    lines, line = [], head + '"'
    for at, word in enumerate(words):
        word += tail if at + 1 == len(words) else ", "
        if len(line) + len(word) > LUA_COLUMNS:
            lines.append(line + '"')
            line = '        "'
        line += word
    return "\n".join(lines + [line])


def reader_with(text, version, kinds, values):
    first, last = "# ---- made of common/wire by tests/wire/record_tables.py --renew ----\n", "# ---- until here ----\n"
    table = [f"VERSION = {version}", "KINDS = {"]
    for number, (name, size, _, fields) in sorted(kinds.items()):
        words = [" ".join((str(at), re.sub(r"\[(\d+)\]", r"_\1", member), form)) for at, member, form in fields]
        table.append(wrapped(f'    {number}: ("{name}", {size}, ', words, '"),'))
    table += ["}", "VALUES = {"]
    table += [wrapped(f'    "{field}": ', names, '".split(", "),') for field, names in values.items()]
    start, end = text.index(first) + len(first), text.index(last)
    return text[:start] + "\n".join(table + ["}"]) + "\n" + text[end:]


def is_other_layout(version, kinds, values):
    """Of the same version, so that readers of both would take one for the other."""
    text = READER.read_text(encoding="utf-8")
    return f"\nVERSION = {version}\n" in text and text != reader_with(text, version, kinds, values)


def main():
    version, kinds, values = listed()
    failed = 0
    if is_other_layout(version, kinds, values):
        print(f"records differ from those of version {version}: raise REC_VERSION in common/wire/record_hdr.h")
        return 1
    for path, renewed in ((PAGE, page_with), (LUA, lua_with), (READER, reader_with)):
        is_text = path.read_text(encoding="utf-8")
        right = renewed(is_text, version, kinds, values)
        if is_text == right:
            print(f"ok {path.relative_to(ROOT)}: {len(kinds)} kinds of records, {len(values)} enumerations")
        elif "--renew" in sys.argv:
            path.write_text(right, encoding="utf-8")
            print(f"renewed {path.relative_to(ROOT)}")
        else:
            wrong = [line for line in right.splitlines() if line not in is_text.splitlines()]
            print(f"{path.relative_to(ROOT)} is not what common/wire says; first: {wrong[:1]}\n"
                  f"renew it: tests/wire/record_tables.py {sys.argv[1]} {ROOT} --renew")
            failed = 1
    return failed


sys.exit(main())
