import type { FastifyRequest } from 'fastify';

/** Reads a header by its name, or with the prefix `grpc-metadata-`. */
export const headerOf = (request: FastifyRequest, name: string): string | undefined => {
  const value = request.headers[name] ?? request.headers[`grpc-metadata-${name}`];
  return Array.isArray(value) ? value[0] : value;
};
