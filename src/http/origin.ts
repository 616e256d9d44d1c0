/** What is answered to a request for another host's name. */
export const FOREIGN_HOST = 'hostpool answers requests for localhost, 127.0.0.0/8 and [::1] only.';

/**
 * Whether a Host header names this machine's loopback. Any other name reached us by a DNS entry that points here, and
 * then a page of that name would count as ours.
 */
export function isLoopbackHost(host: string | undefined): boolean {
  return host !== undefined && /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i.test(host);
}

/** Browsers say where a page comes from: another site's page may not speak for its visitor. Other clients say nothing. */
export function isSameOrigin(origin: string | undefined, host: string | undefined): boolean {
  if (origin === undefined) return true;
  return URL.canParse(origin) && new URL(origin).host === host?.toLowerCase();
}
