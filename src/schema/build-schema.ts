import { makeExecutableSchema } from '@graphql-tools/schema';
import type { GraphQLSchema } from 'graphql';
import { resolvers } from '../resolvers/resolvers.js';
import { enforceThrowOnError } from '../resolvers/throw-on-error.js';
import { readDefaultsAgain } from './default-values.js';
import { readTypeDefs } from './type-defs.js';

/** The executable schema: the .graphql files, their resolvers and what @throwOnError does. */
export function buildHostpoolSchema(): GraphQLSchema {
  const schema = makeExecutableSchema({ typeDefs: readTypeDefs(), resolvers });
  readDefaultsAgain(schema);
  enforceThrowOnError(schema);
  return schema;
}
