/* SPDX-License-Identifier: BSD-3-Clause */
/* Drawings over time that show the whole run: what lies outside the time that other views show is shaded. */
import {svg, whenSized} from "./dom.js";

/*
 * Draws into a box now and whenever its width changes.
 * @param make  (width) => {image, x: ns -> px, top, height} of the part that is shaded
 */
export function drawShaded(store, box, make) {
  let now = null;
  const sides = ["before", "after"].map(() => svg("rect", {class: "beyond"}));
  const shade = () => {
    const {x, top, height} = now, [left, right] = x.range(), {time} = store;
    const at = (ns) => Math.max(left, Math.min(right, x(ns))), from = time.isWhole() ? left : at(time.from),
          to = time.isWhole() ? right : at(time.to);
    [[left, from], [to, right]].forEach(([x0, x1], i) => {
      for (const [name, value] of Object.entries({x: x0, y: top, width: Math.max(0, x1 - x0), height}))
        sides[i].setAttribute(name, value);
    });
  };
  whenSized(box, (width) => {
    now = make(width);
    now.image.append(...sides);
    box.replaceChildren(now.image);
    shade();
  });
  store.on((changed) => changed.time && now && shade());
}
