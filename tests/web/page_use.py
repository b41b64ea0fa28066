# SPDX-License-Identifier: BSD-3-Clause
"""Of page_test.py: the time axis with its brush and tracks, links, search, keys, numbers that add up, files."""
import csv
import io
import json
import re
import sqlite3
import xml.etree.ElementTree

from browser import By, Keys
from harness import SCENARIOS, SOURCE, check, command, rocelab, sets
from looks import WIDTHS, fits_all

# What a download would hold: the links that the page makes are kept, and not followed.
KEEP_FILES = """
window.files = [];
const blobs = new Map(), make = URL.createObjectURL;
URL.createObjectURL = (blob) => { const url = make.call(URL, blob); blobs.set(url, blob); return url; };
HTMLAnchorElement.prototype.click = function() { const blob = blobs.get(this.href); window.files.push([this.download, blob]); };
"""
READ_FILE = """
const done = arguments[0], [name, blob] = window.files.pop();
blob.text().then((text) => done([name, text]));
"""


def files(browser, selector):
    browser.script("document.querySelector(arguments[0]).click()", selector)
    return browser.driver.execute_async_script(READ_FILE)


def time_shown(browser):
    """[from, to] in the run's unit."""
    return [float(text) for text in re.findall(r"[\d.]+", browser.text("#timeline .range"))[:2]]


def drag(browser, selector, start, end):
    """By the pointer itself, from one place of an element to another."""
    box = browser.script("const n = document.querySelector(arguments[0]); n.scrollIntoView({block: 'center'});"
                         "const b = n.getBoundingClientRect(); return [b.left, b.top]", selector)
    for kind, (x, y), buttons in (("mouseMoved", start, 0), ("mousePressed", start, 1), ("mouseMoved", end, 1), ("mouseReleased", end, 0)):
        browser.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {
            "type": kind, "x": box[0] + x, "y": box[1] + y, "button": "left" if buttons or kind == "mouseReleased" else "none",
            "buttons": buttons, "clickCount": 1})
    browser.settle()


def brush_moves_all(browser, run):
    """A drag over the whole run chooses a time: timeline, tracks, findings, ports and fabric show that time."""
    browser.open(run.dir / "report.html", "brush")
    whole, end = time_shown(browser), browser.data()["evidence"]["end_ns"] / 1e6
    check(abs(whole[1] - end) < 0.1 and whole[0] == 0, "the whole run at first", (whole, end))
    width = browser.script("return document.querySelector('.overview').clientWidth")
    ports = browser.text("#counters tbody")
    drag(browser, ".overview", (width - 200, 40), (width - 40, 40))
    shown = time_shown(browser)
    check(shown[0] > whole[1] / 2 and shown[1] < whole[1], "a drag chooses a time", shown)
    browser.driver.execute_async_script("setTimeout(arguments[0], 300)")
    check(browser.text("#counters tbody") != ports and f"From {shown[0]:.3f} to" in browser.text("#counters"),
          "the table of ports is of that time", browser.text("#counters .legend"))
    away = browser.indices("#findings .finding.away")
    gone = {i for i, f in enumerate(browser.data()["findings"]) if f["end_ns"] / 1e6 < shown[0]}
    check(away and away <= gone, "findings of another time stand back", (away, gone))
    check(browser.all("#waiting .box.away"), "and so do steps of the waiting graph")
    check(any("l" in line.get_attribute("class") for line in browser.all("#fabric .link line:last-child")), "the fabric has colors")
    browser.press("body", "0")
    check(time_shown(browser) == whole and not browser.all(".away"), "0 shows the whole run again", time_shown(browser))
    browser.press("body", "+")
    narrow = time_shown(browser)
    browser.press("body", "]")
    check(time_shown(browser)[0] > narrow[0], "] moves on", (narrow, time_shown(browser)))
    browser.press("body", "0")
    for width in WIDTHS:
        browser.look(width)
        plot = browser.script("const n = document.querySelector('.overview'); return n.clientWidth")
        drag(browser, ".overview", (plot * 0.5, 40), (plot * 0.8, 40))
        check(time_shown(browser)[0] > 0, f"{width} px: the brush works", time_shown(browser))
        browser.press("body", "0")
    browser.look()
    browser.quiet("brush")


