// The story of a partition: each of its changes in words.

const MOST_LINES = 400;

class Story {
  constructor(recording, element, goTo) {
    this.recording = recording;
    this.list = element.querySelector("ol");
    this.state = element.querySelector(".state");
    this.input = element.querySelector("input");
    this.goTo = goTo;
  }

  of(partition) {
    this.partition = partition;
    this.input.value = this.recording.nameOf(partition);
    this.lines = [
      ...this.changes(partition),
      ...this.losses(partition),
      ...this.faults(partition),
    ].sort((one, other) => one.time - other.time || one.order - other.order);
    this.begins = -1;
    this.shown = undefined;
  }

  *changes(partition) {
    const { recording } = this;
    let epoch = 0;
    for (const at of recording.changesOf(partition)) {
      const before = recording.states[recording.before[at]],
        after = recording.states[recording.after[at]];
      epoch = after.held & EXISTS ? epoch + after.epochs : 0;
      const ids = (slots) => recording.ids(partition, slots);
      const words = [...changeInWords(before, after, ids, epoch)];
      if (words.length > 0) {
        yield {
          time: recording.times[at],
          order: 1,
          text: words.join("; "),
          kind: kindOf(before, after),
        };
      }
    }
  }

  *losses(partition) {
    for (const [time, of, text] of this.recording.losses) {
      if (of === partition) yield { time, order: 2, text, kind: "worse" };
    }
  }

  // Faults that hit one of its brokers, or none in particular.
  *faults(partition) {
    const { firstSlot, hosts, lanes } = this.recording;
    const brokers = new Set(hosts.subarray(firstSlot[partition], firstSlot[partition + 1]));
    for (const [, spans] of lanes) {
      for (const { name, text, begins, ends, ended, brokers: hit } of spans) {
        if (hit.length > 0 && !hit.some((broker) => brokers.has(broker))) continue;
        yield { time: begins, order: 0, text: `${name} begins: ${text}`, kind: "fault" };
        if (ended) yield { time: ends, order: 0, text: `${name} ends`, kind: "fault" };
      }
    }
  }

  // Shows the lines around a time, and which of them is the last one by then.
  at(time) {
    const { recording, lines } = this;
    const state = recording.now[this.partition];
    if (state !== this.stated) this.say(recording.states[state]);
    let last = -1;
    while (last + 1 < lines.length && lines[last + 1].time <= time) last++;
    if (last === this.shown) return;
    this.shown = last;
    const begins = Math.max(0, Math.min(last - MOST_LINES / 2, lines.length - MOST_LINES));
    if (begins !== this.begins) this.list.replaceChildren(...this.written(begins));
    this.begins = begins;
    this.list.querySelector("[aria-current]")?.removeAttribute("aria-current");
    const current = this.list.children[last - begins];
    if (!current) return void (this.list.scrollTop = 0);
    current.setAttribute("aria-current", "true");
    const middle = current.offsetTop - this.list.offsetTop - this.list.clientHeight / 2;
    this.list.scrollTop = middle;
  }

  written(begins) {
    return this.lines.slice(begins, begins + MOST_LINES).map(({ time, text, kind }) => {
      const line = document.createElement("li");
      line.className = kind;
      const button = line.appendChild(document.createElement("button"));
      button.type = "button";
      button.textContent = clock(time);
      button.addEventListener("click", () => this.goTo(time));
      line.appendChild(document.createElement("span")).textContent = text;
      return line;
    });
  }

  say(state) {
    this.stated = this.recording.now[this.partition];
    const ids = (slots) => this.recording.ids(this.partition, slots).join(", ") || "nobody";
    const { isr, replicas, minIsr, trouble, held } = state;
    const leader = state.leader < 0 ? "none" : ids([state.leader]);
    this.state.className = `state ${TROUBLE_CLASSES[trouble]}`;
    this.state.textContent =
      held & EXISTS
        ? `${TROUBLE_WORDS[trouble]}. Leader ${leader}, ISR ${ids(isr)}, ` +
          `replicas ${ids(replicas)}, min ISR ${minIsr}.`
        : "Does not exist now.";
  }
}

const TROUBLE_WORDS = [
  "In order",
  "Under-replicated",
  "At min ISR, a replica missing",
  "Under min ISR",
  "Accepts no writes",
  "Offline",
];
const TROUBLE_CLASSES = [
  "fine",
  "missing",
  "at-min-isr",
  "under-min-isr",
  "not-accepting",
  "offline",
];

function kindOf(before, after) {
  if (!(before.held & EXISTS)) return "";
  if (after.trouble > before.trouble && after.trouble >= UNDER_MIN) return "worse";
  return after.trouble < before.trouble ? "better" : "";
}

function* changeInWords(before, after, ids, epoch) {
  if (!(after.held & EXISTS)) return void (yield "deleted");
  const isr = `ISR ${ids(after.isr).join(", ") || "empty"}`;
  const leader = after.leader < 0 ? "no leader" : `broker ${ids([after.leader])} leads`;
  if (!(before.held & EXISTS)) yield `created: ${leader}, ${isr}`;
  else {
    if (after.leader !== before.leader)
      yield after.leader < 0 ? "no leader any more" : `${leader}, epoch ${epoch}`;
    else if (after.epochs !== 0) yield `new epoch ${epoch}`;
    const left = before.isr.filter((slot) => !after.isr.includes(slot));
    const joined = after.isr.filter((slot) => !before.isr.includes(slot));
    if (left.length) yield `${ids(left).join(", ")} left the ISR`;
    if (joined.length) yield `${ids(joined).join(", ")} joined the ISR`;
    if (left.length || joined.length) yield isr;
    if (String(after.replicas) !== String(before.replicas))
      yield `replicas are ${ids(after.replicas).join(", ")} now`;
  }
  const news = (bit, begins, ends) => {
    const [was, is] = [before.held & bit, after.held & bit];
    return Boolean(was) === Boolean(is) ? [] : [is ? begins : ends];
  };
  const existed = before.held & EXISTS;
  if (existed || after.held & OFFLINE) yield* news(OFFLINE, "offline", "online again");
  if (existed || after.held & ACCEPTING)
    yield* news(ACCEPTING, "accepts writes", "accepts no writes");
  // Without a leader a partition is offline, and not under min ISR.
  if (after.leader >= 0)
    yield* news(
      UNDER_MIN_ISR,
      `under min ISR (${after.isr.length} of ${after.minIsr})`,
      "no longer under min ISR",
    );
  if (existed && before.minIsr !== after.minIsr) yield `min.insync.replicas is ${after.minIsr} now`;
}
