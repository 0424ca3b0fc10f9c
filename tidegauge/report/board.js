// The board: racks, in them brokers, in them a cell for each replica.

const NARROW = 700; // pixels; from here on racks stand side by side
const CELLS = [24, 20, 17, 14, 12, 10, 9, 8, 7, 6, 5, 4, 3, 2]; // sides that are tried, in pixels
const LABEL = 18,
  GAP = 8, // pixels: the line above a broker's cells, and the space around it
  BETWEEN = 20; // ... and that between racks, as in the style sheet
const LEAST_WIDTH = 46,
  WORDS_WIDTH = 96; // of a broker: for its id with marks; for words, too

// What a cell shows: nothing, or 1 + 3 * trouble + role.
const [OUT, FOLLOWS, LEADS] = [0, 1, 2];
// How strong the colour of a trouble is, in percent: out of the ISR, in it, leader. A partition
// without a leader is seen by its other replicas.
const TINTS = [
  [45, 26, 72],
  [45, 26, 72],
  [15, 45, 100],
  [15, 45, 100],
  [30, 60, 100],
  [50, 85, 100],
];
const FRAMED = 5, // pixels: from here on the cell of a replica out of the ISR is a frame,
  FRAME = 100; // of so strong a colour
const TROUBLES = ["blue", "blue", "at-min", "under-min", "refusing", "gone"];

class Board {
  constructor(recording, element) {
    this.recording = recording;
    this.element = element;
    this.brokers = recording.brokers.map((id) => ({ id, cells: 0, element: null }));
    this.placeCells();
    this.cellX = new Int16Array(recording.hosts.length);
    this.cellY = new Int16Array(recording.hosts.length);
    this.shows = this.looks();
    this.racks = recording.racks.map(([name, brokers]) => this.rack(name, brokers));
    this.rackOf = new Uint16Array(recording.brokers.length);
    this.racks.forEach((rack, at) =>
      rack.brokers.forEach((broker) => {
        this.rackOf[broker] = at;
      }),
    );
    this.marks = [];
  }

  // The place of each replica among those of its broker: preferred leaders first.
  placeCells() {
    const { firstSlot, hosts, partitions } = this.recording;
    this.place = new Uint32Array(hosts.length);
    for (const isFirst of [true, false]) {
      for (let partition = 0; partition < partitions; partition++) {
        for (let cell = firstSlot[partition]; cell < firstSlot[partition + 1]; cell++) {
          if ((cell === firstSlot[partition]) === isFirst)
            this.place[cell] = this.brokers[hosts[cell]].cells++;
        }
      }
    }
    this.most = Math.max(1, ...this.brokers.map(({ cells }) => cells));
  }

  // What each slot shows in each state.
  looks() {
    return this.recording.states.map(({ leader, isr, replicas, trouble, held }) =>
      Array.from({ length: 15 }, (_, slot) => {
        if (!(held & EXISTS) || !(replicas.includes(slot) || isr.includes(slot))) return 0;
        const role = slot === leader ? LEADS : isr.includes(slot) ? FOLLOWS : OUT;
        return 1 + 3 * trouble + role;
      }),
    );
  }

  rack(name, brokers) {
    const section = this.element.appendChild(document.createElement("section"));
    section.className = "rack";
    const title = section.appendChild(document.createElement("h3"));
    title.textContent =
      name === "" || this.recording.racks.length === 1 ? "brokers" : `rack ${name}`;
    const down = title.appendChild(document.createElement("small"));
    const floor = section.appendChild(document.createElement("div"));
    floor.className = "floor";
    const canvas = floor.appendChild(document.createElement("canvas"));
    for (const broker of brokers) {
      const element = floor.appendChild(document.createElement("div"));
      element.className = "broker";
      element.innerHTML = '<b></b> <span></span><em aria-hidden="true"></em>';
      element.firstChild.textContent = this.brokers[broker].id;
      this.brokers[broker].element = element;
    }
    return { section, floor, canvas, brokers, down, context: canvas.getContext("2d"), dirty: null };
  }

  // Finds the largest cells with which the board is not too high, and puts everything in its place.
  layOut() {
    const width = this.element.clientWidth;
    const aside = width >= NARROW ? Math.min(this.racks.length, 4) : 1;
    const rackWidth = Math.floor((width - (aside - 1) * BETWEEN) / aside);
    const most = width >= NARROW ? 460 : 820;
    const plan =
      CELLS.map((cell) => this.plan(cell, rackWidth, aside)).find(
        (each, at) => each.fits && (each.height <= most || at === CELLS.length - 1),
      ) ?? this.plan(CELLS.at(-1), rackWidth, aside);
    Object.assign(this, plan);
    this.ratio = window.devicePixelRatio || 1;
    for (const rack of this.racks) this.layOutRack(rack, rackWidth);
    this.readColours();
    this.paintAll();
  }

