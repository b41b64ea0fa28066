# SPDX-License-Identifier: BSD-3-Clause
"""Of page_test.py: what other systems, and programs from outside, say beside the page's own."""
from browser import Keys
from harness import SCENARIOS, SOURCE, check, rocelab, scratch
from looks import fits_all


def shows_plugin(browser):
    """Programs from outside: a section each, with findings that light up, and why one was left out."""
    quitter = scratch() / "quitter"
    quitter.write_text("#!/bin/sh\nexit 3\n")
    quitter.chmod(0o755)
    run = rocelab(SCENARIOS / "case-study.cfg", "--diagnoser", SOURCE / "scripts/records/deep_ports.py", "--diagnoser", quitter, expect=1)
    browser.open(run.dir / "report.html", "plugins")
    reported = run.verdict["plugins"]
    check(browser.text("#plugin-0 h2") == "Findings of ./deep_ports" and
          len(browser.all("#plugin-0 li")) == len(reported[0]["findings"]) > 0, "what a program found", browser.text("#plugin-0"))
    check("ended with status 3" in browser.text("#plugin-1"), "and why another was left out", browser.text("#plugin-1"))
    browser.click("#plugin-0 button.finding")
    lit = {browser.data()["ports"][i]["name"] for i in browser.indices("#fabric .link.lit")}
    check(reported[0]["findings"][0]["where"]["ports"][0] in lit, "chosen, its port lights up", lit)
    browser.press("body", Keys.ESCAPE)
    check("undefined" not in browser.text("#page") and "NaN" not in browser.text("#page"), "all that is shown is known")
    browser.quiet("plugins")


def shows_systems(browser):
    """What stands side by side in comparison.json; a finding of the page's own run lights up with what belongs to it."""
    run = rocelab(SCENARIOS / "five-systems.cfg", "--diagnosers", "vedrfolnir,flowpulse,hawkeye-minr")
    systems = run.json("comparison.json")["systems"]
    browser.open(run.dir / "report.html", "systems")
    rows = browser.all("#systems > .scroll:first-of-type tbody tr")
    check([row.text.split()[0] for row in rows] == ["VEDRFOLNIR", "FlowPulse", "Hawkeye-MinR"], "a row each system", rows)
    observed, truths = len(browser.all("#systems svg .reported")), len(browser.all("#systems svg .truth"))
    check((observed, truths) == (sum(len(s["findings"]) for s in systems), 8), "when each was said, beside what was injected", observed)
    for summary in browser.all("#systems summary"):
        summary.click()
    silent = next(b for b in browser.all("#systems details button") if b.text.startswith("silent-fault"))
    silent.click()
    check(browser.one("#flowpulse button.finding").get_attribute("aria-pressed") == "true", "a finding is the page's own")
    fits_all(browser, "systems")
    browser.quiet("systems")
