import { type GraphQLResolveInfo, isObjectType } from 'graphql';
import { collectSubfields } from 'graphql/execution/collectFields.js';

/**
 * Under how many names a field is answered below the field being resolved, when that turns out to be a `typeName`:
 * fragments are looked through, and what @skip and @include leave out does not count.
 */
export function timesSelected(info: GraphQLResolveInfo, typeName: string, field: string): number {
  const { schema, fragments, variableValues, fieldNodes } = info;
  const type = schema.getType(typeName);
  if (!isObjectType(type)) throw new Error(`the schema has no type ${typeName}`);
  const answered = [...collectSubfields(schema, fragments, variableValues, type, fieldNodes).values()];
  return answered.filter(([node]) => node?.name.value === field).length;
}