def tracks_are_true(browser, run):
    """A click adds a track; its numbers are the store's."""
    browser.open(run.dir / "report.html", "tracks")
    before = len(browser.all(".track"))
    check(before >= 2, "the root cause's own tracks are there", before)
    browser.click("#counters button[data-track^='utilization']")
    check(len(browser.all(".track")) == before + 1, "a number of the table adds its track")
    browser.click("#counters button[data-track^='utilization']")
    check(len(browser.all(".track")) == before, "and takes it away")
    browser.click("#fabric .link")
    browser.click("#inspector button[data-track]")
    check(len(browser.all(".track")) == before + 1, "so does the inspector of a port")
    browser.click(".track:last-of-type .remove")
    check(len(browser.all(".track")) == before, "a cross removes it")
    browser.press("body", Keys.ESCAPE)
    series = json.loads(browser.script("return document.getElementById('series').textContent"))
    store = sqlite3.connect(run.dir / "run.sqlite")
    for queue in series["queues"]:
        if "queue" not in queue:
            continue
        most = max(value[0] if isinstance(value, list) else value for value in queue["queue"]) * series["queue_unit"]
        exact = store.execute("SELECT max(max(s.bytes, s.watermark_bytes)) FROM queue_series s JOIN ports p USING (port) "
                              "WHERE p.name = ? AND s.class = ?", (queue["port"], queue["class"])).fetchone()[0]
        check(abs(most - exact) <= series["queue_unit"], f"{queue['port']}: the deepest queue is the store's", (most, exact))
    spread = {name: 0 for name in ("marks", "drops")}
    for item in series["queues"] + series["ports"]:
        for name in spread:
            spread[name] += sum(v[0] * v[1] if isinstance(v, list) else v for v in item.get(name, []))
    marks = store.execute("SELECT sum(m) FROM (SELECT max(ecn_marked_packets) m FROM queue_series GROUP BY port, class)").fetchone()[0]
    check(spread["marks"] == marks, "marks add up to the store's", (spread, marks))
    browser.quiet("tracks")


def links_lead_back(browser, run):
    """The address holds choice, time and tracks: another window shows the same."""
    page = (run.dir / "report.html").resolve().as_uri()
    browser.open(run.dir / "report.html", "links")
    browser.click(".finding[data-index='1']")
    browser.press("body", "+")
    browser.click(".track .remove")
    browser.driver.execute_async_script("setTimeout(arguments[0], 400)")
    link, shown, tracks = browser.script("return location.hash"), time_shown(browser), len(browser.all(".track"))
    check("finding=2" in link and "t=" in link and "tracks=" in link, "the address says what is seen", link)
    browser.driver.get("about:blank")
    browser.driver.get(page + link)
    browser.settle()
    check(browser.one(".finding.chosen").get_attribute("data-index") == "1", "a link chooses")
    check(time_shown(browser) == shown and len(browser.all(".track")) == tracks, "shows the same time and tracks", time_shown(browser))
    browser.script("location.hash = 'port=6%3A2'")
    browser.driver.execute_async_script("setTimeout(arguments[0], 400)")
    check("Port 6:2" in browser.text("#inspector"), "a port has a link", browser.text("#inspector"))
    for wrong in ("finding=99", "port=%", "t=9-1", "tracks=none", "step=100000", "<b>", "flow=-1"):
        browser.driver.get("about:blank")
        browser.driver.get(f"{page}#{wrong}")
        browser.settle()
        check(browser.script("return document.getElementById('inspector').hidden"), f"#{wrong} shows the page")
    browser.quiet("links")


