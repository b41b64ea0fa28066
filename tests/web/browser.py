# SPDX-License-Identifier: BSD-3-Clause
"""A headless Chromium, driven by Selenium: opens a page from its file, looks at it, uses it."""
import json
import os
import shutil

from harness import check, skip

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    skip('no selenium: scripts/setup test installs python3-selenium')

__all__ = ['Browser', 'By', 'Keys']

SWITCHES = ('--headless=new', '--disable-gpu', '--hide-scrollbars', '--disable-dev-shm-usage', '--window-size=1280,900')

DRAWN_IN_VIEW = ('#fabric', '#waiting', '#provenance')


class Browser:
    """One browser for many pages. What a page says on its console, and asks of the network, is counted."""

    def __init__(self):
        driver, browser = shutil.which('chromedriver'), shutil.which('chromium')
        if driver is None or browser is None:
            skip('no chromium or no chromedriver: scripts/setup test installs both')
        options = Options()
        options.binary_location = browser
        for switch in SWITCHES + (('--no-sandbox',) if os.geteuid() == 0 else ()):
            options.add_argument(switch)
        options.set_capability('goog:loggingPrefs', {'browser': 'ALL', 'performance': 'ALL'})
        self.driver = webdriver.Chrome(service=Service(driver), options=options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()

    def script(self, text, *args):
        return self.driver.execute_script(text, *args)

    def look(self, width=1280, height=900, scheme='light', media=''):
        """@param media  "print": as on paper"""
        self.driver.execute_cdp_cmd('Emulation.setEmulatedMedia', {
            'media': media, 'features': [{'name': 'prefers-color-scheme', 'value': scheme}]})
        self.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', {
            'width': width, 'height': height, 'deviceScaleFactor': 1, 'mobile': width < 500})
        self.settle()

    def settle(self):
        """Two frames, and what follows a choice: drawings ask for one, the costly ones wait for their turn."""
        self.driver.execute_async_script(
            'const done = arguments[0], root = document.documentElement, drawn = () => requestAnimationFrame(() => '
            'root.dataset.pending || (root.dataset.drawn !== "true" && document.querySelector("#data")) ? setTimeout(drawn, 5) : '
            'requestAnimationFrame(() => done())); drawn();')

    def open(self, path, name):
        """Opens a file; fails on any word on the console, and on any request but for the file itself."""
        self.driver.get_log('browser')
        self.driver.get_log('performance')
        url = path.resolve().as_uri()
        self.driver.get(url)
        self.settle()
        observed = [entry['message'] for entry in self.driver.get_log('browser')]
        check(not observed, f'{name}: nothing on the console', observed)
        asked = {message['params']['request']['url'] for message in
                 (json.loads(entry['message'])['message'] for entry in self.driver.get_log('performance'))
                 if message['method'] == 'Network.requestWillBeSent'}
        check(asked <= {url}, f'{name}: nothing is asked of a network', asked)

    def quiet(self, name):
        observed = [entry['message'] for entry in self.driver.get_log('browser')]
        check(not observed, f'{name}: nothing on the console', observed)

    def see(self, selector):
        """Drawings out of sight are made anew when they come into view: scrolls to the one in which a selector begins."""
        part = selector.split()[0]
        if part in DRAWN_IN_VIEW:
            self.script('const n = document.querySelector(arguments[0]); if (n) n.scrollIntoView({block: "start"})', part)
            self.settle()

    def all(self, selector):
        self.see(selector)
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.script('return document.querySelector(arguments[0]).textContent', selector)

    def click(self, selector):
        """A click of its own element, wherever the pointer would find another one above it."""
        self.script('arguments[0].scrollIntoView({block: "center"});'
                    'arguments[0].dispatchEvent(new MouseEvent("click", {bubbles: true}))', self.one(selector))
        self.settle()

    def point(self, selector, x, y, *kinds):
        """The pointer itself, at a place of an element: kinds are of "mouseMoved", "mousePressed", "mouseReleased"."""
        box = self.script('const n = arguments[0]; n.scrollIntoView({block: "center"}); const b = n.getBoundingClientRect();'
                          'return [b.left, b.top]', self.one(selector))
        self.settle()
        for kind in kinds:
            self.driver.execute_cdp_cmd('Input.dispatchMouseEvent', {
                'type': kind, 'x': box[0] + x, 'y': box[1] + y, 'button': 'none' if kind == 'mouseMoved' else 'left',
                'buttons': 0, 'clickCount': 1})
        self.settle()

    def cpu_ms(self):
        """Processor time that the page's thread has taken."""
        self.driver.execute_cdp_cmd('Performance.enable', {'timeDomain': 'threadTicks'})
        metrics = self.driver.execute_cdp_cmd('Performance.getMetrics', {})['metrics']
        return 1e3 * next(metric['value'] for metric in metrics if metric['name'] == 'TaskDuration')

    def layouts(self):
        """How often the page was laid out so far."""
        metrics = self.driver.execute_cdp_cmd('Performance.getMetrics', {})['metrics']
        return next(metric['value'] for metric in metrics if metric['name'] == 'LayoutCount')

    def press(self, selector, *keys):
        for key in keys:
            self.one(selector).send_keys(key)
        self.settle()

    def indices(self, selector):
        """data-index of what a selector finds, as a set."""
        self.see(selector)
        return set(self.script('return [...document.querySelectorAll(arguments[0])].map((n) => Number(n.dataset.index))', selector))

    def data(self):
        return json.loads(self.script('return document.getElementById("data").textContent'))
