import { Readable } from 'node:stream';
import { createGunzip, createGzip, createInflate, constants } from 'node:zlib';

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import { RpcError } from '../../kernel/rpc.js';
import { isBodyIgnored } from './ignored-bodies.js';
import { isLink } from './links.js';

const PIECE_BYTES = 64 * 1024;

// In bytes: a smaller answer fits one packet uncompressed.
const MIN_COMPRESSED_BYTES = 1_400;

/** Splits a body, so that the slow consumer check sees the unread rest, and the socket does not copy all of it. */
const piecesOf = function* (bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
};

/** True when the client accepts answers that are compressed with gzip. */
export const takesGzip = ({ headers }: FastifyRequest): boolean => {
  const accepted = new Map<string, boolean>();
  for (const each of (headers['accept-encoding'] ?? '').split(',')) {
    const [name = '', ...parameters] = each.split(';').map((part) => part.trim().toLowerCase());
    accepted.set(name, !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter)));
  }
  return accepted.get('gzip') ?? accepted.get('*') ?? false; // `*` stands for those that are not named
};

/** Adds the request headers that the answer depends on to `vary`. */
const addVary = (reply: FastifyReply): void => {
  const vary = reply.getHeader('vary');
  void reply.header('vary', [...(vary === undefined ? [] : [vary]), 'accept', 'accept-encoding'].join(', '));
};

/** Sends bytes as they are; more than a piece of them only as fast as the client reads. */
const sendBytes = (reply: FastifyReply, bytes: Buffer): void => {
  if (bytes.length <= PIECE_BYTES) void reply.send(bytes);
  else void reply.header('content-length', bytes.length).send(Readable.from(piecesOf(bytes), { objectMode: false }));
};

/** Sends a body, with gzip when the client accepts it and the body is large enough. */
export const sendBody = (request: FastifyRequest, reply: FastifyReply, bytes: Buffer): void => {
  addVary(reply);
  if (bytes.length >= MIN_COMPRESSED_BYTES && takesGzip(request)) {
    const compressed = Readable.from(piecesOf(bytes), { objectMode: false }).pipe(
      createGzip({ level: constants.Z_BEST_SPEED }),
    );
    void reply.header('content-encoding', 'gzip').send(compressed);
  } else sendBytes(reply, bytes);
};

/** Sends a body that is compressed with gzip already, to a client that accepts it. */
export const sendGzipped = (reply: FastifyReply, gzipped: Buffer): void => {
  addVary(reply);
  void reply.header('content-encoding', 'gzip');
  sendBytes(reply, gzipped);
};

type Inflating = Readable & { receivedEncodedLength?: number };

const inflate = (payload: Readable, encoding: string): Inflating => {
  if (encoding !== 'gzip' && encoding !== 'x-gzip' && encoding !== 'deflate')
    throw new RpcError('INVALID_ARGUMENT', `invalid value for content-encoding: ${encoding} is not gzip or deflate`);
  const inflated: Inflating = encoding === 'deflate' ? createInflate() : createGunzip();
  // Fastify compares this count with Content-Length; the body limit applies to the decompressed bytes.
  inflated.receivedEncodedLength = 0;
  payload.on('data', (chunk: Buffer) => {
    inflated.receivedEncodedLength = (inflated.receivedEncodedLength ?? 0) + chunk.length;
  });
  payload.on('error', (error) => inflated.destroy(error));
  // After refusing a body Fastify no longer listens, and an error without a listener would end the process.
  inflated.on('error', () => undefined);
  payload.pipe(inflated as unknown as NodeJS.WritableStream);
  return inflated;
};

/** Stops decompressing when the request is answered, which may be before its end; the rest is discarded as it comes. */
const inflateUntilAnswered = ({ raw: request }: FastifyRequest, { raw: response }: FastifyReply, inflated: Inflating) =>
  void response.once('close', () => {
    if (request.destroyed) return; // its error ends the decompression, and tells the reader of the body
    request.unpipe(inflated as unknown as NodeJS.WritableStream).resume();
    inflated.destroy();
  });

/**
 * Reads the compression of a body; empty when there is none, for a body that is not read, and for files of links, which
 * are stored as sent.
 */
export const bodyEncodingOf = (request: FastifyRequest): string => {
  const { headers, originalUrl } = request;
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  return encoding === 'identity' || isBodyIgnored(request) || isLink(originalUrl) ? '' : encoding;
};

/** Decompresses request bodies. The body limit applies to the decompressed size. */
export const takeCompressedBodies = (app: FastifyInstance): void => {
  app.addHook('preParsing', (request, reply, payload, done) => {
    const encoding = bodyEncodingOf(request);
    if (encoding === '') {
      done(null, payload);
      return;
    }
    try {
      const inflated = inflate(payload, encoding);
      inflateUntilAnswered(request, reply, inflated);
      done(null, inflated);
    } catch (error) {
      done(error as Error);
    }
  });
};