  plan(cell, rackWidth, aside) {
    const columns = Math.max(Math.ceil(Math.sqrt(this.most)), Math.ceil(LEAST_WIDTH / cell));
    const width = columns * cell,
      height = Math.ceil(this.most / columns) * cell + LABEL;
    const perRow = Math.max(1, Math.floor((rackWidth + GAP) / (width + GAP)));
    const rows = this.racks.map(({ brokers }) => Math.ceil(brokers.length / perRow));
    let all = 0;
    for (let at = 0; at < rows.length; at += aside)
      all += Math.max(...rows.slice(at, at + aside)) * (height + GAP) + 30;
    return {
      cell,
      columns,
      perRow,
      broker: { width, height },
      height: all,
      fits: width <= rackWidth,
    };
  }

  layOutRack(rack, rackWidth) {
    const { width, height } = this.broker;
    const rows = Math.ceil(rack.brokers.length / this.perRow);
    const size = {
      width: Math.min(this.perRow, rack.brokers.length) * (width + GAP) - GAP,
      height: rows * (height + GAP) - GAP,
    };
    rack.section.style.width = `${rackWidth}px`;
    rack.floor.style.height = `${size.height}px`;
    Object.assign(rack.canvas.style, { width: `${size.width}px`, height: `${size.height}px` });
    rack.canvas.width = Math.round(size.width * this.ratio);
    rack.canvas.height = Math.round(size.height * this.ratio);
    rack.image = rack.context.createImageData(rack.canvas.width, rack.canvas.height);
    rack.pixels = new Uint32Array(rack.image.data.buffer);
    rack.brokers.forEach((broker, at) => {
      const x = (at % this.perRow) * (width + GAP),
        y = Math.floor(at / this.perRow) * (height + GAP);
      Object.assign(this.brokers[broker], { x, y });
      Object.assign(this.brokers[broker].element.style, {
        left: `${x}px`,
        top: `${y}px`,
        width: `${width}px`,
        height: `${height}px`,
      });
    });
    const { hosts } = this.recording;
    for (let cell = 0; cell < hosts.length; cell++) {
      if (this.racks[this.rackOf[hosts[cell]]] !== rack) continue;
      const { x, y } = this.brokers[hosts[cell]];
      this.cellX[cell] = Math.round(
        (x + (this.place[cell] % this.columns) * this.cell) * this.ratio,
      );
      this.cellY[cell] = Math.round(
        (y + LABEL + Math.floor(this.place[cell] / this.columns) * this.cell) * this.ratio,
      );
    }
  }

  // The colours of the style sheet as they are now, as pixels.
  readColours() {
    const probe = this.element.appendChild(document.createElement("i"));
    const pixel = (text) => {
      probe.style.color = text;
      const [r, g, b, a = 1] = getComputedStyle(probe)
        .color.match(/[\d.]+(?:e-?\d+)?/g)
        .map(Number);
      const scale = getComputedStyle(probe).color.startsWith("color(") ? 255 : 1;
      return (
        (((a * 255) << 24) |
          (Math.round(b * scale) << 16) |
          (Math.round(g * scale) << 8) |
          Math.round(r * scale)) >>>
        0
      );
    };
    this.colours = [0];
    for (const [trouble, name] of TROUBLES.entries()) {
      // A cell that is too small for a frame is faint instead.
      const tints = TINTS[trouble].map((tint, role) =>
        role === OUT && this.cell >= FRAMED ? FRAME : tint,
      );
      const isFine = trouble === FINE || trouble === MISSING;
      for (const [role, tint] of tints.entries()) {
        const colour = isFine && role === OUT ? "muted" : name;
        this.colours.push(pixel(`color-mix(in srgb, var(--${colour}) ${tint}%, var(--paper))`));
      }
    }
    probe.remove();
  }

  paintAll() {
    for (const rack of this.racks) {
      rack.pixels.fill(0);
      rack.dirty = [0, 0, rack.canvas.width, rack.canvas.height];
    }
    for (let partition = 0; partition < this.recording.partitions; partition++)
      this.paint(partition);
  }

  // Paints the replicas of a partition into the pixels; `show` brings them to the screen.
  paint(partition) {
    const { firstSlot, hosts, now } = this.recording;
    const shows = this.shows[now[partition]];
    const first = firstSlot[partition],
      end = firstSlot[partition + 1];
    for (let cell = first; cell < end; cell++) {
      const rack = this.racks[this.rackOf[hosts[cell]]];
      this.fill(rack, this.cellX[cell], this.cellY[cell], shows[cell - first]);
    }
  }

