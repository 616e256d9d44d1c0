import { describe, expect, it } from 'vitest';
import { type Sandbox, sandbox } from './sandbox.js';

const CARGO_OUTPUT = `
running 3 tests
test a ... ok
test b ... ok
test c ... ok

successes:

---- b stdout ----
SKIPPED: no cgroup can be made here

---- c stdout ----
chatter

successes:
    a
    b
    c

test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
`;

const MODELS = 'echo "test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out; finished in 1.00s"';

/** `models` is what cargo does when it is to build with loom. */
function clone(cargo: string, models = MODELS): Sandbox {
  const box = sandbox();
  box.write('cargo.out', CARGO_OUTPUT);
  box.tool('bin/cargo', `case "$RUSTFLAGS" in *"--cfg loom"*) ${models} ;; *) ${cargo} ;; esac`);
  const totals = JSON.stringify({ passed: 2, failed: 0, skipped: 1, reasons: ['x: no hugepages'] });
  box.tool('node_modules/.bin/vitest', `echo '${totals}' > "$TEST_TOTALS_FILE"`);
  return box;
}

const lines = (out: string) => out.trim().split('\n');

describe('npm test sums up', () => {
  it('tests of both languages and models, those that Rust skipped apart', async () => {
    const { code, out } = await clone('cat cargo.out').run('test.mjs');
    expect(code).toBe(0);
    expect(lines(out).slice(-3)).toEqual([
      'skipped: b: no cgroup can be made here',
      'skipped: x: no hugepages',
      '8 passed, 0 failed, 3 skipped',
    ]);
    expect(out).not.toContain('chatter');
  });

  it('what does not compile as failed', async () => {
    const { code, out } = await clone('echo "error: no" >&2; exit 101').run('test.mjs');
    expect(code).toBe(1);
    expect(lines(out).at(-1)).toBe('6 passed, 1 failed, 1 skipped');
  });

  it('models that fail', async () => {
    const models = 'echo "test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured"; exit 101';
    const { code, out } = await clone('cat cargo.out', models).run('test.mjs');
    expect(code).toBe(1);
    expect(lines(out).at(-1)).toBe('7 passed, 1 failed, 3 skipped');
  });
});
