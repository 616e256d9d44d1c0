/** One way out of a failure; `field` and `value` where changing an input would have worked. */
export interface Remedy {
  readonly summary: string;
  readonly field?: string;
  readonly value?: string;
}

/** A remedy that changes one input field. */
export function set(field: string, value: string | number, summary: string): Remedy {
  return { summary, field, value: String(value) };
}

/** A remedy that is something to do. */
export function act(summary: string): Remedy {
  return { summary };
}

/** 1234567890 as "1.23 GB (1234567890 bytes)"; GB = 1e9, as in the documented messages. */
export function bytes(count: number): string {
  return count < 1e6 ? `${count} bytes` : `${(count / 1e9).toFixed(2)} GB (${count} bytes)`;
}

/** A hugepage size as sysfs spells it, e.g. "2048kB". */
export function sysfsSize(sizeBytes: number): string {
  return `${sizeBytes / 1024}kB`;
}
