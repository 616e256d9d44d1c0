import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse, validate } from 'graphql';
import { describe, expect, it, onTestFinished } from 'vitest';
import { buildHostpoolSchema } from '../../src/schema/build-schema.js';
import { fakeHost } from '../testkit/host-root.js';
import { startServerForTest } from '../testkit/server.js';

interface Case {
  name: string;
  source: string;
  why: string;
  host: Record<string, string>;
  env?: Record<string, string>;
  steps: { query: string; variables?: unknown; expect: object }[];
}

const folder = fileURLToPath(new URL('../../../shared/cases/', import.meta.url));
const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')) : [];
const cases = files.map((name): Case => JSON.parse(readFileSync(`${folder}${name}`, 'utf8')));
const schema = buildHostpoolSchema();

describe('real cases, replayed over HTTP against a server with that host', () => {
  if (cases.length === 0) it('are found', (context) => context.skip(`there is no folder ${folder}`));

  for (const testCase of cases) {
    it(`${testCase.name} (${testCase.source})`, async (context) => {
      const missing = missingOperations(testCase);
      if (missing !== undefined) context.skip(missing);
      await replay(testCase);
    });
  }
});

async function replay({ host, env, steps }: Case): Promise<void> {
  const fake = fakeHost(host);
  onTestFinished(fake.remove);
  const server = await startServerForTest({ HOSTPOOL_HOST_ROOT: fake.path, HOSTPOOL_RESERVE: '10GiB', ...env });
  for (const { query, variables, expect: expected } of steps) {
    const { body } = await server.send(query, variables);
    expect(body, query).toMatchObject(expected);
  }
}

/** Why a case cannot run here; undefined when it can. */
function missingOperations({ steps }: Case): string | undefined {
  const errors = steps.flatMap(({ query }) => validate(schema, parse(query)));
  return errors.length === 0 ? undefined : `needs operations that are not here yet: ${errors[0]?.message}`;
}
