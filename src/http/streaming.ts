import { type ExecutionArgs, GraphQLError, type GraphQLSchema, parse, specifiedRules, validate } from 'graphql';
import type { RequestContext } from '../resolvers/context.js';
import { cutLongLists, MAX_TOKENS } from './limits.js';
import { hostpoolRules } from './rules.js';

/** An operation as graphql-ws and graphql-sse deliver it. */
export interface StreamedOperation {
  readonly query?: unknown;
  readonly operationName?: string | null | undefined;
  readonly variables?: Record<string, unknown> | null | undefined;
}

const TOO_DEEP = 'Syntax Error: the document is nested too deeply.';

/** Parses and validates under the same limits and rules as a plain request; the errors carry the same codes. */
export function prepareOperation(
  schema: GraphQLSchema,
  { query, operationName, variables }: StreamedOperation,
  contextValue: RequestContext,
): ExecutionArgs | GraphQLError[] {
  try {
    const document = parse(String(query ?? ''), { maxTokens: MAX_TOKENS });
    const errors = validate(schema, document, [...specifiedRules, ...hostpoolRules]);
    if (errors.length > 0) return errors.map((error) => coded(error, 'GRAPHQL_VALIDATION_FAILED'));
    const variableValues = cutLongLists(variables) as typeof variables;
    return { schema, document, operationName, variableValues, contextValue };
  } catch (error) {
    if (error instanceof GraphQLError) return [coded(error, 'GRAPHQL_PARSE_FAILED')];
    // The parser is recursive: a document nested thousands deep overflows its stack, which is the document's fault.
    if (error instanceof RangeError)
      return [new GraphQLError(TOO_DEEP, { extensions: { code: 'GRAPHQL_PARSE_FAILED' } })];
    throw error;
  }
}

function coded(error: GraphQLError, code: string): GraphQLError {
  const { nodes, source, positions, extensions } = error;
  return new GraphQLError(error.message, { nodes, source, positions, extensions: { code, ...extensions } });
}
