// A server with so many live charges (its argument), kept on disk if "durable" follows, as `npm start` runs it but for the charges and the host root.
import { createAllocator } from '../../src/allocator/allocator.js';
import { Doctor } from '../../src/doctor/doctor.js';
import { createLogger } from '../../src/http/logger.js';
import { createServer } from '../../src/server.js';
import { smallHostRoot } from './host-root.js';
import { fill } from './live-charges.js';

const live = Number(process.argv[2]);
const root = smallHostRoot();
const logger = createLogger({ logLevel: 'silent' });
const stateDir = process.argv[3] === 'durable' ? process.env.HOSTPOOL_STATE_DIR : undefined;
const allocator = createAllocator({ hostRoot: root.path, reserveBytes: 0, stateDir, log: logger });
await fill(live, (spec) => allocator.reservations.reserve(spec));
root.becomeThisHost();
logger.level = 'info';

const { app } = await createServer({ allocator, doctor: new Doctor(allocator), logger, version: 'bench' });
const url = await app.listen({ host: '127.0.0.1', port: 0 });
logger.info({ url }, 'listening');
process.once('SIGTERM', () => {
  root.remove();
  process.exit(0);
});
