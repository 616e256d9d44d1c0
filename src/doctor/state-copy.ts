import { accessSync, constants, copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** The state file and its log (crates/allocator/src/state/file.rs). */
const FILE = 'hostpool.sqlite3';
const FILES = [FILE, `${FILE}-wal`];

/** A copy of what is kept, to be opened in place of it. */
export interface StateCopy {
  readonly folder: string;
  remove(): void;
}

/** Where the state is in its folder. */
export function stateFileIn(folder: string): string {
  return join(folder, FILE);
}

/** Whether there is anything in the folder to copy. */
export function hasState(folder: string): boolean {
  return FILES.some((name) => existsSync(join(folder, name)));
}

/** Copies what is kept to a folder of this process alone. The one it comes from is only read. Throws when it cannot be. */
export function copyState(folder: string): StateCopy {
  const copy = newFolder();
  const remove = () => rmSync(copy, { recursive: true, force: true });
  try {
    for (const name of FILES.filter((name) => existsSync(join(folder, name))))
      copyFileSync(join(folder, name), join(copy, name));
    return { folder: copy, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

/** A container's file system may be read-only but for its shared memory. */
function newFolder(): string {
  try {
    return mkdtempSync(join(tmpdir(), 'hostpool-doctor-'));
  } catch {
    return mkdtempSync('/dev/shm/hostpool-doctor-');
  }
}

/** Why a start could not write there; undefined when it could. Makes nothing. */
export function whyNotWritable(folder: string): string | undefined {
  const nearest = nearestThatExists(folder);
  try {
    accessSync(nearest, constants.R_OK | constants.W_OK | constants.X_OK);
    for (const name of FILES.filter((name) => existsSync(join(folder, name))))
      accessSync(join(folder, name), constants.R_OK | constants.W_OK);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** The folder, or the nearest one above it that is there. */
export function nearestThatExists(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : nearestThatExists(dirname(folder));
}

/**
 * Whether a hostpool has the folder, by the kernel's list of locks (proc_locks(5)): to try the lock would be in the way of
 * one that starts. A lock from another pid namespace may not be listed.
 */
export function isInUse(folder: string, locks = readLocks()): boolean {
  if (!existsSync(folder)) return false;
  const { dev, ino } = statSync(folder, { bigint: true });
  const places = locks.split('\n').map((line) => /\bFLOCK +ADVISORY +WRITE +\S+ +(\S+):(\S+):(\d+) /.exec(line));
  return places.some((place) => {
    if (place === null || BigInt(place[3] ?? '') !== ino) return false;
    // Where a file system numbers its parts itself (btrfs, overlay), stat tells another device than the list.
    return major(dev) === 0n || (hex(place[1]) === major(dev) && hex(place[2]) === minor(dev));
  });
}

function readLocks(): string {
  try {
    return readFileSync('/proc/locks', 'utf8');
  } catch {
    return '';
  }
}

function hex(digits: string | undefined): bigint {
  return BigInt(`0x${digits ?? '0'}`);
}

/** As the kernel packs device numbers for stat(2) (include/linux/kdev_t.h, glibc's sys/sysmacros.h). */
function major(dev: bigint): bigint {
  return ((dev >> 8n) & 0xfffn) | ((dev >> 32n) & ~0xfffn);
}

function minor(dev: bigint): bigint {
  return (dev & 0xffn) | ((dev >> 12n) & ~0xffn);
}
