/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of the run's time that all views show: moved and zoomed by brush, wheel, drag, keys and buttons. */
import {scaleLinear} from "d3-scale";

const LEAST_SHARE = 1e-5; /* of the whole: the closest look */

export function viewOf(from, to) {
  const view = {
    from,
    to,
    whole: [from, to],
    scale: (left, right) => scaleLinear().domain([view.from, view.to]).range([left, right]),
    overall: (left, right) => scaleLinear().domain(view.whole).range([left, right]),
    isWhole: () => view.from <= view.whole[0] && view.to >= view.whole[1],
    /* @param by  2: twice as close  @param at  the time that stays where it is */
    zoom(by, at = (view.from + view.to) / 2) {
      const all = view.whole[1] - view.whole[0];
      const span = Math.min(all, Math.max(all * LEAST_SHARE, (view.to - view.from) / by));
      const share = (at - view.from) / (view.to - view.from);
      view.set(at - share * span, at - share * span + span);
    },
    /* @param share  of what is shown, to the right */
    move: (share) => view.set(view.from + share * (view.to - view.from), view.to + share * (view.to - view.from)),
    /* Keeps the span, within the whole. */
    set(a, b) {
      const span = Math.min(b - a, view.whole[1] - view.whole[0]);
      view.from = Math.max(view.whole[0], Math.min(a, view.whole[1] - span));
      view.to = view.from + span;
    },
    /* From one end to the other, in any order. */
    span(a, b) {
      const least = (view.whole[1] - view.whole[0]) * LEAST_SHARE;
      view.from = Math.max(view.whole[0], Math.min(a, b));
      view.to = Math.min(view.whole[1], Math.max(a, b, view.from + least));
    },
    reset: () => view.set(...view.whole),
  };
  return view;
}

/* @param plot  () => [left, right] in px of the node  @param changed  called after each change */
export function listenForView(node, view, plot, changed) {
  const timeAt = (event) => view.scale(...plot()).invert(event.clientX - node.getBoundingClientRect().left);
  let held = null;
  node.addEventListener("wheel", (event) => {
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (event.ctrlKey || event.metaKey)
      view.zoom(2 ** (-event.deltaY / 200), timeAt(event));
    else if (sideways && !view.isWhole())
      view.move(event.deltaX / (plot()[1] - plot()[0]));
    else
      return;
    event.preventDefault();
    changed();
  }, {passive: false});
  node.addEventListener("pointerdown", (event) => {
    held = event.button === 0 && !view.isWhole() ? {x: event.clientX, moved: false} : null;
  });
  node.addEventListener("pointermove", (event) => {
    if (!held || event.buttons === 0)
      return;
    held.moved ||= Math.abs(event.clientX - held.x) > 3;
    if (!held.moved)
      return;
    view.move((held.x - event.clientX) / (plot()[1] - plot()[0]));
    held.x = event.clientX;
    changed();
  });
  /* A drag is no click. */
  node.addEventListener("click", (event) => held && held.moved && event.stopImmediatePropagation(), true);
}
