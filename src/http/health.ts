import type { FastifyInstance } from 'fastify';

/** /healthz: the process answers. /readyz: it accepts operations; 503 once it is shutting down. */
export function serveHealth(app: FastifyInstance, isDraining: () => boolean): void {
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    if (!isDraining()) return { status: 'ready' };
    return reply.code(503).send({ status: 'draining' });
  });
}
