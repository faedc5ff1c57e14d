import type { IncomingMessage } from 'node:http';
import { type Readable, Transform } from 'node:stream';

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import type { Hosting } from '../exchange.js';
import { inflatedBytes, timeRequest } from '../incoming.js';
import { bodyEncodingOf } from './encoding.js';
import { isBodyIgnored } from './ignored-bodies.js';
import { isLink } from './links.js';
import type { MemoryReservation, MemoryBudget } from '../memory-budget.js';

/** Bodies up to this size, in bytes, are not counted: they are in the buffers of the connection anyway. */
const UNCOUNTED_BYTES = 64 * 1024;

type Limits = Pick<Hosting, 'requests' | 'maxMessageBytes' | 'files'>;

/** The largest size of a body after decompression, in bytes; 0 when it is not read; `undefined` for a chunked body. */
const sizeOf = (request: FastifyRequest, maxBytes: number): number | undefined => {
  if (isBodyIgnored(request)) return 0;
  const { 'content-length': length, 'transfer-encoding': chunked } = request.headers;
  if (length === undefined) return chunked === undefined ? 0 : undefined;
  const sent = Number(length);
  return Math.min(bodyEncodingOf(request) === '' ? sent : inflatedBytes(sent, maxBytes), maxBytes);
};

const reservationOf = ({ raw }: FastifyRequest, reply: FastifyReply, requests: MemoryBudget): MemoryReservation => {
  const reservation = requests.open(raw.socket);
  reply.raw.once('close', reservation.release);
  if (reply.raw.destroyed) reservation.release(); // a part of a body that was refused: `reserve` throws
  return reservation;
};

/** Closes the connection when the body does not arrive in time, without an answer: such a client would not read it. */
const watchBody = (raw: IncomingMessage, stallTimeoutMs: number): void => {
  const arriving = timeRequest(stallTimeoutMs, () => raw.destroy());
  raw.on('data', arriving.onBytes).once('end', arriving.end).once('close', arriving.end);
};

/** Passes on a body of unknown length. Above the uncounted size, it waits for the memory of the largest body. */
const metered = (payload: Readable, openReservation: () => MemoryReservation, maxBytes: number): Readable => {
  let bytes = 0;
  let reservation: MemoryReservation | undefined;
  const meter = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      bytes += chunk.length;
      if (bytes <= UNCOUNTED_BYTES || reservation) {
        done(null, chunk);
        return;
      }
      reservation = openReservation();
      reservation.reserve(maxBytes).then(
        () => done(null, chunk),
        (error: unknown) => done(error as Error),
      );
    },
  });
  meter.on('error', () => undefined); // the reader of the body may have left
  payload.on('error', (error) => meter.destroy(error));
  return payload.pipe(meter);
};

/**
 * True for a body that is stored as it comes, and so is never whole in memory: that of a link, where there are links.
 */
const isStored = ({ originalUrl }: FastifyRequest, { files }: Limits): boolean =>
  files !== undefined && isLink(originalUrl);

/**
 * Counts request bodies of known length against the memory budget, by the largest size that they can decompress to,
 * before they are read.
 */
export const boundBodies = (app: FastifyInstance, limits: Limits): void => {
  const { requests, maxMessageBytes } = limits;
  app.addHook('preParsing', (request, reply, payload, done) => {
    const bytes = isStored(request, limits) ? 0 : sizeOf(request, maxMessageBytes);
    if (bytes === undefined || !(bytes > UNCOUNTED_BYTES)) {
      done(null, payload);
      return;
    }
    const readBody = (): void => {
      done(null, payload);
      watchBody(request.raw, requests.limits.stallTimeoutMs); // last, because a 'data' listener starts the flow
    };
    reservationOf(request, reply, requests)
      .reserve(bytes)
      .then(readBody, (error: unknown) => done(error as Error));
  });
};

/** Counts chunked request bodies against the memory budget, while they are read. Comes after their decompression. */
export const meterBodies = (app: FastifyInstance, limits: Limits): void => {
  const { requests, maxMessageBytes } = limits;
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (isStored(request, limits) || sizeOf(request, maxMessageBytes) !== undefined) {
      done(null, payload);
      return;
    }
    done(
      null,
      metered(payload as Readable, () => reservationOf(request, reply, requests), maxMessageBytes),
    );
    watchBody(request.raw, requests.limits.stallTimeoutMs); // last, because a 'data' listener starts the flow
  });
};
