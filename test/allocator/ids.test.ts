import { describe, expect, it } from 'vitest';
import { IdIssuer } from '../../src/allocator/ids.js';

const key = new Uint8Array(32);

describe('an id', () => {
  it('is known to an issuer of its kind with its key, in this process or another', () => {
    const id = new IdIssuer('pool', key).idOf(36);
    expect(new IdIssuer('pool', key).numberOf(id)).toBe(36);
    expect(new IdIssuer('pool', new Uint8Array(32).fill(1)).numberOf(id)).toBeUndefined();
  });

  it('is no id of another kind', () => {
    const id = new IdIssuer('pool', key).idOf(1);
    for (const prefix of ['buf', 'reservation', 'p']) {
      expect(new IdIssuer(prefix, key).hasIssued(id)).toBe(false);
    }
  });

  it('is none with a part missing or changed', () => {
    const issuer = new IdIssuer('pool', key);
    const id = issuer.idOf(1);
    for (const other of ['', 'pool', 'pool_', 'pool_1', id.slice(0, -1), `${id}0`, id.replace('_1_', '_2_')])
      expect(issuer.hasIssued(other)).toBe(false);
  });
});
