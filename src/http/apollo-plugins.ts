import type { ApolloServerPlugin, GraphQLRequestContext } from '@apollo/server';
import { type FormattedExecutionResult, GraphQLError } from 'graphql';
import { ThrownFailure } from '../resolvers/throw-on-error.js';
import { cutLongLists } from './limits.js';
import { noteOperation } from './request-log.js';
import type { ServerContext } from './server-context.js';

type Plugin = ApolloServerPlugin<ServerContext>;

/** Refuses a subscription sent as a plain request, which would run once as if it were a query. */
export const subscriptionPlugin: Plugin = {
  async requestDidStart() {
    return {
      async didResolveOperation({ operation }) {
        if (operation?.operation !== 'subscription') return;
        const message =
          'Subscriptions are served over graphql-ws at /graphql and server-sent events at /graphql/stream.';
        throw new GraphQLError(message, { extensions: { code: 'BAD_REQUEST', http: { status: 400 } } });
      },
    };
  },
};

/** Spares the server to look at lists that every field refuses. */
export const longListsPlugin: Plugin = {
  async requestDidStart({ request }) {
    if (request.variables !== undefined)
      request.variables = cutLongLists(request.variables) as typeof request.variables;
  },
};

/** Tells the log which operation a request carries. */
export const tracePlugin: Plugin = {
  async requestDidStart() {
    return {
      async didResolveOperation({ operation, operationName, contextValue }) {
        noteOperation(contextValue.request, operation?.operation, operationName);
      },
    };
  },
};

/** Logs bugs in full, and gives the client the request id to report. */
export const bugPlugin: Plugin = {
  async requestDidStart() {
    return {
      async willSendResponse({ response, errors, contextValue }) {
        const masked = singleResult(response)?.errors ?? [];
        for (const [index, { extensions }] of masked.entries()) {
          if (extensions?.code !== 'INTERNAL_SERVER_ERROR') continue;
          extensions.requestId = contextValue.requestId;
          const bug = errors?.[index];
          contextValue.request.log.error({ err: bug?.originalError ?? bug }, 'bug');
        }
      },
    };
  },
};

const REQUEST_ERRORS = new Set(['GRAPHQL_PARSE_FAILED', 'GRAPHQL_VALIDATION_FAILED', 'BAD_USER_INPUT']);

/** GraphQL over HTTP: a client that asks for application/json only is told of a bad document with status 200. */
export const acceptPlugin: Plugin = {
  async requestDidStart() {
    return {
      async willSendResponse({ request, response }) {
        const accept = request.http?.headers.get('accept') ?? '';
        if (!accept.includes('application/json') || accept.includes('application/graphql-response+json')) return;
        const errors = singleResult(response)?.errors ?? [];
        if (response.http.status !== 400 || errors.length === 0) return;
        if (errors.every(({ extensions }) => REQUEST_ERRORS.has(String(extensions?.code)))) response.http.status = 200;
      },
    };
  },
};

/** Status 422 when the whole operation produced only errors that @throwOnError threw. */
export const thrownFailurePlugin: Plugin = {
  async requestDidStart() {
    return {
      async willSendResponse({ response, errors }) {
        if (!errors?.length || !errors.every(({ originalError }) => originalError instanceof ThrownFailure)) return;
        const fields = Object.values(singleResult(response)?.data ?? {});
        if (fields.every((field) => field === null)) response.http.status = 422;
      },
    };
  },
};

function singleResult(
  response: GraphQLRequestContext<ServerContext>['response'],
): FormattedExecutionResult | undefined {
  return response.body?.kind === 'single' ? (response.body.singleResult as FormattedExecutionResult) : undefined;
}
