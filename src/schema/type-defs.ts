import { readdirSync, readFileSync } from 'node:fs';

/** The .graphql files beside this module, in order of their names. */
export function readTypeDefs(): string[] {
  const directory = new URL('./', import.meta.url);
  return readdirSync(directory)
    .filter((name) => name.endsWith('.graphql'))
    .sort()
    .map((name) => readFileSync(new URL(name, directory), 'utf8'));
}
