import { readFile } from 'node:fs/promises';
import type { FastifyInstance, FastifyReply } from 'fastify';

/** Everything from our own origin. The editor makes its styles at run time, hence unsafe-inline for styles alone. */
const CONTENT_POLICY = [
  "default-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

const assets: Record<string, string> = {
  'boot.js': 'text/javascript; charset=utf-8',
  'editor.worker.js': 'text/javascript; charset=utf-8',
  'graphiql.css': 'text/css; charset=utf-8',
  'graphiql.js': 'text/javascript; charset=utf-8',
  'graphql.worker.js': 'text/javascript; charset=utf-8',
  'icon.svg': 'image/svg+xml',
  'json.worker.js': 'text/javascript; charset=utf-8',
};

/** Serves GraphiQL at /, from files beside the compiled server; its page asks no other origin for anything. */
export function serveGraphiql(app: FastifyInstance): void {
  app.get('/', (_request, reply) => send(reply, 'index.html', 'text/html; charset=utf-8'));
  for (const [name, type] of Object.entries(assets)) {
    app.get(`/graphiql/${name}`, (_request, reply) => send(reply, name, type));
  }
}

async function send(reply: FastifyReply, name: string, type: string): Promise<FastifyReply> {
  const file = await readFile(new URL(`../graphiql/${name}`, import.meta.url));
  void reply.header('content-security-policy', CONTENT_POLICY).header('x-content-type-options', 'nosniff');
  return reply.header('cache-control', 'no-cache').type(type).send(file);
}
