import { makeExecutableSchema } from '@graphql-tools/schema';
import { type GraphQLSchema, isScalarType } from 'graphql';
import { resolvers } from '../resolvers/resolvers.js';
import { enforceThrowOnError } from '../resolvers/throw-on-error.js';
import { readDefaultsAgain } from './default-values.js';
import { readTypeDefs } from './type-defs.js';

/** The executable schema: the .graphql files, their resolvers and what @throwOnError does. */
export function buildHostpoolSchema(): GraphQLSchema {
  const schema = makeExecutableSchema({ typeDefs: readTypeDefs(), resolvers });
  describeScalars(schema);
  readDefaultsAgain(schema);
  enforceThrowOnError(schema);
  return schema;
}

/** A scalar's resolver replaces the scalar, description and all: put back what the .graphql file says. */
function describeScalars(schema: GraphQLSchema): void {
  for (const type of Object.values(schema.getTypeMap())) {
    if (isScalarType(type)) type.description ??= type.astNode?.description?.value;
  }
}
