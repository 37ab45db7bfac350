// The time that everything on the page shows, and what moves it.

const speeds = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

export class Player {
  /// `chapters`: stretches with names, of which one is shown at a time, round and round.
  constructor(time, chapters = []) {
    this.time = time;
    this.chapters = chapters;
    this.loops = chapters.length > 0;
    this.start = time[0] ?? 0;
    this.end = time[time.length - 1] ?? 0;
    this.t = this.start;
    this.playing = false;
    this.listeners = [];
    // Real time, unless that is over before one sees it or lasts too long to watch.
    const duration = this.end - this.start;
    this.speed = speeds.find((s) => duration / s <= 30) ?? 1;
    if (duration >= 2 && duration <= 60) this.speed = 1;
    if (this.loops) this.choose(0);
  }

  choose(k) {
    this.chapter = k;
    this.start = this.chapters[k].from;
    this.end = this.chapters[k].to;
    this.speed = 1;
    this.seek(this.start);
  }

  get canPlay() { return this.end > this.start; }

  onChange(listener) { this.listeners.push(listener); }
  changed() { for (const listener of this.listeners) listener(this); }

  seek(t) {
    this.t = Math.min(Math.max(t, this.start), this.end);
    this.changed();
  }

  step(frames) {
    this.pause();
    let k = 0;
    while (k + 1 < this.time.length && this.time[k + 1] <= this.t + 1e-9 * (this.end - this.start)) ++k;
    this.seek(this.time[Math.min(Math.max(k + frames, 0), this.time.length - 1)]);
  }

  faster(by) {
    const k = speeds.indexOf(this.speed) + by;
    this.speed = speeds[Math.min(Math.max(k, 0), speeds.length - 1)];
    this.changed();
  }

  pause() {
    this.playing = false;
    this.changed();
  }

  toggle() {
    if (!this.canPlay) return;
    this.playing = !this.playing;
    if (this.playing) {
      if (this.t >= this.end) this.t = this.start;
      let before = performance.now();
      const tick = (now) => {
        if (!this.playing) return;
        // A tab that slept goes on where it was.
        this.t += Math.min((now - before) / 1000, 0.25) * this.speed;
        before = now;
        if (this.t >= this.end) {
          this.t = this.loops ? this.start : this.end;
          this.playing = this.loops;
        }
        this.changed();
        if (this.playing) requestAnimationFrame(tick);
      };
      requestAnimationFrame(tick);
    }
    this.changed();
  }
}