def search_finds(browser, run):
    browser.open(run.dir / "report.html", "search")
    browser.press("body", "/")
    check(browser.script("return document.activeElement.id") == "search", "/ leads to the search")
    browser.press("#search", "6:2")
    check(browser.text("#found li").startswith("port6:2"), "what is named so is first", browser.text("#found"))
    browser.press("#search", Keys.ENTER)
    check("Port 6:2" in browser.text("#inspector"), "Enter chooses it", browser.text("#inspector"))
    browser.script("document.getElementById('search').value = ''")
    browser.press("#search", "backpressure 3:2", Keys.ARROW_DOWN, Keys.ARROW_UP, Keys.ENTER)
    check("PFC backpressure from 3:2" in browser.text("#inspector"), "all words count", browser.text("#inspector"))
    browser.script("document.getElementById('search').value = ''")
    browser.press("#search", "no such thing")
    check("nothing of this name" in browser.text("#found"), "nothing found is said", browser.text("#found"))
    browser.press("#search", Keys.ESCAPE)
    browser.script("document.activeElement.blur()")
    browser.press("body", Keys.ESCAPE)
    browser.press("body", "j")
    browser.press("body", "j")
    check(browser.one(".finding.chosen").get_attribute("data-index") == "1", "j goes from finding to finding")
    browser.press("body", "k")
    check(browser.one(".finding.chosen").get_attribute("data-index") == "0", "k goes back")
    browser.press("body", "?")
    check(browser.script("return document.getElementById('help').open"), "? lists the keys")
    browser.click("#help button")
    for scheme, ground in (("light", "rgb(255, 254, 251)"), ("dark", "rgb(21, 24, 27)")):
        browser.press("body", "d")
        back = browser.script("return getComputedStyle(document.body).backgroundColor")
        check(back == ground, f"d: {scheme}", back)
    browser.press("body", "d")
    browser.quiet("search")


def adds_up(browser, run, name):
    """The budget's parts and the jobs' columns add up to the lost time, in the digits that are shown."""
    browser.open(run.dir / "report.html", name)
    lost = browser.text("#budget p b").split()[0]
    parts = [float(one.text) for one in browser.all("#budget li b")]
    check(f"{sum(parts):.3f}" == lost, f"{name}: parts add up to what was lost", (parts, lost))
    shares = [float(one.text.split()[0]) for one in browser.all("#budget li small")]
    check(abs(sum(shares) - 100) < 0.051 * len(shares), f"{name}: and shares to all", shares)
    costs = {float(ms) for ms in re.findall(r"cost ([\d.]+) ms", browser.text("#findings ol"))}
    check(costs and costs <= set(parts), f"{name}: a finding's cost is its part", (costs, parts))
    causes = [float(one.find_element(By.CSS_SELECTOR, "b").text) for one in browser.all("#budget li") if one.find_elements(By.CSS_SELECTOR, "button")
              or "cause" in one.text]
    check(f"By the time that they cost: {sum(causes):.3f} " in browser.text("#findings h3"), f"{name}: and its heading their sum",
          (browser.text("#findings h3"), causes))
    unexplained = re.findall(r"([\d.]+) ms \([\d.]+ %\) is unexplained", browser.text("header"))
    check(all(float(ms) in parts for ms in unexplained), f"{name}: the headline's figures are the bar's", (unexplained, parts))
    rows = [[cell.text for cell in row.find_elements(By.CSS_SELECTOR, "th, td")] for row in browser.all("#between tbody tr")]
    data, total = browser.data(), 0
    for column in range(1, len(rows[0])):
        cells = [float(row[column]) for row in rows[:-1] if row[column]]
        check(f"{sum(cells):.3f}" == rows[-1][column], f"{name}: a job's column adds up", rows)
        total += float(rows[-1][column])
    unit = 1e6 if lost and " ms" in browser.text("#budget p b") else 1e3
    check(abs(total - data["network"]["lost_ns"] / unit) < 0.01, f"{name}: the jobs' losses are the whole", (total, data["network"]))
    return rows


