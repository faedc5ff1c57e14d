import type { IncomingMessage } from 'node:http';
import { type Readable, Transform } from 'node:stream';

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import type { Hosting } from '../exchange.js';
import { inflatedBytes, timeRequest } from '../incoming.js';
import { bodyEncodingOf } from './encoding.js';
import { isLink } from './links.js';
import type { MemoryReservation, MemoryBudget } from '../memory-budget.js';

/** Bodies up to this size, in bytes, are not counted: they are in the buffers of the connection anyway. */
const UNCOUNTED_BYTES = 64 * 1024;

type Limits = Pick<Hosting, 'requests' | 'maxMessageBytes' | 'files'>;

/** The largest size after decompression of a body of which `sent` bytes are sent, in bytes. */
const largestOf = (request: FastifyRequest, sent: number, maxBytes: number): number =>
  bodyEncodingOf(request) === '' ? sent : inflatedBytes(sent, maxBytes);

/** The largest size of a body after decompression, in bytes; `undefined` for a chunked body. */
const sizeOf = (request: FastifyRequest, maxBytes: number): number | undefined => {
  const { 'content-length': length, 'transfer-encoding': chunked } = request.headers;
  if (length === undefined) return chunked === undefined ? 0 : undefined;
  return Math.min(largestOf(request, Number(length), maxBytes), maxBytes);
};

const reservationOf = ({ raw }: FastifyRequest, reply: FastifyReply, requests: MemoryBudget): MemoryReservation => {
  const reservation = requests.open(raw.socket);
  reply.raw.once('close', reservation.release);
  return reservation;
};

/** Closes the connection when the body does not arrive in time, without an answer: such a client would not read it. */
const watchBody = (raw: IncomingMessage, stallTimeoutMs: number): void => {
  const arriving = timeRequest(stallTimeoutMs, () => raw.destroy());
  raw.on('data', arriving.came).once('end', arriving.end).once('close', arriving.end);
};

/** The memory for a body of unknown length. */
type Metering = {
  /** The largest size that the bytes sent so far can take, in bytes. */
  readonly largest: (sent: number) => number;
  readonly maxBytes: number;
  readonly openReservation: () => MemoryReservation;
};

/** Passes on a body of unknown length. Above the uncounted size, it waits for the memory of the largest body. */
const metered = (payload: Readable, { largest, maxBytes, openReservation }: Metering): Readable => {
  let bytes = 0;
  let reservation: MemoryReservation | undefined;
  const meter = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      bytes += chunk.length;
      if (largest(bytes) <= UNCOUNTED_BYTES || reservation) {
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
  payload.on('error', (error) => meter.destroy(error));
  return payload.pipe(meter);
};

/**
 * Counts request bodies against the memory budget. Files behind links are not counted, because they are never whole in
 * memory; a server that serves no links buffers the body for such a path as any other.
 */
export const boundBodies = (app: FastifyInstance, { requests, maxMessageBytes, files }: Limits): void => {
  const { stallTimeoutMs } = requests.limits;
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (files && isLink(request.originalUrl)) {
      done(null, payload);
      return;
    }
    const bytes = sizeOf(request, maxMessageBytes);
    if (bytes !== undefined && !(bytes > UNCOUNTED_BYTES)) {
      done(null, payload);
      return;
    }
    const openReservation = (): MemoryReservation => reservationOf(request, reply, requests);
    const largest = (sent: number): number => largestOf(request, sent, maxMessageBytes);
    const metering = { largest, maxBytes: maxMessageBytes, openReservation };
    const goOn = (): void => {
      done(null, bytes === undefined ? metered(payload as Readable, metering) : payload);
      watchBody(request.raw, stallTimeoutMs); // last, because a 'data' listener starts the flow
    };
    if (bytes === undefined) {
      goOn();
      return;
    }
    openReservation()
      .reserve(bytes)
      .then(goOn, (error: unknown) => done(error as Error));
  });
};
