import { serverAudits } from 'graphql-http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../testkit/server.js';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

describe('GraphQL over HTTP, the public conformance suite', () => {
  const fetchFn = (url: string, init: RequestInit = {}) =>
    fetch(url, { ...init, headers: { 'apollo-require-preflight': '1', ...(init.headers as Record<string, string>) } });
  const audits = serverAudits({ url: () => `${server.url}/graphql`, fetchFn });

  for (const audit of audits) {
    it(`${audit.id} ${audit.name}`, async () => {
      const result = await audit.fn();
      expect(result.status, 'reason' in result ? result.reason : undefined).toBe('ok');
    });
  }
});
