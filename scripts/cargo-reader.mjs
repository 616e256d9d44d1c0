/** Reads what `cargo test -- --show-output` prints, line by line, into totals. */
export class CargoReader {
  #test = '';
  #hidden = false;
  #skipped = new Set();

  constructor(totals) {
    this.totals = totals;
  }

  /** Takes in a line; answers whether it is for the reader of the log. */
  read(line) {
    const result = /^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored/.exec(line);
    if (result !== null) this.#endSuite(result.slice(1).map(Number));
    if (result !== null || line === 'failures:') this.#hidden = false;
    if (line === 'successes:') this.#hidden = true;
    const test = /^---- (.+) stdout ----$/.exec(line)?.[1];
    if (test !== undefined) this.#test = test;
    if (line.startsWith('SKIPPED') && !this.#skipped.has(this.#test)) {
      this.#skipped.add(this.#test);
      this.totals.reasons.push(`${this.#test}: ${line.replace(/^SKIPPED:?\s*/, '')}`);
    }
    return !this.#hidden;
  }

  #endSuite([passed, failed, ignored]) {
    this.totals.passed += passed - this.#skipped.size;
    this.totals.failed += failed;
    this.totals.skipped += ignored + this.#skipped.size;
    this.#skipped.clear();
  }
}
