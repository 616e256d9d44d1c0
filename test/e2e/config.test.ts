import { once } from 'node:events';
import { createServer } from 'node:net';
import { homedir } from 'node:os';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readConfig } from '../../src/config.js';
import { VERSION } from '../../src/version.js';
import { runMain, startServerForTest } from '../testkit/server.js';

describe('settings', () => {
  it('have defaults', () => {
    expect(readConfig([], {})).toEqual({
      kind: 'Config',
      config: {
        address: '127.0.0.1',
        port: 4400,
        hostRoot: '/',
        reserveBytes: 10 * 2 ** 30,
        logLevel: 'info',
        stateDir: `${homedir()}/.local/state/hostpool`,
        withoutEffect: [],
      },
    });
  });

  it('keep the state of each host root apart, in a folder of the user', () => {
    const stateDir = (env: Record<string, string>) => {
      const outcome = readConfig([], { XDG_STATE_HOME: '/state', ...env });
      return outcome.kind === 'Config' ? outcome.config.stateDir : outcome;
    };
    expect(stateDir({})).toBe('/state/hostpool');
    expect(stateDir({ HOSTPOOL_HOST_ROOT: '/./' })).toBe('/state/hostpool');
    expect(stateDir({ HOSTPOOL_HOST_ROOT: '/a' })).toMatch(/^\/state\/hostpool\/host-roots\/[0-9a-f]{16}$/);
    expect(stateDir({ HOSTPOOL_HOST_ROOT: '/a' })).not.toBe(stateDir({ HOSTPOOL_HOST_ROOT: '/b' }));
    expect(stateDir({ XDG_STATE_HOME: 'relative' })).toBe(`${homedir()}/.local/state/hostpool`);
    expect(stateDir({ HOSTPOOL_STATE_DIR: 'relative' })).toMatchObject({ kind: 'Invalid' });
  });

  it('are read from HOSTPOOL_* variables, an empty one counting as unset', () => {
    const env = {
      HOSTPOOL_ADDRESS: '::1',
      HOSTPOOL_PORT: '0',
      HOSTPOOL_HOST_ROOT: '/host',
      HOSTPOOL_RESERVE: '1.5 GiB',
      HOSTPOOL_LOG_LEVEL: '',
      HOSTPOOL_STATE_DIR: '/var/lib/hostpool',
      HOSTPOOL_ENGINE_SOCKET: '/run/hostpool.sock',
      PATH: '/bin',
    };
    expect(readConfig([], env)).toMatchObject({
      config: {
        address: '::1',
        port: 0,
        hostRoot: '/host',
        reserveBytes: 1.5 * 2 ** 30,
        stateDir: '/var/lib/hostpool',
        withoutEffect: ['HOSTPOOL_ENGINE_SOCKET'],
      },
    });
  });

  it.each([
    ['HOSTPOOL_PORT', '70000', 'from 0 to 65535'],
    ['HOSTPOOL_PORT', '-1', 'from 0 to 65535'],
    ['HOSTPOOL_PORT', 'http', 'from 0 to 65535'],
    ['HOSTPOOL_RESERVE', '10 gigs', 'e.g. 10GiB'],
    ['HOSTPOOL_RESERVE', '-1', 'e.g. 10GiB'],
    ['HOSTPOOL_HOST_ROOT', 'relative', 'absolute path'],
    ['HOSTPOOL_LOG_LEVEL', 'loud', 'trace, debug'],
    ['HOSTPOOL_ADDRESS', '0.0.0.0', 'no access control yet'],
    ['HOSTPOOL_ADDRESS', '::', 'no access control yet'],
    ['HOSTPOOL_ADDRESS', 'example.org', 'no access control yet'],
    ['HOSTPOOL_PROT', '1', 'did you mean HOSTPOOL_PORT?'],
    ['HOSTPOOL_XYZZY', '1', 'unknown variable'],
  ])('%s=%s is refused: %s', (name, value, message) => {
    const outcome = readConfig([], { [name]: value });
    expect(outcome).toEqual({ kind: 'Invalid', problems: [expect.stringContaining(message)] });
    expect(outcome).toEqual({ kind: 'Invalid', problems: [expect.stringMatching(`^${name}: `)] });
  });

  it.each(['127.0.0.1', '127.8.8.8', 'localhost', '::1'])('%s is loopback', (HOSTPOOL_ADDRESS) => {
    expect(readConfig([], { HOSTPOOL_ADDRESS })).toMatchObject({ kind: 'Config' });
  });
});

describe('the process', () => {
  it('lists every problem at once and exits 2', async () => {
    const { code, err } = await runMain(['--port=1'], {
      HOSTPOOL_PORT: 'x',
      HOSTPOOL_RESERVE: 'y',
      HOSTPOOL_PROT: '1',
    });
    expect(code).toBe(2);
    expect(err.trim().split('\n')).toHaveLength(4);
  });

  it('prints help and version', async () => {
    const help = await runMain(['--help'], {});
    expect(help).toMatchObject({ code: 0, err: '' });
    expect(help.out).toContain('HOSTPOOL_HOST_ROOT');
    expect(await runMain(['--version'], {})).toEqual({ code: 0, out: `${VERSION}\n`, err: '' });
  });

  it('says that a port is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    onTestFinished(() => void other.close());
    const { port } = other.address() as { port: number };
    const { code, err } = await runMain([], { HOSTPOOL_PORT: String(port) });
    expect(code).toBe(1);
    expect(err).toContain(`hostpool: port ${port} on 127.0.0.1 is taken: set HOSTPOOL_PORT to another, or to 0`);
  });

  it('says that a host root cannot be read', async () => {
    const { code, err } = await runMain([], { HOSTPOOL_HOST_ROOT: '/nowhere', HOSTPOOL_PORT: '0' });
    expect(code).toBe(1);
    expect(err).toMatch(/cannot read this host below \/nowhere: .*meminfo/);
  });

  it('says which variables have no effect yet', async () => {
    const server = await startServerForTest({ HOSTPOOL_ENGINE_SOCKET: '/tmp/x' });
    expect(server.log).toContainEqual(expect.objectContaining({ level: 'warn', variable: 'HOSTPOOL_ENGINE_SOCKET' }));
    expect(server.log).toContainEqual(
      expect.objectContaining({ msg: 'listening', address: '127.0.0.1', port: expect.any(Number), url: server.url }),
    );
  });
});
