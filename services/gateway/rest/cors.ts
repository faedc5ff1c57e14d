import cors from '@fastify/cors';
import type { FastifyInstance } from 'fastify';

import type { Cors } from '../exchange.js';

const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'PATCH'];

const ALLOWED_HEADERS = [
  'accept',
  'authorization',
  'content-encoding',
  'content-md5',
  'content-type',
  'flightlog-min-position',
  'flyte-authorization',
  'grpc-timeout',
  'idempotency-key',
  'traceparent',
  'x-request-id',
];

/** Response metadata, which is sent also with the prefix of grpc-gateway. */
const RESPONSE_METADATA = ['flightlog-position', 'flightlog-request-id', 'flightlog-unread'];

const EXPOSED = [
  ...RESPONSE_METADATA,
  ...RESPONSE_METADATA.map((name) => `grpc-metadata-${name}`),
  'flightlog-ignored',
  'grpc-metadata-content-type',
  'retry-after',
];

const MAX_AGE_S = 600;

/**
 * Allows pages of the given origins to call every path but those that other parts of the process own (`pathOwners`).
 * Pages of other origins get no `Access-Control-Allow-Origin`, so their browsers refuse.
 */
export const allowOrigins = (app: FastifyInstance, allowed: Cors | undefined): void => {
  if (!allowed || allowed.origins.length === 0) return;
  const allowsAnyOrigin = allowed.origins.includes('*');
  void app.register(cors, {
    origin: allowsAnyOrigin ? '*' : [...allowed.origins],
    credentials: !allowsAnyOrigin, // browsers refuse credentials together with `*`
    methods: METHODS,
    allowedHeaders: [...ALLOWED_HEADERS, ...allowed.headers],
    exposedHeaders: EXPOSED,
    maxAge: MAX_AGE_S,
  });
};
