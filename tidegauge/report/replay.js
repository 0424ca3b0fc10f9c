// The player: time, faults, figures; it brings recording, board and story together.

const SECOND = 1e6; // times are microseconds
const DAY = 86400 * SECOND;
const CALM_MS = 500; // with reduced motion a picture stands for so long
const SPANS = 600; // of the levels over time

// Of a run from logs: its time 0 by the wall clock, and whether it has each time of day only once.
const wallClock = { firstMs: undefined, isOfOneDay: true };

function showWallClock({ firstMs, ends }) {
  Object.assign(wallClock, { firstMs, isOfOneDay: ends <= DAY });
}

// A time as commands take it: `tidegauge describe RUN --at 130.250s`; or with the wall clock's.
function clock(time) {
  const text = `${(time / SECOND).toFixed(3)}s`;
  if (wallClock.firstMs === undefined) return text;
  const moment = new Date(wallClock.firstMs + Math.floor(time / 1000)).toISOString();
  return `${text} (${moment.slice(wallClock.isOfOneDay ? 11 : 0, 23)})`;
}

// A time of the fragment: seconds of the run, or a moment such as 2026-11-22T23:56:48.
function timeOf(text) {
  if (!text.includes("T")) return Math.round(Number.parseFloat(text) * SECOND);
  return (Date.parse(`${text}Z`) - wallClock.firstMs) * 1000;
}

