/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters over time, by key: "queue:6:2/3", "utilization:6:2". Pure. */
import {unpacked} from "./model.js";

const FULL = 1000;

/* Of each kind: its name, its unit, and whether a longer bin has the most or the mean of shorter ones. */
export const KINDS = {
  queue: {title: "queue", unit: "B", most: true},
  paused: {title: "paused by its peer", short: "paused", unit: "%"},
  pausing: {title: "pauses its peer", short: "pausing", unit: "%"},
  utilization: {title: "utilization", unit: "%"},
  marks: {title: "ECN marks", short: "marks", unit: "packets", sum: true},
  drops: {title: "drops", unit: "packets", sum: true},
};

export const shortOf = (kind) => KINDS[kind].short || KINDS[kind].title;

function keyOf(kind, item) {
  return `${kind}:${item.port}${item.class >= 0 ? `/${item.class}` : ""}`;
}

/* The bins that a time touches: [first, last]. */
function binsIn(ends, from, to) {
  const at = (ns) => {
    let low = 0, high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ends[middle] <= ns)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  };
  return [at(from), Math.min(ends.length - 1, at(to))];
}

/* @param data  the element "series"; null: the run kept none  @param portNamed  name -> index in the page's data */
export function seriesOf(data, portNamed) {
  const list = new Map(), ofPort = new Map(),
        ends = unpacked({count: data ? data.times.length : 0, t: data ? data.times : []}, "t", Float64Array);
  for (let i = 1; i < ends.length; i++)
    ends[i] += ends[i - 1];
  for (const item of data ? [...data.queues, ...data.ports] : []) {
    for (const kind of Object.keys(KINDS).filter((one) => item[one])) {
      const one = {
        key: keyOf(kind, item),
        kind,
        port: item.port,
        class: item.class,
        at: portNamed.get(item.port) ?? -1,
        packed: item[kind]
      };
      list.set(one.key, one);
      if (!ofPort.has(one.at))
        ofPort.set(one.at, []);
      ofPort.get(one.at).push(one);
    }
  }
  const start = (bin) => (bin > 0 ? ends[bin - 1] : 0);
  const series = {
    ends,
    start,
    left: data ? {ports: data.all.ports - data.ports.length, queues: data.all.queues - data.queues.length} :
                 {ports: 0, queues: 0},
    config: data ? data.config : {},
    some: list.size > 0,
    classes: new Set([...list.values()].filter((one) => one.class > 0).map((one) => one.class)).size,
    has: (key) => list.has(key),
    get: (key) => list.get(key),
    list: () => [...list.values()],
    ofPort: (port) => ofPort.get(port) || [],
    /* @return what each bin has, in the kind's unit: bytes, 0 to 1, packets */
    values(one) {
      if (!one.values) {
        one.values = unpacked({count: ends.length, v: one.packed}, "v", Float64Array);
        const by = one.kind === "queue" ? data.queue_unit : KINDS[one.kind].unit === "%" ? 1 / FULL : 1;
        for (let i = 0; i < one.values.length; i++)
          one.values[i] *= by;
      }
      return one.values;
    },
    bins: (from, to) => binsIn(ends, from, to),
    /* The most, and by kind the mean or the sum, between two times. */
    seen(one, from, to) {
      const values = series.values(one), [first, last] = binsIn(ends, from, to);
      let most = 0, sum = 0, time = 0;
      for (let i = first; i <= last; i++) {
        const length = ends[i] - start(i);
        most = Math.max(most, values[i]);
        sum += KINDS[one.kind].sum ? values[i] : values[i] * length;
        time += length;
      }
      return {most, of: KINDS[one.kind].sum ? sum : time > 0 ? sum / time : 0};
    },
  };
  return series;
}
