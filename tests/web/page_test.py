#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""report.html in a browser: it draws what the verdict says, what belongs together lights up, all of it can be reached, in
every width and both colour schemes, by pointer and by keys, without a network, and names can do it no harm."""
import re

import streams
from browser import Browser, Keys
from harness import ANALYZER, ROCELAB, SCENARIOS, SOURCE, check, command, rocelab, scenario_file, scratch, sets, skip, slowness
from looks import FAINT, WIDTHS, fits_all
from page_use import uses_the_page
from systems_page import shows_plugin, shows_systems

MANY = """
name = "many";
topology = { kind = "leaf-spine"; leaves = 5; spines = 2; hosts_per_leaf = 8; rate = "100Gbps"; uplink_rate = "400Gbps"; delay = "1us"; };
collectives = ( { op = "allgather"; algorithm = "ring"; ranks = [ %s ]; step_bytes = "20KB"; iterations = 4; } );
""" % ", ".join(f'"h{i}"' for i in range(40))

SHORT = """
name = "short";
topology = { kind = "leaf-spine"; leaves = 2; spines = 2; hosts_per_leaf = 2; rate = "100Gbps"; delay = "1us"; };
pingmesh = { enabled = true; duration = "1s"; };
"""

# A click, without the drawings that follow its answer in tasks of their own.
ANSWER = """
const done = arguments[1], root = document.documentElement;
root.dataset.pending = "true";
arguments[0].dispatchEvent(new MouseEvent("click", {bubbles: true}));
requestAnimationFrame(() => requestAnimationFrame(() => { delete root.dataset.pending; done(); }));
"""


# What a click asks of the layout, which answers by laying out the page, and how many nodes it makes or changes.
COUNT_WORK = """
window.work = {asked: [], touched: 0};
const asks = (on, name) => {
  const {get, set, value} = Object.getOwnPropertyDescriptor(on, name), ask = (of) => function(...args) {
    window.work.asked.push(`${name} of ${this.className || this.localName}`); return of.apply(this, args); };
  Object.defineProperty(on, name, {configurable: true, ...(value ? {value: ask(value)} : {get: ask(get), set: set && ask(set)})});
};
["clientWidth", "clientHeight", "scrollLeft", "scrollTop", "scrollWidth", "scrollHeight", "getBoundingClientRect", "scrollTo",
  "scrollIntoView", "checkVisibility"].forEach((name) => asks(Element.prototype, name));
["offsetWidth", "offsetHeight", "offsetLeft", "offsetTop", "innerText"].forEach((name) => asks(HTMLElement.prototype, name));
["getBBox", "getScreenCTM"].forEach((name) => asks(SVGGraphicsElement.prototype, name));
new MutationObserver((records) => records.forEach(({addedNodes}) => { window.work.touched += addedNodes.length > 0 ?
  [...addedNodes].reduce((sum, node) => sum + 1 + (node.querySelectorAll ? node.querySelectorAll("*").length : 0), 0) : 1; }))
  .observe(document.documentElement, {subtree: true, childList: true, attributes: true, characterData: true});
"""

# How often each drawing is made anew.
COUNT_DRAWINGS = """
const counted = (on, name, of) => { const call = on[name]; on[name] = function(...args) {
  const what = of(this); if (what) window.made[what] = (window.made[what] || 0) + 1; return call.apply(this, args); }; };
window.made = {};
counted(CanvasRenderingContext2D.prototype, "clearRect", (g) => g.canvas.parentNode && g.canvas.parentNode.className);
counted(CanvasRenderingContext2D.prototype, "fillRect", (g) => g.canvas.className === "overview" && "bars of the run");
counted(Element.prototype, "replaceChildren", (node) => node.matches("#waiting .rows > svg") ? "waiting" :
  node.matches("#provenance .scroll") && "provenance");