def jobs_did_it(browser):
    """What one job did to the other is a number, and leads to the finding."""
    run = rocelab(SCENARIOS / "two-jobs.cfg", *sets(switch__profile='"ns3"', host__profile='"ns3"'))
    rows = adds_up(browser, run, "two jobs")
    check([row[0] for row in rows[:2]] == ["flows of train", "flows of shuffle"], "a row each job", rows)
    data = browser.data()
    shuffle = of_job(data, 1)
    exact = sum(ns for f in data["findings"] for part in f["iterations"] if part["job"] == 0
                for flow, ns in zip(f["flows_at"], part["flows_explained_ns"]) if flow in shuffle)
    check(abs(float(rows[1][1] or 0) - exact / 1e6) < 0.0011, "what shuffle did to train is what findings say", (rows[1], exact))
    browser.click("#between tbody tr button")
    check(not browser.script("return document.getElementById('inspector').hidden"), "a number leads to its finding")
    check("us" not in re.sub(r"[a-z]{3,}", "", browser.text("#budget")) and " ms" in browser.text("#timeline .range"), "people read ms")
    fits_all(browser, "two jobs")


def of_job(data, job):
    """Indices of a job's flows, by its schedules."""
    found = set()
    for c in data["collectives"]:
        if c["job"] == job:
            for value in data["schedules"][c["steps"]["schedule"]]["flow"]:
                found.add(value[0] if isinstance(value, list) else value)
    return found


