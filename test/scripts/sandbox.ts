import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const scripts = fileURLToPath(new URL('../../scripts', import.meta.url));

/** A folder with our scripts, where the tools that they call are ones the test writes. */
export interface Sandbox {
  write(path: string, text: string): void;
  /** Writes a shell script: below bin/ it is found by its name. */
  tool(path: string, text: string): void;
  read(path: string): string;
  remove(path: string): void;
  run(script: string): Promise<{ code: number | null; out: string }>;
}

/** A new one, gone when the test ends. */
export function sandbox(): Sandbox {
  const root = mkdtempSync(join(tmpdir(), 'hostpool-scripts-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  cpSync(scripts, join(root, 'scripts'), { recursive: true });
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  return {
    write,
    tool: (path, text) => {
      write(path, `#!/bin/sh\n${text}\n`);
      chmodSync(join(root, path), 0o755);
    },
    read: (path) => readFileSync(join(root, path), 'utf8'),
    remove: (path) => rmSync(join(root, path), { recursive: true }),
    run: async (script) => {
      const env = { ...process.env, PATH: `${join(root, 'bin')}:${process.env.PATH}` };
      const child = spawn(process.execPath, [join('scripts', script)], { cwd: root, env, stdio: 'pipe' });
      let out = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk) => {
          out += chunk;
        });
      const [code] = await once(child, 'close');
      return { code, out };
    },
  };
}
