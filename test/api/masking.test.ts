import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createAllocator } from '../../src/allocator/allocator.js';
import { Doctor } from '../../src/doctor/doctor.js';
import { createServer } from '../../src/server.js';
import { post } from '../testkit/graphql.js';
import { plainHost } from '../testkit/host-root.js';

async function serverWithBug() {
  const log: Record<string, unknown>[] = [];
  const logger = pino({ level: 'info' }, { write: (line: string) => void log.push(JSON.parse(line)) });
  const host = plainHost(2 ** 30);
  const allocator = createAllocator({ hostRoot: host.path, reserveBytes: 0, log: logger });
  // The real service, with one part that throws what nobody expects.
  allocator.host.read = () => Promise.reject(new Error('secret detail in /etc/passwd'));
  const server = await createServer({ allocator, doctor: new Doctor(allocator), logger, version: '0' });
  const url = await server.app.listen({ port: 0, host: '127.0.0.1' });
  onTestFinished(async () => {
    await server.close();
    host.remove();
  });
  return { url, log };
}

describe('a bug', () => {
  it('is masked, with a request id that finds it in the log', async () => {
    const { url, log } = await serverWithBug();
    const { status, body } = await post(
      `${url}/graphql`,
      { query: '{ version host { hostname } }' },
      { 'x-request-id': 'bug-1' },
    );
    expect(status).toBe(200);
    expect(body).toEqual({
      data: null,
      errors: [
        {
          message: 'Internal server error',
          path: ['host'],
          extensions: { code: 'INTERNAL_SERVER_ERROR', requestId: 'bug-1' },
        },
      ],
    });
    const line = log.find(({ msg }) => msg === 'bug');
    expect(line).toMatchObject({
      reqId: 'bug-1',
      err: { message: 'secret detail in /etc/passwd', stack: expect.any(String) },
    });
  });

  it('is masked in streams too', async () => {
    const { url, log } = await serverWithBug();
    const response = await fetch(`${url}/graphql/stream`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream', 'x-request-id': 'bug-2' },
      body: JSON.stringify({ query: '{ host { hostname } }' }),
    });
    const text = await response.text();
    expect(text).toContain('"requestId":"bug-2"');
    expect(text).not.toContain('secret');
    expect(log.find(({ msg }) => msg === 'bug')).toMatchObject({ reqId: 'bug-2' });
  });
});
