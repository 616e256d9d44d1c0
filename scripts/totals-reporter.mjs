// A vitest reporter that writes the totals, and why each skipped test was skipped, for scripts/test.mjs.
import { writeFileSync } from 'node:fs';

export default class TotalsReporter {
  totals = { passed: 0, failed: 0, skipped: 0, reasons: [] };

  onTestCaseResult(test) {
    const { state, note } = test.result();
    this.totals[state] += 1;
    if (state === 'skipped') this.totals.reasons.push(`${test.fullName}: ${note ?? 'no reason given'}`);
  }

  onTestRunEnd(_modules, unhandledErrors, reason) {
    if (reason === 'failed' && this.totals.failed === 0) this.totals.failed = Math.max(1, unhandledErrors.length);
    writeFileSync(process.env.TEST_TOTALS_FILE, JSON.stringify(this.totals));
  }
}
