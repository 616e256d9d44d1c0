import { ApolloServer, type ApolloServerPlugin } from '@apollo/server';
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginLandingPageDisabled,
  ApolloServerPluginUsageReportingDisabled,
} from '@apollo/server/plugin/disabled';
import { ApolloServerPluginDrainHttpServer } from '@apollo/server/plugin/drainHttpServer';
import { fastifyApolloDrainPlugin } from '@as-integrations/fastify';
import type { FastifyInstance } from 'fastify';
import type { GraphQLError, GraphQLFormattedError, GraphQLSchema } from 'graphql';
import type { Logger } from 'pino';
import {
  acceptPlugin,
  bugPlugin,
  longListsPlugin,
  subscriptionPlugin,
  thrownFailurePlugin,
  tracePlugin,
} from './apollo-plugins.js';
import { MAX_TOKENS } from './limits.js';
import { isBug, maskedError } from './mask-errors.js';
import { hostpoolRules } from './rules.js';
import type { ServerContext } from './server-context.js';

/** Apollo Server over the schema: nothing that phones home, bugs masked, documents bounded. Not started. */
export function createApollo(schema: GraphQLSchema, app: FastifyInstance, logger: Logger): ApolloServer<ServerContext> {
  return new ApolloServer<ServerContext>({
    schema,
    logger,
    introspection: true,
    csrfPrevention: true,
    persistedQueries: false,
    stopOnTerminationSignals: false,
    includeStacktraceInErrorResponses: false,
    parseOptions: { maxTokens: MAX_TOKENS },
    validationRules: hostpoolRules,
    formatError,
    plugins: [
      ...quietPlugins(),
      fastifyApolloDrainPlugin(app),
      ApolloServerPluginDrainHttpServer({ httpServer: app.server }),
      subscriptionPlugin,
      longListsPlugin,
      tracePlugin,
      bugPlugin,
      acceptPlugin,
      thrownFailurePlugin,
    ],
  });
}

function quietPlugins(): ApolloServerPlugin<ServerContext>[] {
  return [
    ApolloServerPluginLandingPageDisabled(),
    ApolloServerPluginUsageReportingDisabled(),
    ApolloServerPluginCacheControlDisabled(),
  ];
}

/** Masks bugs; the request's id is added by `bugPlugin`. A literal that a scalar refuses is bad input, as a variable is. */
function formatError(formatted: GraphQLFormattedError, error: unknown): GraphQLFormattedError {
  if (formatted.extensions?.code === 'INTERNAL_SERVER_ERROR' || isResolverBug(error))
    return maskedError(formatted.path);
  const original = (error as GraphQLError).originalError as { extensions?: { code?: unknown } } | undefined;
  if (original?.extensions?.code !== 'BAD_USER_INPUT') return formatted;
  return { ...formatted, extensions: { ...formatted.extensions, code: 'BAD_USER_INPUT' } };
}

function isResolverBug(error: unknown): boolean {
  return isBug(error) && (error as Partial<GraphQLError>).path !== undefined;
}
