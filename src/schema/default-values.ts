import {
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLSchema,
  isInputObjectType,
  isObjectType,
  valueFromAST,
} from 'graphql';

/**
 * Reads every default again, now that scalars and enums have their resolvers: the schema was built from text without
 * them, so a default such as "2MiB" or ANONYMOUS_SHM was kept as it is written. Inputs first, since a default of {}
 * takes in the defaults of the fields below it.
 */
export function readDefaultsAgain(schema: GraphQLSchema): void {
  const types = Object.values(schema.getTypeMap());
  const fields = types.filter(isInputObjectType).flatMap((type) => Object.values(type.getFields()));
  const args = types
    .filter(isObjectType)
    .flatMap((type) => Object.values(type.getFields()).flatMap(({ args }) => args));
  const nested = (input: GraphQLInputField) => input.astNode?.defaultValue?.kind === 'ObjectValue';
  const order = [...fields.filter((field) => !nested(field)), ...fields.filter(nested), ...args];
  for (const input of order) readDefault(input);
}

function readDefault(input: GraphQLInputField | GraphQLArgument): void {
  const written = input.astNode?.defaultValue;
  if (written != null) input.defaultValue = valueFromAST(written, input.type);
}
