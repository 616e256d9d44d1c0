const units: Record<string, bigint> = {
  KiB: 2n ** 10n,
  MiB: 2n ** 20n,
  GiB: 2n ** 30n,
  TiB: 2n ** 40n,
  kB: 10n ** 3n,
  MB: 10n ** 6n,
  GB: 10n ** 9n,
  TB: 10n ** 12n,
};

/** Longer strings are no sizes; the bound keeps hostile ones from costing anything. */
const MAX_TEXT_LENGTH = 40;

/**
 * The number that a string spells: digits, optionally with a sign and decimals. NaN when it spells none; it may be
 * negative, fractional or huge, for whoever knows the field to refuse.
 */
export function parseNumber(text: string): number {
  return text.length <= MAX_TEXT_LENGTH && /^[+-]?\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
}

/** The bytes that a string such as "10 GiB" spells. NaN when it spells none, or not whole bytes. */
export function parseBytes(text: string): number {
  const [, whole, decimals = '', unit] = /^(\d{1,20})(?:\.(\d{1,15}))?\s?([A-Za-z]{2,3})$/.exec(text) ?? [];
  const factor = Object.hasOwn(units, unit ?? '') ? units[unit ?? ''] : undefined;
  if (factor === undefined) return parseNumber(text);
  const scale = 10n ** BigInt(decimals.length);
  const scaled = BigInt(`${whole}${decimals}`) * factor;
  return scaled % scale === 0n ? Number(scaled / scale) : Number.NaN;
}