def remedies_can_be_set(browser, run):
    """A remedy is a line that --set takes, and a button copies it."""
    browser.open(run.dir / "report.html", "remedies")
    lines = [code.text for code in browser.all(".remedies code")]
    check(any("flows.[1].enabled=false" in line for line in lines), "the culprit can be left out", lines)
    check(len(lines) == len(set(lines)), "a line stands once", lines)
    check("rocelab blame DIR --with" in browser.text("#findings .legend"), "and the page says how to learn its effect")
    for line in lines:
        rocelab(SCENARIOS / "case-study.cfg", "--set", line.removeprefix("--set ").strip("'"))
    browser.driver.execute_cdp_cmd("Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
    browser.click(".remedies .copy")
    browser.driver.execute_async_script("setTimeout(arguments[0], 100)")
    check(browser.text(".remedies .copy") == "copied", "a button copies it", browser.text(".remedies .copy"))
    browser.quiet("remedies")


def views_are_saved(browser, run):
    """Every view as SVG or CSV: the SVG stands alone, the CSV has the numbers."""
    browser.open(run.dir / "report.html", "saved")
    browser.script(KEEP_FILES)
    for section in browser.script("return [...document.querySelectorAll('section')].filter((n) => n.querySelector('.saves button'))"
                                  ".map((n) => n.id)"):
        for kind, button in enumerate(browser.all(f"#{section} .saves button"), 1):
            name, text = files(browser, f"#{section} .saves button:nth-of-type({kind})")
            check(name == f"case-study-{section}.{button.text.lower()}" and len(text) > 40, f"{name} is saved", text[:200])
            if name.endswith(".svg"):
                root = xml.etree.ElementTree.fromstring(text)
                check(len(list(root.iter())) > 10 and "var(--" not in text, f"{name} is SVG with its own colors", text[:300])
    name, text = files(browser, "#timeline .saves button:nth-of-type(2)")
    rows = list(csv.DictReader(io.StringIO(text)))
    check(len(rows) == len(browser.data()["collectives"]) * 56, "the timeline's CSV has every step", len(rows))
    step = next(row for row in rows if row["flow"].startswith("17->18/") and row["step"] == "2")
    written = next(s for s in run.steps() if s["src"] == "17" and s["dst"] == "18" and s["step"] == "2")
    check(abs(float(step["took_ns"]) - float(written["duration_ns"])) <= 1, "with its time", (step, written))
    drawn = files(browser, "#timeline .saves button")[1]
    check(drawn.count("<rect") > 80 and "17-&gt;18" in drawn, "the timeline's SVG has bars and names", drawn[:300])
    browser.look(390, 844)
    drawn = files(browser, "#waiting .saves button")[1]
    check(drawn.count("<rect") > 54, "on a phone, too, the waiting graph is saved whole", drawn.count("<rect"))
    browser.look()
    browser.quiet("saved")


def small_screens(browser, run):
    """A phone shows the verdict, then the timeline, before anything else."""
    browser.open(run.dir / "report.html", "phone")
    browser.look(390, 844)
    tops = [browser.script("return document.querySelector(arguments[0]).getBoundingClientRect().top + scrollY", part)
            for part in ("h1", ".overview", "#facts", "#findings", "#fabric")]
    check(tops == sorted(tops), "verdict, timeline, numbers, causes, drawings", tops)
    check(tops[1] < 844, "the timeline begins on the first screen", tops)
    browser.look()


def own_findings_lead(browser):
    """FlowPulse's, R-Pingmesh's and FlowTracer's own finding is the headline of their runs, their section the first."""
    for name, system, section in (("flowpulse", "FlowPulse", "flowpulse"), ("flowtracer", "FlowTracer", "collisions")):
        run = rocelab(SCENARIOS / f"{name}.cfg")
        browser.open(run.dir / "report.html", f"{name} leads")
        check(browser.text("h1").startswith(system), f"{system} leads", browser.text("h1"))
        first = browser.script("return document.querySelector('#causes > section').id")
        check(first == section, f"{system}'s section is the first", first)


def truth_on_demand(browser):
    """What was injected stands beside the findings when it is asked for, and not before."""
    run = rocelab(SCENARIOS / "pfc-storm.cfg")
    browser.open(run.dir / "report.html", "truth")
    check(not browser.all(".seen .injected") and not browser.script("return document.querySelector('#injected details').open"),
          "the truth is not shown at first")
    browser.click("#timeline .tools [aria-pressed]")
    check("pfc-storm 5:1" in browser.text(".seen .injected") and browser.script("return document.querySelector('#injected details').open"),
          "one click shows the fault beside the finding", browser.text(".seen"))
    fault, found = (browser.script("return Number(document.querySelector(arguments[0]).getAttribute('x'))", f".seen {shape}")
                    for shape in ("rect.truth", "rect.span"))
    check(abs(fault - found) < 60, "at the same time", (fault, found))
    browser.click("#timeline .tools [aria-pressed]")
    check(not browser.all(".seen .injected"), "another click hides it")
    browser.quiet("truth")


def docs_are_true(run):
    """Sizes that docs/page.md states are those of the case study's page."""
    page, text = (run.dir / "report.html").read_text(), " ".join((SOURCE / "docs/page.md").read_text().split())
    stated = re.search(r"page of the case study has (\d+) kB, of which (\d+) kB are script and style, and (\d+) kB the element", text)
    element = re.search(r'id="series">(.*?)</script>', page, re.S).group(1)
    data = sum(len(part) for part in re.findall(r'<script type="application/json".*?</script>', page, re.S))
    for claim, exact in zip(map(int, stated.groups()), (len(page), len(page) - data, len(element))):
        check(abs(claim - exact / 1000) < max(1.5, 0.03 * claim), f"docs/page.md: {claim} kB", exact)


def counters_off(browser):
    """A run without counters has the page without tracks."""
    run = rocelab(SCENARIOS / "case-study.cfg", "--set", "counters.enabled=false")
    browser.open(run.dir / "report.html", "no counters")
    check(not browser.all(".track") and not browser.all("#counters") and browser.all("#timeline canvas"), "no tracks without counters")
    check("undefined" not in browser.text("#page") and "NaN" not in browser.text("#page"), "and nothing unknown")
    browser.quiet("no counters")


def uses_the_page(browser, run):
    brush_moves_all(browser, run)
    tracks_are_true(browser, run)
    links_lead_back(browser, run)
    search_finds(browser, run)
    adds_up(browser, run, "case study")
    jobs_did_it(browser)
    remedies_can_be_set(browser, run)
    views_are_saved(browser, run)
    small_screens(browser, run)
    own_findings_lead(browser)
    truth_on_demand(browser)
    docs_are_true(run)
    counters_off(browser)