// What the fragment of the address asks for, as `#t=12.5&partition=orders-3&theme=dark`.
function asked() {
  return new URLSearchParams(/[=&]|^#measure$/.test(location.hash) ? location.hash.slice(1) : "");
}

class Replay {
  constructor(element, recording) {
    this.element = element;
    this.recording = recording;
    this.find = (selector) => element.querySelector(selector);
    this.time = 0;
    this.isPlaying = false;
    this.board = new Board(recording, this.find(".board"));
    this.story = new Story(recording, this.find(".story"), (time) => this.seek(time));
    this.figures = FIGURE_NAMES.map((name) => this.find(`[data-figure=${name}]`));
    this.slider = this.find(".slider");
    this.slider.max = recording.ends;
    this.faults = recording.lanes.flatMap(([, spans]) => spans);
    this.registered = new Uint8Array(recording.brokers.length);
    this.runs = new Uint8Array(recording.brokers.length);
    this.levels = recording.levels(SPANS);
    this.drawLanes();
    this.listen();
    this.partition = recording.worst();
    this.story.of(this.partition);
    this.layOut();
  }

  // Time.

  seek(time) {
    this.time = Math.min(Math.max(time, 0), this.recording.ends);
    this.show();
    if (!this.isPlaying) this.announce();
  }

  play(isPlaying = !this.isPlaying) {
    if (isPlaying && this.time >= this.recording.ends) this.time = 0;
    this.isPlaying = isPlaying;
    const button = this.find(".play");
    button.textContent = isPlaying ? "Pause" : "Play";
    cancelAnimationFrame(this.nextFrame);
    if (!isPlaying) return this.announce();
    let before = performance.now();
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const frame = (now) => {
      const passed = Math.max(0, now - before);
      if (!isCalm || passed >= CALM_MS) {
        this.time = Math.min(this.time + passed * 1000 * this.speed(), this.recording.ends);
        before = now;
        this.show();
        this.frames = (this.frames ?? 0) + 1;
      }
      if (this.time >= this.recording.ends) this.play(false);
      else this.nextFrame = requestAnimationFrame(frame);
    };
    this.nextFrame = requestAnimationFrame(frame);
  }

  speed() {
    return Number(this.find("select").value);
  }

  // To the next moment at which a partition changed, or the one before.
  step(by) {
    const { times, changes } = this.recording;
    const until = this.recording.changesUntil(this.time);
    if (by > 0) return this.seek(until < changes ? times[until] : this.recording.ends);
    const before = this.recording.changesUntil((until ? times[until - 1] : 0) - 1);
    const isBetween = until && times[until - 1] < this.time;
    this.seek(isBetween ? times[until - 1] : before ? times[before - 1] : 0);
  }

  // What is shown.

  show() {
    const { recording, board } = this;
    const touched = new Set();
    if (recording.goTo(this.time, (partition) => touched.add(partition))) board.paintAll();
    else for (const partition of touched) board.paint(partition);
    board.show();
    recording.counts.forEach((count, at) => this.showFigure(this.figures[at], count));
    this.showBrokers();
    this.showTime();
    this.story.at(this.time);
    this.tellPointed();
  }

  showFigure(item, count) {
    const text = count.toLocaleString("en");
    if (item.firstElementChild.textContent !== text) item.firstElementChild.textContent = text;
    item.classList.toggle("none", count === 0);
  }

  showTime() {
    this.element.dataset.timeUs = Math.round(this.time);
    this.slider.value = this.time;
    const text = clock(this.time);
    this.slider.setAttribute("aria-valuetext", `${text}: ${this.inWords()}`);
    this.find(".clock").textContent = text;
    this.find(".needle i").style.left = `${(this.time / this.recording.ends) * 100}%`;
    const now = this.active()
      .map(({ name }) => name)
      .join(", ");
    const said = now ? `Fault: ${now}` : "No fault now";
    if (this.find(".now").textContent !== said) this.find(".now").textContent = said;
  }

  showBrokers() {
    const { brokerChanges, brokers } = this.recording;
    this.registered.fill(0);
    this.runs.fill(0);
    for (const [time, place, isRegistered, runs] of brokerChanges) {
      if (time > this.time) break;
      this.registered[place] = isRegistered;
      this.runs[place] = runs;
    }
    const hasFault = new Uint8Array(brokers.length);
    for (const { brokers: hit } of this.active()) for (const place of hit) hasFault[place] = 1;
    this.board.showBrokers(this.registered, this.runs, hasFault);
  }

  active() {
    return this.faults.filter(
      ({ begins, ends, ended }) => begins <= this.time && (this.time < ends || !ended),
    );
  }

  inWords() {
    const counts = this.recording.counts;
    const said = this.figures.map(
      (item, at) => `${item.firstElementChild.textContent} ${item.lastElementChild.textContent}`,
    );
    return said.filter((_, at) => counts[at] > 0).join(", ") || "no partition in trouble";
  }

  // For those who listen: only while the time stands still, and after it has stood for a while.
  announce() {
    clearTimeout(this.announcing);
    this.announcing = setTimeout(() => {
      const down = this.recording.brokers.filter((_, place) => !this.runs[place]);
      const brokers = down.length ? ` Brokers down: ${down.join(", ")}.` : "";
      const faults = this.active()
        .map(({ name, text }) => `${name} (${text})`)
        .join(", ");
      this.find(".said").textContent =
        `At ${clock(this.time)}: ${this.inWords()}.${brokers}${faults && ` Faults: ${faults}.`}`;
    }, 300);
  }

  choose(partition) {
    this.partition = partition;
    this.story.of(partition);
    this.board.mark(partition);
    this.story.stated = undefined;
    this.story.at(this.time);
  }

  // Lanes of faults, and the levels of trouble over time.

  drawLanes() {
    const { lanes, steps, ends } = this.recording;
    const element = this.find(".lanes");
    const part = (time) => `${(100 * time) / ends}%`;
    const all = lanes.map(([name, spans]) => [name, spans]);
    if (steps.length)
      all.push([
        "steps",
        steps.map(([time, text]) => ({
          name: text,
          text: "",
          begins: time,
          ends: time,
          ended: true,
        })),
      ]);
    for (const [name, spans] of all) {
      const label = element.appendChild(document.createElement("span"));
      label.className = "lane-name";
      label.textContent = label.title = name;
      const track = element.appendChild(document.createElement("div"));
      track.className = "track";
      track.setAttribute("role", "listitem");
      const words = spans.map(
        (each) =>
          `${each.name}: ${clock(each.begins)} to ${each.ended ? clock(each.ends) : "the end"}`,
      );
      track.setAttribute("aria-label", words.join("; "));
      for (const { name: own, text, begins, ends: until, ended } of spans) {
        const bar = track.appendChild(document.createElement("i"));
        bar.style.left = part(begins);
        bar.style.width = `${(100 * (until - begins)) / ends}%`;
        bar.title = `${own}: ${text}, ${clock(begins)} to ${ended ? clock(until) : "the end"}`;
      }
    }
    if (all.length === 0) element.remove();
  }

  drawLevels() {
    const canvas = this.find(".levels canvas"),
      context = canvas.getContext("2d");
    const ratio = window.devicePixelRatio || 1;
    const width = (canvas.width = Math.max(1, Math.round(canvas.clientWidth * ratio)));
    const height = (canvas.height = Math.round(canvas.clientHeight * ratio));
    const highest = Math.max(
      1,
      ...this.levels.map((counts) => counts.slice(1).reduce((sum, each) => sum + each, 0)),
    );
    const colours = ["", "--missing", "--at-min", "--under-min", "--refusing", "--gone"].map(
      (name) => {
        canvas.style.color = name && `var(${name})`;
        return name && getComputedStyle(canvas).color;
      },
    );
    canvas.style.color = "";
    context.clearRect(0, 0, width, height);
    this.levels.forEach((counts, at) => {
      const x = Math.floor((at * width) / SPANS),
        next = Math.floor(((at + 1) * width) / SPANS);
      let y = height;
      for (const trouble of [GONE, REFUSING, UNDER_MIN, AT_MIN, MISSING]) {
        if (counts[trouble] === 0) continue;
        const tall = Math.max(ratio * 1.5, (counts[trouble] / highest) * (height - 2));
        context.fillStyle = colours[trouble];
        context.fillRect(x, y - tall, Math.max(1, next - x), tall);
        y -= tall;
      }
    });
  }

  layOut() {
    this.width = this.find(".board").clientWidth;
    this.board.layOut();
    this.drawLevels();
    this.board.mark(this.partition);
    this.show();
  }

  recolour() {
    this.board.readColours();
    this.board.paintAll();
    this.board.show();
    this.drawLevels();
  }

  // What the reader does.

  listen() {
    const { recording } = this;
    this.find(".play").addEventListener("click", () => this.play());
    this.find(".previous").addEventListener("click", () => this.step(-1));
    this.find(".following").addEventListener("click", () => this.step(+1));
    this.slider.addEventListener("input", () => this.seek(Number(this.slider.value)));
    const board = this.find(".board");
    board.addEventListener("pointermove", (event) => this.point(this.board.cellAt(event)));
    board.addEventListener("click", (event) => {
      const cell = this.board.cellAt(event);
      if (cell >= 0) this.choose(this.partitionOf(cell));
    });
    this.find("form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.chooseByName(this.find("input[name=partition]").value);
    });
    // Alone on its page the player has all keys; within a report only while it has the focus.
    const isAlone = document.querySelectorAll("main > section").length === 1;
    (isAlone ? document : this.element).addEventListener("keydown", (event) => this.press(event));
    new ResizeObserver(() => {
      if (this.find(".board").clientWidth !== this.width) this.layOut();
    }).observe(this.find(".board"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.recolour());
    new MutationObserver(() => this.recolour()).observe(document.documentElement, {
      attributeFilter: ["data-theme"],
    });
    addEventListener("beforeprint", () => this.play(false));
    addEventListener("hashchange", () => this.follow());
  }

  press(event) {
    const isOther =
      event.target.matches("input:not(.slider), select") ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey;
    if (isOther || (event.key === " " && event.target.matches("button, a"))) return;
    const seconds = event.shiftKey ? 10 : 1;
    const does = {
      " ": () => this.play(),
      ArrowLeft: () => this.seek(this.time - seconds * SECOND),
      ArrowRight: () => this.seek(this.time + seconds * SECOND),
      PageUp: () => this.step(-1),
      PageDown: () => this.step(+1),
      Home: () => this.seek(0),
      End: () => this.seek(this.recording.ends),
    }[event.key];
    if (!does) return;
    event.preventDefault();
    does();
  }

  partitionOf(cell) {
    let low = 0,
      high = this.recording.partitions;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.recording.firstSlot[middle] <= cell) low = middle;
      else high = middle;
    }
    return low;
  }

  point(cell) {
    if (cell < 0 || cell === this.pointed) return;
    this.pointed = cell;
    this.pointedState = undefined;
    this.tellPointed();
  }

  // What the replica under the pointer, or the last one that was, is now.
  tellPointed() {
    if (this.pointed === undefined) return;
    const { recording } = this;
    const partition = this.partitionOf(this.pointed);
    if (recording.now[partition] === this.pointedState) return;
    this.pointedState = recording.now[partition];
    const state = recording.states[this.pointedState];
    const broker = recording.brokers[recording.hosts[this.pointed]];
    const slot = this.pointed - recording.firstSlot[partition];
    let role = "no replica now";
    if (slot === state.leader) role = "leader";
    else if (state.isr.includes(slot)) role = "in the ISR";
    else if (state.replicas.includes(slot)) role = "out of the ISR";
    const isr = recording.ids(partition, state.isr).join(", ") || "empty";
    this.find(".pointed").textContent =
      `${recording.nameOf(partition)} on broker ${broker}: ${role}. ` +
      `${TROUBLE_WORDS[state.trouble]}; ISR ${isr}.`;
  }

  chooseByName(name) {
    const partition = this.recording.numberOf(name.trim());
    this.find("input[name=partition]").setCustomValidity(
      partition < 0 ? "There is no such partition." : "",
    );
    if (partition >= 0) this.choose(partition);
    else this.find("form").reportValidity();
  }

  follow() {
    const wanted = asked();
    if (wanted.has("theme")) document.documentElement.dataset.theme = wanted.get("theme");
    if (wanted.has("partition")) this.chooseByName(wanted.get("partition"));
    if (wanted.has("t")) this.seek(timeOf(wanted.get("t")));
    if (wanted.has("measure")) this.measure();
  }

  // Plays for 2 s at 60x; `data-frames-per-second` says how fluent it was.
  measure() {
    this.find("select").value = "60";
    this.frames = 0;
    const began = performance.now();
    this.play(true);
    setTimeout(() => {
      this.play(false);
      this.element.dataset.framesPerSecond = (
        (1000 * this.frames) /
        (performance.now() - began)
      ).toFixed(1);
    }, 2000);
  }
}

for (const element of document.querySelectorAll(".replay")) {
  const recording = new Recording(
    await unpacked(element.parentElement.querySelector(".recording").textContent),
  );
  showWallClock(recording);
  const replay = new Replay(element, recording);
  // The first picture is that of the worst moment, else of the first fault.
  const begins = replay.faults.map((fault) => fault.begins);
  replay.seek(recording.worstMoment() ?? (begins.length ? Math.min(...begins) : recording.startedAt()));
  replay.follow();
  element.dataset.ready = "true";
}
