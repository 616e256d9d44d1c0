import { GraphQLError, GraphQLScalarType, Kind, print, type ValueNode } from 'graphql';
import { parseBytes, parseNumber } from '../quantity.js';

/** What an accepted Bytes value looks like, for the sentence of a refusal. */
const BYTES_ACCEPTED =
  'Bytes takes a whole number, a string of digits, or a number with a unit (KiB, MiB, GiB, TiB, kB, MB, GB, TB) that makes whole bytes, e.g. "10 GiB"';
const COUNT_ACCEPTED = 'Count takes a whole number or a string of digits';

/** A byte quantity; any finite number passes on, so that the field's owner can refuse it by name. */
export const Bytes = numberScalar('Bytes', BYTES_ACCEPTED, parseBytes);

/** A whole number; any finite number passes on, so that the field's owner can refuse it by name. */
export const Count = numberScalar('Count', COUNT_ACCEPTED, parseNumber);

/** A moment, out only. */
export const DateTime = new GraphQLScalarType<Date, string>({
  name: 'DateTime',
  serialize: (value) => (value as Date).toISOString(),
});

function numberScalar(name: string, accepted: string, parseText: (text: string) => number) {
  const parse = (value: unknown, shown: string, node?: ValueNode): number => {
    const number = typeof value === 'string' ? parseText(value) : value;
    if (typeof number === 'number' && Number.isFinite(number)) return number;
    throw badInput(`${accepted}, got ${shorten(shown)}.`, node);
  };
  return new GraphQLScalarType<number, number>({
    name,
    serialize: serializeCount,
    parseValue: (value) => parse(value, JSON.stringify(value) ?? String(value)),
    parseLiteral: (node) => parse(literalValue(node), print(node), node),
  });
}

/** Ints and floats as numbers, strings as strings, everything else as what no number scalar accepts. */
function literalValue(node: ValueNode): unknown {
  if (node.kind === Kind.INT || node.kind === Kind.FLOAT) return Number(node.value);
  return node.kind === Kind.STRING ? node.value : undefined;
}

function serializeCount(value: unknown): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw new TypeError(`not a count from 0 to 2^53-1: ${String(value)}`);
}

function badInput(message: string, node?: ValueNode): GraphQLError {
  return new GraphQLError(message, { nodes: node ?? null, extensions: { code: 'BAD_USER_INPUT' } });
}

function shorten(text: string): string {
  return text.length <= 60 ? text : `${text.slice(0, 60)}…`;
}
