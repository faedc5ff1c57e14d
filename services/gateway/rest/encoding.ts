import { Readable } from 'node:stream';
import { createGunzip, createGzip, createInflate, constants } from 'node:zlib';

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import { RpcError } from '../../kernel/rpc.js';
import { isLink } from './links.js';

const PIECE_BYTES = 64 * 1024;

// A smaller answer fits one packet as it is.
const MIN_COMPRESSED_BYTES = 1_400;

/** In pieces, so that what a caller does not read is seen, and not copied once more for the socket. */
const piecesOf = function* (bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
};

const takesGzip = (accepted: string | undefined): boolean =>
  (accepted ?? '').split(',').some((each) => {
    const [name = '', ...parameters] = each.split(';').map((part) => part.trim().toLowerCase());
    return (name === 'gzip' || name === '*') && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });

/** Says what else the answer depends on than its address, besides what has been said of that. */
const addVary = (reply: FastifyReply): void => {
  const said = reply.getHeader('vary');
  void reply.header('vary', [...(said === undefined ? [] : [said]), 'accept', 'accept-encoding'].join(', '));
};

/** Sends a body, compressed where the caller takes that and it is worth it. */
export const sendBody = (request: FastifyRequest, reply: FastifyReply, bytes: Buffer): void => {
  addVary(reply);
  if (bytes.length >= MIN_COMPRESSED_BYTES && takesGzip(request.headers['accept-encoding'])) {
    const compressed = Readable.from(piecesOf(bytes), { objectMode: false }).pipe(
      createGzip({ level: constants.Z_BEST_SPEED }),
    );
    void reply.header('content-encoding', 'gzip').send(compressed);
  } else if (bytes.length <= PIECE_BYTES) void reply.send(bytes);
  else void reply.header('content-length', bytes.length).send(Readable.from(piecesOf(bytes), { objectMode: false }));
};

type Inflating = Readable & { receivedEncodedLength?: number };

const inflate = (payload: Readable, encoding: string): Inflating => {
  if (encoding !== 'gzip' && encoding !== 'x-gzip' && encoding !== 'deflate')
    throw new RpcError('INVALID_ARGUMENT', `invalid value for content-encoding: ${encoding} is not gzip or deflate`);
  const inflated: Inflating = encoding === 'deflate' ? createInflate() : createGunzip();
  // What Content-Length counts; the limit of the body is for what comes out, and ends the reading there.
  inflated.receivedEncodedLength = 0;
  payload.on('data', (chunk: Buffer) => {
    inflated.receivedEncodedLength = (inflated.receivedEncodedLength ?? 0) + chunk.length;
  });
  payload.on('error', (error) => inflated.destroy(error));
  payload.pipe(inflated as unknown as NodeJS.WritableStream);
  return inflated;
};

/** How a body is compressed; empty where it is not. A file is kept as it comes, however it is encoded. */
export const encodingOf = ({ headers, originalUrl }: FastifyRequest): string => {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  return encoding === 'identity' || isLink(originalUrl) ? '' : encoding;
};

/** Reads bodies that come compressed. What they come to is bound as any other body is. */
export const takeCompressedBodies = (app: FastifyInstance): void => {
  app.addHook('preParsing', (request, _reply, payload, done) => {
    const encoding = encodingOf(request);
    try {
      done(null, encoding === '' ? payload : inflate(payload as Readable, encoding));
    } catch (error) {
      done(error as Error);
    }
  });
};