"""


def answers_at_once(browser):
    """A large run: 128 ranks, 177 collectives. A click is answered within 100 ms of processor time, and each drawing that follows is made once."""
    run = rocelab(SCENARIOS / "gpt-3d.cfg")
    browser.open(run.dir / "report.html", "a large run")
    took_ms = []
    for again in range(6):
        before_ms = browser.cpu_ms()
        browser.driver.execute_async_script(ANSWER, browser.all(".finding")[again % 2])
        took_ms.append(browser.cpu_ms() - before_ms)
        browser.settle()
    check(min(took_ms) < 100 * slowness(), "a large run: a click is answered within 100 ms of processor time", took_ms)
    browser.script(COUNT_DRAWINGS)
    browser.script("window.made = {}; document.querySelectorAll('.finding')[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    browser.settle()
    made = browser.script("return window.made")
    check(made.get("rows") == 1 and "waiting" not in made, "a large run: a click does not draw what is out of sight", made)
    browser.see("#waiting")
    check(browser.script("return window.made.waiting") == 1, "a large run: but once it comes into view")
    for other in (1, 0):
        browser.script("window.made = {}; arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", browser.all(".finding")[other])
        browser.settle()
        browser.settle()
        made = browser.script("return window.made")
        bars = made.pop("bars of the run", 0)
        check(made.get("rows") == 1 and made.get("waiting") == 1 and max(made.values()) == 1, "a large run: a click makes each drawing once", made)
        check(bars < 10, "a large run: and the run above it not at all: its brush alone", bars)
    click_costs_little(browser)
    browser.quiet("a large run")


def click_costs_little(browser):
    """Counts, which are those of any machine: layouts, questions that force one, nodes that are made or changed."""
    browser.script(COUNT_WORK)
    own = {f"{name} of rows" for name in ("scrollLeft", "scrollTop", "scrollTo")} # of a box that goes to what lights up
    for part, most, nodes in (("h1", 2, 400), ("#fabric", 5, 4500), ("#waiting", 5, 4500)):
        browser.script("document.querySelector(arguments[0]).scrollIntoView()", part)
        browser.settle()
        for index in range(6):
            browser.script("window.work = {asked: [], touched: 0}")
            before = browser.layouts()
            browser.script("document.querySelectorAll('.finding')[arguments[0]].dispatchEvent(new MouseEvent('click', {bubbles: true}))", index)
            browser.settle()
            layouts, work = browser.layouts() - before, browser.script("return window.work")
            where = f"a large run at {part}, finding {index + 1}"
            check(layouts <= most, f"{where}: a click lays out the page {most} times at most", layouts)
            check(set(work["asked"]) <= own and len(work["asked"]) <= 10, f"{where}: and forces no layout but to scroll", work["asked"])
            check(0 < work["touched"] < nodes, f"{where}: and touches fewer than {nodes} nodes", work["touched"])


def unfold(browser):
    """Opens what is folded: findings in it are made then."""
    browser.script("document.querySelectorAll('details.fold').forEach((n) => { n.open = true; })")
    browser.settle()
    browser.settle()


def draws_the_verdict(browser, run):
    browser.open(run.dir / "report.html", "case study")
    verdict, report = run.verdict, re.sub(r"\s+", " ", run.report)
    check(browser.text("h1") in report, "the headline is the report's", browser.text("h1"))
    check(len(browser.all(".finding")) <= 10, "at most ten findings are open", len(browser.all(".finding")))
    unfold(browser)
    check(len(browser.all(".finding")) == len(verdict["findings"]), "every finding is listed")
    numbers = browser.script("return [...document.querySelectorAll('.finding .badge')].map((n) => parseInt(n.textContent))")
    check(numbers == list(range(1, len(verdict["findings"]) + 1)), "by its number in the report, in a row", numbers)
    check(verdict["findings"][0]["evidence"] in browser.text(".finding"), "with its evidence", browser.text(".finding"))
    ids = ["findings", "contributors", "timeline", "fabric", "waiting", "provenance", "evidence"]
    check(all(browser.all(f"section#{name}") for name in ids), "every part is there", ids)
    check(len(browser.indices("#waiting .box")) == len(run.steps()) - 2, "every step is in the waiting graph")
    check(len(browser.all("#fabric .switch")) == 12 and len(browser.all("#fabric .host")) == 8, "the whole fabric is drawn")
    check("root 6:2" in browser.text("#fabric"), "the root cause is marked in it")
    check(len(browser.all("#choose option")) == browser.data()["graphs"]["all"], "every provenance graph can be chosen")
    painted = browser.script("const c = document.querySelector('#timeline canvas'); return new Set(c.getContext('2d')"
                             ".getImageData(0, 0, c.width, c.height).data).size")
    check(painted > 20, "the timeline is painted", painted)


def lights_up(browser, run):
    """Choosing a finding, a step, a port or a flow lights up what belongs to it, and nothing else."""
    data = browser.data()
    finding = data["findings"][0]
    browser.click(".finding")
    check(browser.one(".finding").get_attribute("aria-pressed") == "true", "a finding is chosen")
    ports = set(finding["ports_at"]) | {finding["root_at"]}
    check(browser.indices("#fabric .link.lit") == ports, "its ports light up in the fabric", ports)
    check(browser.indices("#waiting .lit") == set(finding["steps_at"]), "its steps light up in the waiting graph", finding["steps_at"])
    flows = set(finding["flows_at"]) | set(finding["victims_at"])
    check(browser.indices("#provenance g.flow.lit") <= flows and browser.indices("#provenance g.flow.lit"), "its flows light up")
    check(browser.indices("#contributors th .lit") == set(finding["flows_at"]), "its culprits light up among the contributors")
    check(finding["sentence"] in browser.text("#inspector"), "the inspector says it", browser.text("#inspector"))
    check(not browser.indices("#findings .lit") - {0}, "no other finding does")
    browser.press("body", Keys.ESCAPE)
    lit = [part for part in ("#fabric", "#waiting", "#provenance", "body") if browser.all(f"{part} .lit, {part} .dim")]
    check(not lit and browser.script("return document.getElementById('inspector').hidden"),
          "Escape chooses nothing", lit)
    browser.click(f"#fabric .link[data-index='{finding['root_at']}']")
    named = {i for i, f in enumerate(data["findings"]) if finding["root_at"] in [f["root_at"], *f["ports_at"]]}
    check(browser.indices("#findings .lit") == named, "a port lights up the findings that name it", named)
    culprit = finding["flows_at"][0]
    browser.click(f"#contributors th [data-index='{culprit}']")
    named = {i for i, f in enumerate(data["findings"]) if culprit in f["flows_at"] + f["victims_at"]}
    check(browser.indices("#findings .lit") == named, "a flow lights up the findings that name it", named)
    step = finding["steps_at"][0]
    browser.click(f"#waiting .box[data-index='{step}']")
    named = {i for i, f in enumerate(data["findings"]) if step in f["steps_at"]}
    check(browser.indices("#findings .lit") == named, "a step lights up the findings that explain it", named)
    graph = [g["step"] for g in data["graphs"]["list"]].index(step)
    browser.see("#provenance")
    check(browser.script("return Number(document.getElementById('choose').value)") == graph, "and opens its provenance graph")
    browser.press("body", Keys.ESCAPE)
    browser.quiet("after all that")


def keys_reach_it(browser):
    """By keys alone: steps in the timeline, boxes, ports and flows are stops, and say what they are."""
    browser.press("#timeline .rows", Keys.ARROW_RIGHT)
    first = browser.text("#timeline [aria-live]")
    browser.press("#timeline .rows", Keys.ARROW_RIGHT, Keys.ARROW_UP)
    second = browser.text("#timeline [aria-live]")
    check("step 1" in first and "step 2" in second and first != second, "arrows go from step to step", (first, second))
    browser.press("#timeline .rows", Keys.ENTER)
    check(second.split("\n")[0].split(",")[0] in browser.text("#inspector"), "Enter chooses a step", browser.text("#inspector"))
    browser.press("body", Keys.ESCAPE)
    for part in ("#fabric", "#waiting", "#provenance"):
        stops = browser.all(f"{part} svg [tabindex='0']")
        check(len(stops) == 1 and stops[0].get_attribute("aria-label"), f"{part} is one stop, and has a name")
        browser.script("arguments[0].focus()", stops[0])
        stops[0].send_keys(Keys.ARROW_RIGHT)
        browser.settle()
        moved = browser.script("return document.activeElement")
        check(moved.get_attribute("data-index") and moved != stops[0], f"{part}: arrows go on from it")
        moved.send_keys(Keys.ENTER)
        browser.settle()
        check(not browser.script("return document.getElementById('inspector').hidden"), f"{part}: Enter chooses")
        browser.press("body", Keys.ESCAPE)


def pointer_reaches_it(browser, run):
    """By pointer: bars of the canvas say what they are and can be chosen; time zooms and returns."""
    first = run.steps()[0]
    name = f"{first['src']}->{first['dst']} step 1"
    browser.point("#timeline .rows canvas", 160, 30, "mouseMoved")
    check(browser.text("#tip").startswith(name), "the pointer shows which step a bar is", browser.text("#tip"))
    browser.point("#timeline .rows canvas", 160, 30, "mousePressed", "mouseReleased")
    check(browser.text("#inspector h2") == name, "a click chooses it", browser.text("#inspector"))
    browser.press("body", Keys.ESCAPE)
    width = "return Number(document.querySelector('.seen rect.span').getAttribute('width'))"
    whole = browser.script(width)
    browser.press("#timeline .rows", "+")
    closer = browser.script(width)
    browser.press("#timeline .rows", "0")
    check(closer != whole and browser.script(width) == whole, "plus zooms in, 0 shows all again", (whole, closer))


def fits(browser, run):
    """No width makes the page scroll sideways; on paper all of it is there; no text is faint."""
    for scheme in ("light", "dark"):
        for width in WIDTHS:
            browser.look(width, 900, scheme)
            wide = browser.script("return document.documentElement.scrollWidth")
            check(wide <= width, f"{width} px, {scheme}: nothing is wider than the window", wide)
            faint = browser.script(FAINT)
            check(not faint, f"{width} px, {scheme}: every text stands out", faint)
    browser.script("dispatchEvent(new Event('beforeprint'))")
    browser.look(720, 1000, "dark", "print")
    wide = browser.script("return document.documentElement.scrollWidth")
    check(wide <= 720, "a drawing shrinks to a sheet of paper", wide)
    back = browser.script("return getComputedStyle(document.body).backgroundColor")
    check(back == "rgb(255, 254, 251)", "paper is light", back)
    hidden = browser.script("return [...document.querySelectorAll('.rows')].filter((n) => n.scrollHeight > n.clientHeight + 1).length")
    check(hidden == 0, "and has no scroll bars", hidden)
    browser.script("dispatchEvent(new Event('afterprint'))")
    browser.look()


def all_is_reachable(browser):
    """A larger run: every rank and every iteration can be looked at, though only what is in view is drawn."""
    run = rocelab(scenario_file(MANY))
    browser.open(run.dir / "report.html", "40 ranks, 4 iterations")
    collectives = run.verdict["collectives"]
    check(len(browser.data()["schedules"]) == 1, "iterations share a schedule")
    for i in range(len(collectives)):
        browser.script("const n = document.querySelector('#iterations input'); n.value = arguments[0];"
                       "n.dispatchEvent(new Event('change'))", i + 1)
        browser.settle()
        check(f"iteration {collectives[i]['iteration']}:" in browser.text("#iterations .note"), f"iteration {i} is shown",
              browser.text("#iterations .note"))
    seen, drawn = set(), set()
    browser.press("#timeline .rows", Keys.ARROW_RIGHT)
    browser.press("#timeline .rows", *[Keys.ARROW_UP] * 40)
    for _ in range(40):
        seen.add(browser.text("#timeline [aria-live]").split(" step")[0])
        browser.press("#timeline .rows", Keys.ARROW_DOWN)
    check(len(seen) == 40, "arrows reach every rank", sorted(seen))
    browser.see("#waiting")
    size = browser.script("const n = document.querySelector('#waiting .rows'); return [n.scrollWidth, n.scrollHeight]")
    for y in range(0, size[1], 400):
        for x in range(0, size[0], 900):
            browser.script("document.querySelector('#waiting .rows').scrollTo(arguments[0], arguments[1])", x, y)
            browser.settle()
            drawn |= browser.indices("#waiting .box")
    nsteps = browser.data()["collectives"][-1]["nsteps"]
    check(len(drawn) == nsteps, "scrolling reaches every box of the waiting graph", (len(drawn), nsteps))
    for width in WIDTHS:
        browser.look(width)
        wide = browser.script("return document.documentElement.scrollWidth")
        check(wide <= width, f"40 ranks, {width} px: nothing is wider than the window", wide)
    browser.quiet("40 ranks")


def any_schedule_is_drawn(browser):
    """Of a job that computes, sends to all at once and computes again: see tests/sim/streams.py. The slowest is shown."""
    out = scratch()
    (out / "records.bin").write_bytes(streams.job())
    command(ANALYZER, "--read", out / "records.bin", "--out", out)
    browser.open(out / "report.html", "a job")
    check("forward, iteration 1" in browser.text("#iterations"), "the slowest collective is named", browser.text("#iterations"))
    check(len(browser.all("#waiting .box")) == 20 and len(browser.all("#waiting .box.local")) == 8,
          "computation is drawn apart from sends", len(browser.all("#waiting .box.local")))
    check("computation" in browser.text("#timeline .legend"), "and the legend says so", browser.text("#timeline .legend"))
    # three at once from each rank; of the late one its second computation began before
    rows = browser.script("const n = document.querySelector('#timeline .rows'); return n.clientHeight")
    check(rows >= 4 * 3 * 16, "what a rank does at once stands in lanes", rows)
    browser.press("#timeline .rows", Keys.ARROW_RIGHT)
    check("computes, step 1" in browser.text("#timeline [aria-live]"), "keys begin where the critical path does",
          browser.text("#timeline [aria-live]"))
    browser.click("#waiting .box.x3")
    check("computed 20.000 ms longer than configured" in browser.text("#inspector"), "a computation says what it lost",
          browser.text("#inspector"))
    browser.script("const input = document.querySelector('#iterations input'); input.value = 4;"
                   "input.dispatchEvent(new Event('change'))")
    browser.settle()
    check(len(browser.all("#waiting .box")) == 4, "the next collective of the iteration is drawn", browser.text("#iterations"))
    browser.click("#waiting .box.critical")
    check("waited for h0 computes, step 5" in browser.text("#inspector"), "and says what of the first it waited for",
          browser.text("#inspector"))
    browser.quiet("a job")


def shows_silent_faults(browser):
    run = rocelab(SCENARIOS / "flowpulse.cfg")
    browser.open(run.dir / "report.html", "silent faults")
    reported = run.verdict["flowpulse"]
    check("The link from l2 to s1 (l2:3) loses" in browser.text("#flowpulse"), "the link is named", browser.text("#flowpulse"))
    check(len(browser.all("#volumes td")) == len(reported["volumes"]), "with the volumes of every port", len(reported["volumes"]))
    alarms = sum(volume["alarm"] for volume in reported["volumes"])
    check(browser.text("#volumes tbody").count("!") == alarms, "and what was an alarm", browser.text("#volumes tbody"))
    check("undefined" not in browser.text("body"), "all that is shown is known", browser.text("body"))
    for width in WIDTHS:
        browser.look(width)
        wide = browser.script("return document.documentElement.scrollWidth")
        check(wide <= width, f"silent faults, {width} px: nothing is wider than the window", wide)
    marks_silent_faults(browser)
    browser.quiet("silent faults")


def marks_silent_faults(browser):
    """In the fabric: the link, or each of a pair, and leaves that could not compare."""
    check(len(browser.all("#fabric g.silent")) == 1 and "silent l2:3" in browser.text("#fabric"), "the link is marked",
          browser.text("#fabric"))
    data = browser.data()
    index = next(i for i, f in enumerate(data["findings"]) if f["untimed"])
    browser.click("#flowpulse button.finding")
    check(browser.indices("#fabric .link.lit") == set(data["findings"][index]["ports_at"]), "chosen, its port lights up")
    check("chosen" in browser.one("#fabric g.silent").get_attribute("class"), "and its mark")
    check("l2:3" in browser.text("#inspector"), "the inspector says it", browser.text("#inspector"))
    browser.press("body", Keys.ESCAPE)
    browser.click("#fabric g.silent")
    check(browser.one("#flowpulse button.finding").get_attribute("aria-pressed") == "true", "the mark stands for the finding")
    browser.press("body", Keys.ESCAPE)
    check(not browser.all("#fabric .unmeasured"), "every leaf could compare")
    ring = rocelab(SCENARIOS / "flowpulse.cfg", *sets(**{"collectives__[0]__algorithm": "ring"}))
    browser.open(ring.dir / "report.html", "a pair")
    check(len(browser.all("#fabric g.silent.unsure")) == 2 and all(name in browser.text("#fabric") for name in ("l2:3?", "s1:4?")),
          "of a pair both links are marked, neither for sure", browser.text("#fabric"))
    # A run that is cut short: its last iteration has less than was declared.
    short = rocelab(SCENARIOS / "flowpulse.cfg", *sets(**{"limits__virtual_time": "18ms", "faults__[0]__enabled": "false"}))
    browser.open(short.dir / "report.html", "what was not compared")
    flaws = short.verdict["flowpulse"]
    check(flaws["unmeasured"] and set(flaws["reasons"]) == {flaw["why"] for flaw in flaws["unmeasured"]}, "reasons are reported", flaws)
    names = {flaw["switch"] for flaw in flaws["unmeasured"]}
    check(len(browser.all("#fabric g.unmeasured")) == len(names), "leaves that could not compare are marked", names)
    for reason in flaws["reasons"].values():
        check(reason in browser.text("#flowpulse"), f"with the reason: {reason}", browser.text("#flowpulse"))


def shows_probes(browser):
    """R-Pingmesh: problems by priority, each with its mark in the fabric, and the SLAs of every period of both networks."""
    run = rocelab(SCENARIOS / "pingmesh.cfg")
    browser.open(run.dir / "report.html", "probes")
    reported, findings = run.verdict["pingmesh"], run.verdict["findings"]
    items = [item.text for item in browser.all("#problems .findings > li")]
    check(len(items) == len(reported["problems"]) > 0, "every problem is reported", items)
    for item, problem in zip(items, reported["problems"]):
        finding = findings[problem["finding"]]
        check(finding["type"] == problem["type"] and finding["root"] == (problem["node"] or " or ".join(problem["ports"])),
              f"problem and finding are the same: {finding['root']}", (problem, finding))
        check(item.startswith(problem["priority"]) and finding["root"] in item, "with priority and place", item)
    marks = [mark.text for mark in browser.all("#fabric g.probed")]
    check(sorted(marks) == sorted(problem["priority"] for problem in reported["problems"]), "and a mark in the fabric", marks)
    browser.click("#problems button.finding")
    index, port = reported["problems"][0]["finding"], reported["problems"][0]["ports"][0]
    lit = {browser.data()["ports"][i]["name"] for i in browser.indices("#fabric .link.lit")}
    check(lit == {port}, "chosen, its port lights up", lit)
    check(browser.script("return document.querySelector('#fabric g.probed.chosen').dataset.index") == str(index), "and its mark")
    browser.press("body", Keys.ESCAPE)
    charts = browser.all("#slas svg.slas")
    check(len(charts) == 2, "cluster and service have a drawing each", len(charts))
    for chart, network in zip(charts, ("cluster", "service")):
        lost = {path.get_attribute("class").split()[1] for path in chart.find_elements("css selector", "path.lost")}
        observed = {cause for cause, n in reported[network]["rpingmesh.probe_failed_total"].items() if n}
        check(lost == observed, f"{network}: what was blamed has its color", (lost, observed))
    rows = [row.text.split()[:2] for row in browser.all("#slas table")[0].find_elements("css selector", "tbody tr")]
    check(rows == [[n, f"{reported[n]['rpingmesh.probe_total']:,}"] for n in ("cluster", "service")], "and numbers of the whole run", rows)
    servers = browser.script("return document.querySelectorAll('#slas details tbody tr').length")
    check(servers == len(reported["servers"]), "servers stand alone", servers)
    browser.point("#slas svg.slas", 100, 60, "mouseMoved")
    check("0.000 ms to 200.000 ms" in browser.text("#tip") and "network RTT P50" in browser.text("#tip"), "a period's numbers",
          browser.text("#tip"))
    check("undefined" not in browser.text("#page") and "NaN" not in browser.text("#page"), "all that is shown is known")
    browser.script("document.querySelector('#slas details').open = true")
    fits_all(browser, "probes")
    browser.quiet("probes")
    short = rocelab(scenario_file(SHORT))
    browser.open(short.dir / "report.html", "no upload yet")
    check("Agents had no result" in browser.text("#problems") and "No problem" not in browser.text("#problems"),
          "a run without uploads says so", browser.text("#problems"))
    check(not browser.all("#slas") and "undefined" not in browser.text("#page"), "and has no SLAs")


def shows_paths(browser):
    """FlowTracer: flows on every link beside the ideal, layer by layer, throughput of pairs, and links on which flows met."""
    run = rocelab(SCENARIOS / "flowtracer.cfg")
    browser.open(run.dir / "report.html", "flow-paths")
    reported = run.verdict["flowtracer"]
    panels = [text.text for text in browser.all("#flow-paths text.panel")]
    check(len(panels) == len(reported["layers"]) + 1, "every layer has a panel, and pairs have one", panels)
    for panel, layer in zip(panels, reported["layers"]):
        check(panel.startswith(f"{layer['layer']}: {layer['links']} links, FIM {layer['fim_percent']:.1f} %"), "with its FIM", panel)
    bars = [float(bar.get_attribute("height")) for bar in browser.all("#flow-paths rect.load")]
    check(len(bars) == len(reported["links"]), "every link has a bar", len(bars))
    tall, most = max(zip(bars, reported["links"]), key=lambda of: of[0])[1], max(layer["most"] for layer in reported["layers"])
    check(tall["flows"] in {layer["most"] for layer in reported["layers"]} and most > 0, "the tallest is a layer's most", tall)
    heavy = len(browser.all("#flow-paths rect.load.heavy"))
    check(heavy == sum(link["flows"] > 1.5 * link["ideal"] for link in reported["links"]), "those above the ideal stand out", heavy)
    check(len(browser.all("#flow-paths path.pair")) == len(reported["pairs"]), "and every pair has a mark")
    first = reported["collisions"][0]
    check(browser.all("#collisions li")[0].text.startswith(first["port"]), "what cost most is reported first",
          browser.text("#collisions"))
    browser.click("#collisions button.more")
    check(len(browser.all("#collisions li")) == len(reported["collisions"]), "and all on demand")
    browser.click("#collisions button.finding")
    lit = {browser.data()["ports"][i]["name"] for i in browser.indices("#fabric .link.lit")}
    check(first["port"] in lit, "chosen, its port lights up", lit)
    browser.press("body", Keys.ESCAPE)
    fits_all(browser, "flow-paths")
    check("undefined" not in browser.text("#page") and "NaN" not in browser.text("#page"), "all that is shown is known")
    browser.quiet("flow-paths")


def names_do_no_harm(browser, run):
    """A recording whose names try to be markup: they are shown, and nothing more."""
    records = (run.dir / "records.bin").read_bytes()
    bad, out = b"</script><script>boom=1</script>", scratch()
    changed = records.replace(b"case-study".ljust(32, b"\0"), bad, 1)
    check(changed != records, "the recording has its name at its place")
    (out / "records.bin").write_bytes(changed)
    command(ANALYZER, "--read", out / "records.bin", "--out", out)
    page = (out / "report.html").read_text()
    check(page.count("</script>") == 2, "no name closes an element")
    # Other names are checked where records enter; the drawings do not rely on it.
    image = "<img src=x onerror=boom=1>"
    page = page.replace('"name":"17"', '"name":"\\u003cimg src=x onerror=boom=1>"').replace("17->18", "\\u003cimg src=x onerror=boom=1>")
    (out / "report.html").write_text(page)
    browser.open(out / "report.html", "hostile names")
    browser.click(".finding")
    check(browser.script("return typeof boom") == "undefined", "no name is run")
    check(bad.decode() in browser.text(".run"), "the run's name is shown as it is", browser.text(".run"))
    for part in ("#findings", "#waiting", "#provenance", "#contributors", "#inspector"):
        check(image[:6] in browser.text(part), f"so is a flow's in {part}", browser.text(part)[:200])
    check(not browser.all("img"), "and is no element")
    browser.quiet("hostile names")
    (out / "records.bin").write_bytes(streams.job(names=(image, '"];}</script>')))
    command(ANALYZER, "--read", out / "records.bin", "--out", out)
    browser.open(out / "report.html", "hostile collectives")
    browser.click(".finding")
    check(image in browser.text("#iterations") and image in browser.text("#findings"), "a collective's name is shown as it is",
          browser.text("#iterations"))
    check(not browser.all("img") and browser.script("return typeof boom") == "undefined", "and does nothing")
    browser.quiet("hostile collectives")


FLOWS = """
name = "flows";
topology = { kind = "leaf-spine"; leaves = 2; spines = 2; hosts_per_leaf = 4; rate = "100Gbps"; delay = "1us"; };
generators = ( { kind = "incast"; name = "burst"; src = [ "h[1-7]" ]; dst = [ "h0" ]; degree = 6; bytes = 200000; start = "20us";
                 period = "300us"; until = "900us"; },
               { kind = "poisson"; name = "mice"; load = 0.1; sizes = "alistorage"; until = "900us"; } );
