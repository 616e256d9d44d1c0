import { existsSync } from 'node:fs';
import type { Container } from './look.js';

/** What runs this process, by the marks that engines leave; undefined on the host itself. */
export function container(env: NodeJS.ProcessEnv = process.env): Container | undefined {
  if (env.KUBERNETES_SERVICE_HOST) return 'kubernetes';
  if (existsSync('/.dockerenv')) return 'docker';
  if (existsSync('/run/.containerenv')) return 'podman';
  return env.container ? 'container' : undefined;
}
