"use strict";
// A recording: the state of each partition, at any moment.

const [EXISTS, OFFLINE, ACCEPTING, UNDER_MIN_ISR, AT_MIN_ISR, UNDER_REPLICATED] = [
  1, 2, 4, 8, 16, 32,
];

// The figures of a moment, each a count of partitions in a condition.
const FIGURES = {
  offline: (held) => held & OFFLINE,
  "not-accepting": (held) => !(held & ACCEPTING),
  "under-min-isr": (held) => held & UNDER_MIN_ISR,
  "at-min-isr": (held) => held & AT_MIN_ISR,
  "under-replicated": (held) => held & UNDER_REPLICATED,
};
const FIGURE_NAMES = Object.keys(FIGURES);

// The worst condition of a partition, by which it is painted. At min ISR alone is no trouble: a
// topic with as many replicas as min.insync.replicas always is.
const [FINE, MISSING, AT_MIN, UNDER_MIN, REFUSING, GONE] = [0, 1, 2, 3, 4, 5];

function troubleOf(held) {
  if (!(held & EXISTS)) return FINE;
  if (held & OFFLINE) return GONE;
  if (!(held & ACCEPTING)) return REFUSING;
  if (held & UNDER_MIN_ISR) return UNDER_MIN;
  if (!(held & UNDER_REPLICATED)) return FINE;
  return held & AT_MIN_ISR ? AT_MIN : MISSING;
}

