import type { IncomingMessage } from 'node:http';
import { type Readable, Transform } from 'node:stream';

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import type { Hosting } from '../exchange.js';
import { inflatedBytes, watchArriving } from '../incoming.js';
import { encodingOf } from './encoding.js';
import { isLink } from './links.js';
import type { CallRoom, Room } from '../room.js';

/** Bodies up to this size are not counted, in bytes: they are in the buffers of the connection anyway. */
const UNCOUNTED_BYTES = 64 * 1024;

type Limits = Pick<Hosting, 'requests' | 'maxMessageBytes'>;

/** What a body comes to at most; `undefined` when its length is not said. */
const sizeOf = (request: FastifyRequest, maxBytes: number): number | undefined => {
  const { 'content-length': length, 'transfer-encoding': chunked } = request.headers;
  if (length === undefined) return chunked === undefined ? 0 : undefined;
  const size = Number(length);
  return Math.min(encodingOf(request) === '' ? size : inflatedBytes(size, maxBytes), maxBytes);
};

const roomOf = ({ raw }: FastifyRequest, reply: FastifyReply, requests: Room): CallRoom => {
  const room = requests.open(raw.socket);
  reply.raw.once('close', room.leave);
  return room;
};

/** Closes the connection of who does not go on: it reads nothing either. */
const watchBody = (raw: IncomingMessage, patienceMs: number): void => {
  const arriving = watchArriving(patienceMs, () => raw.destroy());
  raw.on('data', arriving.came).once('end', arriving.end).once('close', arriving.end);
};

/** A body of unknown length: as soon as it is no small one, it waits until there is room for the largest. */
const metered = (payload: Readable, openRoom: () => CallRoom, maxBytes: number): Readable => {
  let bytes = 0;
  let room: CallRoom | undefined;
  const meter = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      bytes += chunk.length;
      if (bytes <= UNCOUNTED_BYTES || room) {
        done(null, chunk);
        return;
      }
      room = openRoom();
      room.make(maxBytes).then(
        () => done(null, chunk),
        (error: unknown) => done(error as Error),
      );
    },
  });
  payload.on('error', (error) => meter.destroy(error));
  return payload.pipe(meter);
};

/** Bounds the memory that the bodies of requests take; a file is not held in memory. */
export const boundBodies = (app: FastifyInstance, { requests, maxMessageBytes }: Limits): void => {
  const { patienceMs } = requests.limits;
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (isLink(request.originalUrl)) {
      done(null, payload);
      return;
    }
    const bytes = sizeOf(request, maxMessageBytes);
    if (bytes !== undefined && !(bytes > UNCOUNTED_BYTES)) {
      done(null, payload);
      return;
    }
    const openRoom = (): CallRoom => roomOf(request, reply, requests);
    const goOn = (): void => {
      done(null, bytes === undefined ? metered(payload as Readable, openRoom, maxMessageBytes) : payload);
      watchBody(request.raw, patienceMs); // last, because who listens makes it flow
    };
    if (bytes === undefined) {
      goOn();
      return;
    }
    openRoom()
      .make(bytes)
      .then(goOn, (error: unknown) => done(error as Error));
  });
};
