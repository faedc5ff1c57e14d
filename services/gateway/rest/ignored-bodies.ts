import type { FastifyRequest } from 'fastify';

/** Verbs whose bodies have no meaning (RFC 9110, 9.3.1), and which Fastify leaves unread. */
const BODILESS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'TRACE']);

/**
 * True when the body of a request is not read. Nothing may be attached to such a body: Node discards it after the
 * answer, but only while no reader has touched it, and else the next request of the connection waits behind it.
 */
export const isBodyIgnored = ({ method }: FastifyRequest): boolean => BODILESS.has(method);
