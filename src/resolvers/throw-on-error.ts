import {
  defaultFieldResolver,
  GraphQLError,
  type GraphQLFieldResolver,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  isObjectType,
  isUnionType,
} from 'graphql';
import { type Failure, isFailure } from '../allocator/failure.js';
import type { RequestContext } from './context.js';
import { serializeObject } from './serialize.js';

/** The directive's name, without the @. */
export const THROW_ON_ERROR = 'throwOnError';

/** A failure that the caller wanted as a top-level error; its extensions are every field of the failure's type. */
export class ThrownFailure extends GraphQLError {}

/** Whether a field of that type may carry @throwOnError: a union with an error among its members. */
export function isResultUnion(type: unknown): boolean {
  if (!isUnionType(type)) return false;
  return type.getTypes().some((member) => member.getInterfaces().some(({ name }) => name === 'HostPoolError'));
}

/** Makes every field that returns a result union throw its error members where @throwOnError asks for it. */
export function enforceThrowOnError(schema: GraphQLSchema): void {
  for (const root of [schema.getQueryType(), schema.getMutationType()]) {
    for (const field of Object.values(root?.getFields() ?? {})) {
      if (isResultUnion(field.type)) field.resolve = throwing(field.resolve ?? defaultFieldResolver);
    }
  }
}

type Resolve = GraphQLFieldResolver<unknown, RequestContext>;

function throwing(resolve: Resolve): Resolve {
  return (root, args, context, info) => {
    const result = resolve(root, args, context, info);
    if (!isAskedFor(info)) return result;
    return result instanceof Promise ? result.then((value) => orThrow(value, info)) : orThrow(result, info);
  };
}

function isAskedFor({ fieldNodes }: GraphQLResolveInfo): boolean {
  return fieldNodes.some((node) => node.directives?.some(({ name }) => name.value === THROW_ON_ERROR));
}

function orThrow<T>(result: T, { schema }: GraphQLResolveInfo): T {
  if (!isFailure(result)) return result;
  throw new ThrownFailure(result.message, { extensions: extensionsOf(result, schema) });
}

function extensionsOf(failure: Failure, schema: GraphQLSchema): Record<string, unknown> {
  const type = schema.getType(failure.kind);
  if (!isObjectType(type)) throw new Error(`the schema has no type ${failure.kind}`);
  return { ...serializeObject(type, failure), __typename: failure.kind };
}
