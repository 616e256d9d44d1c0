const binary: readonly [string, number][] = [
  ['TiB', 2 ** 40],
  ['GiB', 2 ** 30],
  ['MiB', 2 ** 20],
  ['KiB', 2 ** 10],
];

/** Bytes in the largest unit that they fill, to one decimal: "10 GiB", "1.5 MiB", "512 bytes". */
export function size(bytes: number): string {
  const [unit, factor] = binary.find(([, factor]) => bytes >= factor) ?? ['bytes', 1];
  const value = Math.floor((bytes / factor) * 10) / 10;
  return `${value} ${unit}`;
}

/** A size of hugepages in an id or a kernel parameter: "2MiB", "1GiB". */
export function pageSize(bytes: number): string {
  return size(bytes).replace(' ', '');
}

/** As hugepagesz= and containers spell it: "2M", "1G"; Kubernetes puts an i behind. */
export function shortPageSize(bytes: number): string {
  return pageSize(bytes).replace('iB', '');
}

/** "1 page", "2 pages". */
export function count(number: number, noun: string, nouns = `${noun}s`): string {
  return `${number} ${number === 1 ? noun : nouns}`;
}

/** How a limit reads. */
export function limit(value: number | undefined | null, show: (value: number) => string = String): string {
  return value == null ? 'no limit' : show(value);
}

/** Text as one word of a shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