faults = ( { kind = "loss"; port = "l0:1"; rate = 0.001; start = "100us"; } );
"""


def tile(browser, name):
    for one in browser.all(".facts > div"):
        if one.text.startswith(name):
            return " ".join(one.text.split())
    return ""


def shows_flows(browser):
    """Flows without a collective have their own tiles and tables; injected faults stand behind a toggle, as truth."""
    run = rocelab(scenario_file(FLOWS), "--seed", "5", "--set", "host.cc=none")
    browser.open(run.dir / "report.html", "flows")
    generated, text = browser.data()["generated"], browser.text("#page")
    whole = generated["all"]["slowdown"][-1]
    check(f"{whole['p99']:.2f}" in tile(browser, "Slowdown") and "no time lost" not in text and not tile(browser, "Against"),
          "the tiles are of slowdown", tile(browser, "Slowdown"))
    check("of the collective" not in text and "score of all flows" in tile(browser, "Top contributor"),
          "nothing is said of a collective that there is not", tile(browser, "Top contributor"))
    check(len(browser.all("#flows tbody tr")) == sum(b["flows"] > 0 for b in generated["all"]["slowdown"]), "every size has its row")
    check("burst" in browser.text("#flows") and "mice" in browser.text("#flows"), "generators have their names")
    check(len(browser.all("#slowest tbody tr")) == len(generated["slowest"]) > 0, "the slowest flows are listed")
    ahead = generated["slowest"][0]["ahead"]
    check(ahead and browser.data()["flows"][ahead[0]["flow_at"]]["short"] in browser.text("#slowest tbody tr"),
          "with who was ahead of them", ahead)
    browser.click("#slowest tbody th button")
    check(browser.all("#slowest button.chosen") and not browser.script("return document.getElementById('inspector').hidden"),
          "one can be chosen")
    browser.press("body", Keys.ESCAPE)
    check("seed 5" in browser.text("header") and "host.cc=none" in browser.text("header"), "seed and overrides are said",
          browser.text("header"))
    check(not browser.script("return document.querySelector('#injected details').open"), "the truth is behind a toggle")
    check("faults" not in browser.data(), "the diagnosis's data has none of it")
    browser.click("#injected summary")
    check("l0:1" in browser.text("#injected") and "rate 0.001" in browser.text("#injected"), "which shows the fault", browser.text("#injected"))
    fits_all(browser, "flows")
    (run.dir / "truth.json").unlink()
    command(ROCELAB, "diagnose", run.dir)
    browser.open(run.dir / "report.html", "flows, without truth.json")
    check(not browser.all("#injected"), "without truth.json there is none")
    browser.quiet("flows")


def shows_bandwidths(browser, run):
    """The size of the collective, and its bandwidths as nccl-tests has them: a ring AllGather sends 7/8 of the size."""
    browser.open(run.dir / "report.html", "case study")
    first = run.verdict["collectives"][0]
    algbw, shown = first["bytes"] / (first["end_ns"] - first["start_ns"]), tile(browser, "Bus bandwidth")
    check(f"{algbw * 7 / 8:.2f} GB/s" in shown and f"{algbw:.2f} GB/s" in shown and "160 MB by 8 ranks" in shown,
          "a tile has the size and both bandwidths", (shown, algbw))
    check(abs(first["algbw"] - algbw) < 1e-6 and abs(first["busbw"] - algbw * 7 / 8) < 1e-6, "and the verdict", first)


def shows_jobs(browser):
    """Jobs by name; what is lost is one number, in tiles and tables; findings below 0.3 are folded."""
    run = rocelab(SCENARIOS / "two-jobs.cfg", *sets(switch__profile='"ns3"', host__profile='"ns3"'))
    browser.open(run.dir / "report.html", "two jobs")
    lost = browser.data()["network"]["lost_ns"] / 1e6
    check(f"{lost:.3f}" in tile(browser, "Lost in all") and f"{lost:.3f}" in browser.text("header .why"), "one number is what was lost",
          tile(browser, "Lost"))
    rows = [row.text for row in browser.all("#jobs tbody tr")]
    check([row.split()[0] for row in rows] == ["train", "shuffle"], "jobs are there by name", rows)
    check("seed 1" in browser.text("header") and "train, shuffle" in browser.text("header"), "and in the head")
    run = rocelab(SCENARIOS / "two-jobs.cfg", *sets(switch__profile='"ns3"', host__profile='"ns3"', exporter__budget='"2MB"'))
    browser.open(run.dir / "report.html", "two jobs, most telemetry dropped")
    unsure = [i for i, f in enumerate(run.findings()) if f["confidence"] < 0.3 and f["explained_ns"] >= 0]
    folded = browser.text("#findings details:last-of-type summary")
    check(unsure and "below 0.3 confidence" in folded and not set(unsure) & browser.indices("#findings [data-kind=finding]"),
          "what cannot be trusted is folded", (unsure, folded))


def main():
    run = rocelab(SCENARIOS / "case-study.cfg")
    if '<script></script>' in (run.dir / "report.html").read_text():
        skip("built without esbuild or d3: report.html is not drawn")
    with Browser() as browser:
        draws_the_verdict(browser, run)
        lights_up(browser, run)
        keys_reach_it(browser)
        pointer_reaches_it(browser, run)
        fits(browser, run)
        uses_the_page(browser, run)
        names_do_no_harm(browser, run)
        any_schedule_is_drawn(browser)
        shows_silent_faults(browser)
        shows_probes(browser)
        shows_plugin(browser)
        shows_paths(browser)
        shows_systems(browser)
        shows_flows(browser)
        shows_bandwidths(browser, run)
        shows_jobs(browser)
        all_is_reachable(browser)
        answers_at_once(browser)


main()
