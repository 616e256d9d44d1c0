import {
  type GraphQLObjectType,
  type GraphQLOutputType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';

/**
 * Every field of an object as it would be answered, for types whose fields take no arguments and no request context:
 * the error types.
 */
export function serializeObject(type: GraphQLObjectType, source: object): Record<string, unknown> {
  const fields = Object.values(type.getFields()).map((field) => {
    const resolve = field.resolve as ((source: object) => unknown) | undefined;
    const value = resolve === undefined ? source[field.name as keyof object] : resolve(source);
    return [field.name, serialize(field.type, value)];
  });
  return Object.fromEntries(fields);
}

function serialize(type: GraphQLOutputType, value: unknown): unknown {
  if (isNonNullType(type)) return serialize(type.ofType, value);
  if (value == null) return null;
  if (isListType(type)) return (value as unknown[]).map((item) => serialize(type.ofType, item));
  if (isLeafType(type)) return type.serialize(value);
  if (isObjectType(type)) return serializeObject(type, value);
  throw new Error(`an error type has a field of type ${String(type)}`);
}
