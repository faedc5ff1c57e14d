import { connect } from 'node:http2';
import type { Address } from './probe.js';

const ANSWER_TIMEOUT_MS = 2_000;
const PATH = '/event_store.client.server_features.ServerFeatures/GetSupportedMethods';
const SERVER_ERROR = 500;

/**
 * Tests whether an HTTP/2 server answers a gRPC call with something that is not gRPC. False when it does not answer or
 * answers with a status of 500 or above, like a proxy whose backend is down: it may speak gRPC later.
 */
export const lacksGrpc = ({ host, port, tls }: Address): Promise<boolean> =>
  new Promise((resolve) => {
    const session = connect(`${tls ? 'https' : 'http'}://${host}:${port}`, {
      ...(tls && { rejectUnauthorized: tls.isTrusting !== true }),
      ...(tls?.authorities !== undefined && { ca: tls.authorities }),
    });
    const found = (isOther: boolean): void => {
      clearTimeout(timer);
      session.destroy();
      resolve(isOther);
    };
    const timer = setTimeout(() => found(false), ANSWER_TIMEOUT_MS);
    session.on('error', () => found(false));
    const asked = session.request({
      ':method': 'POST',
      ':path': PATH,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    asked.on('error', () => found(false));
    asked.on('response', ({ ':status': status = 0, 'content-type': type = '' }) =>
      found(status < SERVER_ERROR && !type.startsWith('application/grpc')),
    );
    asked.end(Buffer.alloc(5)); // an empty message
  });
