// What an admission decision (a reservation and its release) costs with 10, 1,000 and 100,000 live charges, through the
// addon and over GraphQL: it must not grow with them. The crate's own figures are those of `cargo bench --bench admission`.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openAddon } from './admission/addon-door.js';
import { compare, type Door } from './admission/compare.js';
import { openGraphql } from './admission/graphql-door.js';

const LIVE = [10, 1_000, 100_000];

/** Another way to decide is another row. */
const DOORS: [string, (live: number) => Promise<Door>][] = [
  ['addon', (live) => openAddon(live)],
  ['addon, on disk', (live) => openAddon(live, mkdtempSync(join(tmpdir(), 'hostpool-bench-')))],
  ['GraphQL', (live) => openGraphql(live, false)],
  ['GraphQL, on disk', (live) => openGraphql(live, true)],
];

for (const [name, open] of DOORS) {
  const doors: Door[] = [];
  for (const live of LIVE) doors.push(await open(live));
  try {
    await compare(name, doors);
  } finally {
    await Promise.all(doors.map((door) => door.close()));
  }
}