  fill(rack, x, y, shown) {
    const gap = this.cell >= 4 ? Math.max(1, Math.round(this.ratio)) : 0;
    const side = Math.round(this.cell * this.ratio) - gap,
      stride = rack.canvas.width;
    const colour = this.colours[shown],
      isHollow = this.cell >= FRAMED && shown > 0 && (shown - 1) % 3 === OUT;
    const edge = isHollow ? (side >= 8 ? 2 : 1) : side;
    for (let row = 0; row < side; row++) {
      const from = (y + row) * stride + x,
        isEdge = row < edge || row >= side - edge;
      if (isEdge) rack.pixels.fill(colour, from, from + side);
      else {
        rack.pixels.fill(colour, from, from + edge);
        rack.pixels.fill(0, from + edge, from + side - edge);
        rack.pixels.fill(colour, from + side - edge, from + side);
      }
    }
    const { dirty } = rack;
    if (dirty === null) rack.dirty = [x, y, x + side, y + side];
    else {
      if (x < dirty[0]) dirty[0] = x;
      if (y < dirty[1]) dirty[1] = y;
      if (x + side > dirty[2]) dirty[2] = x + side;
      if (y + side > dirty[3]) dirty[3] = y + side;
    }
  }

  show() {
    for (const rack of this.racks) {
      if (rack.dirty === null) continue;
      const [left, top, right, bottom] = rack.dirty;
      rack.context.putImageData(rack.image, 0, 0, left, top, right - left, bottom - top);
      rack.dirty = null;
    }
  }

  // Brokers as they are: `isRegistered`, `runs` and `hasFault` by place.
  showBrokers(isRegistered, runs, hasFault) {
    this.brokers.forEach((broker, at) => {
      const known = runs[at]
        ? isRegistered[at]
          ? ""
          : "waiting"
        : isRegistered[at]
          ? "stale"
          : "down";
      const look = `${known} ${hasFault[at] ? "fault" : ""}`;
      const words = { "": "", waiting: "not registered", stale: "down, registered", down: "down" }[
        known
      ];
      if (broker.look === look && broker.words === this.broker.width) return;
      Object.assign(broker, { look, words: this.broker.width });
      broker.element.className = `broker ${look}`;
      const mark = { "": "", waiting: "…", stale: "✕", down: "✕" }[known];
      broker.element.children[1].textContent =
        this.broker.width >= WORDS_WIDTH && known === "down" ? "✕ down" : mark;
      broker.element.children[2].textContent = hasFault[at] ? "▾" : "";
      const fault = hasFault[at] ? "; has a fault" : "";
      broker.element.title = `broker ${broker.id}${words && `: ${words}`}${fault}`;
    });
    for (const rack of this.racks) {
      const gone = rack.brokers.filter((broker) => !runs[broker]).length;
      const text = gone ? `${gone} of ${rack.brokers.length} down` : `${rack.brokers.length} up`;
      if (rack.down.textContent !== text) rack.down.textContent = text;
      rack.section.classList.toggle("lost", gone === rack.brokers.length);
    }
  }

  // The replica (its cell) at a place of the screen; -1: there is none.
  cellAt(event) {
    const at = this.racks.findIndex(({ floor }) => floor.contains(event.target));
    if (at < 0) return -1;
    const box = this.racks[at].floor.getBoundingClientRect();
    const x = event.clientX - box.left,
      y = event.clientY - box.top;
    const broker = this.racks[at].brokers.find((each) => {
      const { x: left, y: top } = this.brokers[each];
      return (
        x >= left &&
        x < left + this.broker.width &&
        y >= top + LABEL &&
        y < top + this.broker.height
      );
    });
    if (broker === undefined) return -1;
    const column = Math.floor((x - this.brokers[broker].x) / this.cell);
    const row = Math.floor((y - this.brokers[broker].y - LABEL) / this.cell);
    const place = row * this.columns + column,
      { hosts } = this.recording;
    for (let cell = 0; cell < hosts.length; cell++) {
      if (hosts[cell] === broker && this.place[cell] === place) return cell;
    }
    return -1;
  }

  // Puts a frame around each replica of a partition.
  mark(partition) {
    for (const each of this.marks) each.remove();
    const { firstSlot, hosts } = this.recording;
    this.marks = [];
    for (let cell = firstSlot[partition]; cell < firstSlot[partition + 1]; cell++) {
      const frame = this.racks[this.rackOf[hosts[cell]]].floor.appendChild(
        document.createElement("i"),
      );
      const side = Math.max(this.cell, 6);
      frame.className = "frame";
      Object.assign(frame.style, {
        left: `${this.cellX[cell] / this.ratio + (this.cell - side) / 2}px`,
        top: `${this.cellY[cell] / this.ratio + (this.cell - side) / 2}px`,
        width: `${side}px`,
        height: `${side}px`,
      });
      this.marks.push(frame);
    }
  }
}
