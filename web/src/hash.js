/* SPDX-License-Identifier: BSD-3-Clause */
/* A link to what is seen: the choice, the time and the tracks stand in the address behind "#". */

const KINDS = ["finding", "step", "port", "flow"];

/* @return "finding=2&t=1000-2000&tracks=queue:6:2/3", "" where nothing was chosen. Pure. */
export function hashOf(store, tracksAtFirst) {
  const {chosen, time, tracks, model} = store, parts = [];
  if (chosen)
    parts.push(`${chosen.kind}=${
        chosen.kind === "finding"  ? chosen.index + 1 :
            chosen.kind === "port" ? encodeURIComponent(model.ports[chosen.index].name) :
                                     chosen.index}`);
  if (time.from !== store.first[0] || time.to !== store.first[1])
    parts.push(`t=${Math.round(time.from)}-${Math.round(time.to)}`);
  if (tracks.join() !== tracksAtFirst.join())
    parts.push(`tracks=${tracks.map(encodeURIComponent).join(",")}`);
  return parts.join("&");
}

/* @return {kind, index} of a choice, from and to in ns, tracks; what is wrong or missing is left out. Pure. */
export function readHash(text, model) {
  const read = {}, counts = {finding: model.findings.length, step: Infinity, flow: model.flows.length};
  for (const part of text.replace(/^#/, "").split("&")) {
    const [key, value = ""] = part.split("=");
    const time = key === "t" && /^(\d+)-(\d+)$/.exec(value);
    if (time && Number(time[1]) < Number(time[2]))
      Object.assign(read, {from: Number(time[1]), to: Number(time[2])});
    else if (key === "tracks")
      read.tracks = value.split(",").filter(Boolean).map(decodeURIComponent);
    else if (KINDS.includes(key)) {
      const index = key === "port" ? model.portNamed.get(decodeURIComponent(value)) ?? -1 :
                                     Number(value) - (key === "finding" ? 1 : 0);
      if (Number.isInteger(index) && index >= 0 && (key === "port" || index < counts[key]))
        Object.assign(read, {kind: key, index});
    }
  }
  return read;
}

/* Takes the address's state, and keeps the address as the state is. */
export function keepHash(store) {
  const {model, time} = store, atFirst = [...store.tracks];
  let own = "", late = 0;
  const take = () => {
    let read = {};
    try {
      read = readHash(location.hash, model);
    } catch {
      return; /* no such encoding */
    }
    const lastStep = model.collectives.reduce((end, c) => Math.max(end, c.first_step + c.nsteps), 0);
    if (read.kind && (read.kind !== "step" || read.index < lastStep) &&
        !(store.chosen && store.chosen.kind === read.kind && store.chosen.index === read.index))
      store.choose(read.kind, read.index);
    else if (!read.kind && store.chosen)
      store.choose(null);
    const tracks = (read.tracks || atFirst).filter((key) => store.series.has(key));
    if (tracks.join() !== store.tracks.join())
      store.retrack(tracks);
    if (read.from !== undefined)
      time.span(read.from, read.to);
    else
      time.span(...store.first);
    store.moved();
  };
  if (location.hash.length > 1)
    take();
  store.on(() => {
    clearTimeout(late);
    late = setTimeout(() => {
      own = hashOf(store, atFirst);
      if (own !== location.hash.slice(1))
        history.replaceState(null, "", own ? `#${own}` : location.pathname + location.search);
    }, 200);
  });
  addEventListener("hashchange", () => location.hash.slice(1) !== own && take());
}
