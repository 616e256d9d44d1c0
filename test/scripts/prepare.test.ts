import { describe, expect, it } from 'vitest';
import { type Sandbox, sandbox } from './sandbox.js';

const addon = `native/hostpool.linux-${process.arch}-gnu.node`;

/** A clone whose tools only note that they ran. */
function clone(): Sandbox {
  const box = sandbox();
  box.write('Cargo.toml', 'rust-version = "1.89"\n');
  box.write('Cargo.lock', '');
  box.write('package.json', '{"type": "module"}');
  box.write('package-lock.json', '{}');
  box.write('src/main.ts', '');
  box.write('src/schema/a.graphql', '');
  box.write('scripts/graphiql-assets.mjs', graphiqlAssets());
  box.tool('bin/cargo', 'echo "cargo 1.89.0 (abc 2025-01-01)"');
  box.tool('tools/napi', `echo napi >> log; mkdir -p native; touch ${addon} native/index.js native/index.d.ts`);
  box.tool(
    'tools/tsc',
    'echo tsc >> log; [ -e slow ] && sleep 1; mkdir -p "$4"; touch "$4/main.js"; [ -e edit ] && cat edit > src/main.ts; true',
  );
  box.tool('bin/npm', 'echo npm >> log; mkdir -p node_modules/.bin; cp tools/* node_modules/.bin/');
  return box;
}

function graphiqlAssets(): string {
  return `import { mkdirSync, writeFileSync } from 'node:fs';
export function writeGraphiqlAssets(to) { mkdirSync(to, { recursive: true }); writeFileSync(to + '/index.html', ''); }`;
}

/** What ran, by a prepare that must go well. */
async function prepare(box: Sandbox): Promise<string> {
  box.write('log', '');
  const { code, out } = await box.run('prepare.mjs');
  expect(code, out).toBe(0);
  return box.read('log').trim().replaceAll('\n', ' ');
}

describe('npm start prepares', () => {
  it('everything the first time, and nothing the second', async () => {
    const box = clone();
    expect(await prepare(box)).toBe('npm napi tsc');
    expect(box.read('dist/schema/a.graphql')).toBe('');
    expect(await prepare(box)).toBe('');
  });

  it('again what was edited while it was being built', async () => {
    const box = clone();
    box.write('edit', 'edited');
    expect(await prepare(box)).toBe('npm napi tsc');
    expect(await prepare(box)).toBe('tsc');
    expect(await prepare(box)).toBe('');
  });

  it.each([
    ['dist/main.js', 'tsc'],
    ['native/index.js', 'napi'],
    [addon, 'napi'],
    ['node_modules/.bin/napi', 'npm'],
  ])('%s when it is not there', async (product, tool) => {
    const box = clone();
    await prepare(box);
    box.remove(product);
    expect(await prepare(box)).toBe(tool);
    expect(box.read(product)).toBeDefined();
  });

  it('again when its scripts have changed', async () => {
    const box = clone();
    await prepare(box);
    box.write('scripts/graphiql-assets.mjs', `${graphiqlAssets()} // changed`);
    expect(await prepare(box)).toBe('tsc');
    box.write('scripts/prepare.mjs', `${box.read('scripts/prepare.mjs')}\n// changed`);
    expect(await prepare(box)).toBe('napi tsc');
  });

  it('once when it is asked twice at the same time, and in spite of a lock whose owner died', async () => {
    const box = clone();
    box.write('slow', '');
    box.write('.hostpool-prepare.lock', '4194999');
    const ran = await Promise.all([prepare(box), box.run('prepare.mjs')]);
    expect(ran[1].code, ran[1].out).toBe(0);
    expect(box.read('log').split('\n').sort().join(' ').trim()).toBe('napi npm tsc');
    expect(() => box.read('.hostpool-prepare.lock')).toThrow('ENOENT');
  });

  it('not without the Rust it needs', async () => {
    const box = clone();
    box.tool('bin/cargo', 'echo "cargo 1.87.0 (abc 2025-01-01)"');
    const { code, out } = await box.run('prepare.mjs');
    expect(code).toBe(1);
    expect(out).toBe('hostpool: hostpool needs Rust 1.89 or newer; this is 1.87.0: run `rustup update`.\n');
  });
});