async function unpacked(text) {
  const packed = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Reads columns of numbers: seven bits in each byte, the lowest first.
class Columns {
  constructor(bytes, at) {
    this.bytes = bytes;
    this.at = at;
  }

  next(into) {
    const { bytes } = this;
    let { at } = this;
    for (let place = 0; place < into.length; place++) {
      let byte = bytes[at++],
        value = byte & 127,
        weight = 128;
      while (byte > 127) {
        byte = bytes[at++];
        value += (byte & 127) * weight;
        weight *= 128;
      }
      into[place] = value;
    }
    this.at = at;
    return into;
  }
}

class Recording {
  constructor(bytes) {
    const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
    Object.assign(this, JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length))));
    this.states = this.states.map(([leader, epochs, minIsr, held, isr, replicas]) => ({
      leader,
      epochs,
      minIsr,
      held,
      isr,
      replicas,
      trouble: troubleOf(held),
    }));
    const columns = new Columns(bytes, 4 + length);
    this.partitions = this.topics.reduce((sum, [, , count]) => sum + count, 0);
    this.readSlots(columns);
    this.readChanges(columns);
    this.now = new Uint32Array(this.partitions);
    this.applied = 0;
    this.counts = FIGURE_NAMES.map(() => 0);
    this.counted = this.states.map(({ held }) =>
      FIGURE_NAMES.map((name) => (held & EXISTS && FIGURES[name](held) ? 1 : 0)),
    );
    this.makeKeyframes();
  }

  readSlots(columns) {
    const counts = columns.next(new Uint8Array(this.partitions));
    this.firstSlot = new Uint32Array(this.partitions + 1);
    counts.forEach((count, number) => {
      this.firstSlot[number + 1] = this.firstSlot[number] + count;
    });
    this.hosts = columns.next(new Uint16Array(this.firstSlot[this.partitions]));
  }

  readChanges(columns) {
    const times = columns.next(new Float64Array(this.changes));
    const partitions = columns.next(new Int32Array(this.changes));
    const after = columns.next(new Uint32Array(this.changes));
    const before = new Uint32Array(this.changes),
      last = new Uint32Array(this.partitions);
    for (let at = 0, time = 0, partition = 0; at < this.changes; at++) {
      times[at] = time += times[at];
      partitions[at] = partition += (partitions[at] >>> 1) ^ -(partitions[at] & 1);
      before[at] = last[partition];
      last[partition] = after[at];
    }
    Object.assign(this, { times, changed: partitions, before, after });
  }

  // The states of all partitions after each so many changes.
  makeKeyframes() {
    this.between = Math.max(2 * this.partitions, 10_000);
    this.keyframes = [];
    const states = new Uint32Array(this.partitions);
    for (let at = 0; at < this.changes; at++) {
      if (at % this.between === 0) this.keyframes.push(states.slice());
      states[this.changed[at]] = this.after[at];
    }
  }

  // How many changes there are up to a time.
  changesUntil(time) {
    let low = 0,
      high = this.changes;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.times[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // Goes to a time; calls `touched` for each partition that changes. True: all may have changed.
  goTo(time, touched) {
    const wanted = this.changesUntil(time);
    const nearest = Math.min(Math.floor(wanted / this.between), this.keyframes.length - 1);
    const jumps =
      nearest >= 0 &&
      Math.abs(wanted - this.applied) > wanted - nearest * this.between + this.partitions;
    if (jumps) {
      this.now.set(this.keyframes[nearest]);
      this.applied = nearest * this.between;
      this.counts.fill(0);
      for (const state of this.now) this.count(state, 1);
    }
    while (this.applied < wanted) this.put(this.after, this.applied++, touched);
    while (this.applied > wanted) this.put(this.before, --this.applied, touched);
    return jumps;
  }

  put(states, at, touched) {
    const partition = this.changed[at];
    this.count(this.now[partition], -1);
    this.now[partition] = states[at];
    this.count(states[at], 1);
    touched(partition);
  }

  count(state, by) {
    const counted = this.counted[state];
    for (let figure = 0; figure < counted.length; figure++)
      this.counts[figure] += by * counted[figure];
  }

  nameOf(partition) {
    let before = 0;
    for (const [topic, first, count] of this.topics) {
      if (partition < before + count) return `${topic}-${first + partition - before}`;
      before += count;
    }
    return "";
  }

  numberOf(name) {
    let before = 0;
    for (const [topic, first, count] of this.topics) {
      const number = name.startsWith(`${topic}-`)
        ? Number(name.slice(topic.length + 1)) - first
        : -1;
      if (Number.isInteger(number) && number >= 0 && number < count) return before + number;
      before += count;
    }
    return -1;
  }

  // Ids of the brokers in slots of a partition.
  ids(partition, slots) {
    return slots.map((slot) => this.brokers[this.hosts[this.firstSlot[partition] + slot]]);
  }

  // The changes of one partition, by their places.
  changesOf(partition) {
    const found = [];
    for (let at = 0; at < this.changes; at++) if (this.changed[at] === partition) found.push(at);
    return found;
  }

  badness(counts) {
    return (
      counts[GONE] * 4 +
      counts[REFUSING] * 3 +
      counts[UNDER_MIN] * 2 +
      counts[AT_MIN] +
      counts[MISSING] / 2
    );
  }

  // The number of partitions in each trouble over time: in each span that of its worst moment.
  levels(spans) {
    const levels = Array.from({ length: spans }, () => null);
    const current = [0, 0, 0, 0, 0, 0];
    let span = 0,
      worst = 0;
    const begin = (at) => {
      span = at;
      levels[at] = current.slice();
      worst = this.badness(current);
    };
    begin(0);
    for (let at = 0; at < this.changes; at++) {
      const reached = Math.min(spans - 1, Math.floor((this.times[at] / this.ends) * spans));
      while (span < reached) begin(span + 1);
      current[this.states[this.before[at]].trouble]--;
      current[this.states[this.after[at]].trouble]++;
      const isLast = at + 1 === this.changes || this.times[at + 1] > this.times[at];
      if (isLast && this.badness(current) > worst) begin(span);
    }
    while (span < spans - 1) begin(span + 1);
    return levels;
  }

  // The first moment after the start with most partitions in the worst trouble; undefined: none.
  worstMoment() {
    const started = this.startedAt(),
      current = [0, 0, 0, 0, 0, 0];
    let worst = 0,
      moment;
    for (let at = 0; at < this.changes; at++) {
      current[this.states[this.before[at]].trouble]--;
      current[this.states[this.after[at]].trouble]++;
      const isLast = at + 1 === this.changes || this.times[at + 1] > this.times[at];
      if (!isLast || this.times[at] < started || this.badness(current) <= worst) continue;
      [worst, moment] = [this.badness(current), this.times[at]];
    }
    return moment;
  }

  // The first time at which each partition accepts writes: what is before is start-up.
  startedAt() {
    let accepting = 0;
    for (let at = 0; at < this.changes; at++) {
      accepting += this.accepts(this.after[at]) - this.accepts(this.before[at]);
      const isLast = at + 1 === this.changes || this.times[at + 1] > this.times[at];
      if (isLast && accepting === this.partitions) return this.times[at];
    }
    return 0;
  }

  accepts(state) {
    return (this.states[state].held & (EXISTS | ACCEPTING | OFFLINE)) === (EXISTS | ACCEPTING)
      ? 1
      : 0;
  }

  // The partition in which most was lost, else that which was longest in the worst trouble.
  worst() {
    const started = this.startedAt(),
      weights = [0, 0, 0.001, 1, 2, 2];
    const since = new Float64Array(this.partitions).fill(started);
    const suffered = new Float64Array(this.partitions);
    for (const [, partition] of this.losses) suffered[partition] += 1e15;
    const add = (partition, state, until) => {
      if (until <= started) return;
      suffered[partition] += weights[this.states[state].trouble] * (until - since[partition]);
      since[partition] = until;
    };
    for (let at = 0; at < this.changes; at++)
      add(this.changed[at], this.before[at], this.times[at]);
    const last = new Uint32Array(this.partitions);
    for (let at = 0; at < this.changes; at++) last[this.changed[at]] = this.after[at];
    last.forEach((state, partition) => add(partition, state, this.ends));
    return suffered.reduce((worst, each, at) => (each > suffered[worst] ? at : worst), 0);
  }
}
