import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startServer, type TestServer } from '../testkit/server.js';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const json = { 'content-type': 'application/json' };

describe('HTTP', () => {
  it('/healthz and /readyz answer 200', async () => {
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
  });

  it('echoes a sane request id and replaces others', async () => {
    const echoed = async (id: string) =>
      (await server.send('{ version }', {}, { 'x-request-id': id })).headers.get('x-request-id');
    expect(await echoed('job-7.try:2')).toBe('job-7.try:2');
    expect(await echoed('with spaces')).toMatch(/^[0-9a-f-]{36}$/);
    expect(await echoed('x'.repeat(65))).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('logs the request id and the operation name, and never variables', async () => {
    const query = 'query FindSecretPool($name: String) { pool(name: $name) { id } }';
    await server.send(query, { name: 'hunter2' }, { 'x-request-id': 'log-me' });
    await fetch(`${server.url}/graphql?query={version}&variables={"secret":"hunter2"}`, {
      headers: { 'apollo-require-preflight': '1' },
    });
    const line = { msg: 'request', reqId: 'log-me', operationName: 'FindSecretPool', operation: 'query', status: 200 };
    await vi.waitFor(() => expect(server.log).toContainEqual(expect.objectContaining({ ...line, path: '/graphql' })));
    expect(JSON.stringify(server.log)).not.toContain('hunter2');
  });

  it('answers malformed JSON, other media types and unknown paths in the shape of a GraphQL error', async () => {
    const malformed = await fetch(`${server.url}/graphql`, { method: 'POST', headers: json, body: '{"query":' });
    expect([malformed.status, await malformed.json()]).toMatchObject([
      400,
      { errors: [{ extensions: { code: 'BAD_REQUEST' } }] },
    ]);
    const text = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: '{"query":"{version}"}',
    });
    expect([text.status, await text.json()]).toMatchObject([
      415,
      { errors: [{ extensions: { code: 'UNSUPPORTED_MEDIA_TYPE' } }] },
    ]);
    const nowhere = await fetch(`${server.url}/nowhere`);
    expect([nowhere.status, await nowhere.json()]).toMatchObject([
      404,
      { errors: [{ extensions: { code: 'NOT_FOUND' } }] },
    ]);
  });

  it('does not run a query that a page of another site could send by GET', async () => {
    const response = await fetch(`${server.url}/graphql?query={version}`);
    expect(response.status).toBe(400);
    expect(JSON.stringify(await response.json())).toContain('CSRF');
  });

  it('does not run a mutation by GET', async () => {
    const query = encodeURIComponent('mutation { setHostBudget(input: {}) { __typename } }');
    const response = await fetch(`${server.url}/graphql?query=${query}`, {
      headers: { 'apollo-require-preflight': '1' },
    });
    expect(response.status).toBe(405);
  });

  it('serves GraphiQL at / with nothing from another origin', async () => {
    const page = await fetch(`${server.url}/`);
    expect(page.headers.get('content-type')).toContain('text/html');
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'self'");
    expect(policy).not.toMatch(/https?:|unsafe-eval/);
    const html = await page.text();
    expect(html).not.toMatch(/https?:\/\//);
    const links = [...html.matchAll(/(?:src|href)="(.+?)"/g)].map(([, link]) => link ?? '');
    expect(links.length).toBeGreaterThan(3);
    const workers = ['/graphiql/editor.worker.js', '/graphiql/graphql.worker.js', '/graphiql/json.worker.js'];
    for (const link of [...links, ...workers]) {
      const asset = await fetch(`${server.url}${link}`);
      expect([asset.status, link]).toEqual([200, link]);
      expect((await asset.text()).length).toBeGreaterThan(100);
    }
  });
});
