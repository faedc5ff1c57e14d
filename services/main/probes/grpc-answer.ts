import { connect } from 'node:http2';
import type { Place } from './what-answers.js';

const PATIENCE_MS = 2_000;
const PATH = '/event_store.client.server_features.ServerFeatures/GetSupportedMethods';
const SERVER_ERROR = 500;

/**
 * Whether a server of HTTP/2 answers a call of gRPC with anything but gRPC. One that does not answer, or says that what
 * is behind it is not there, may come to it.
 */
export const isNoGrpc = ({ host, port, tls }: Place): Promise<boolean> =>
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
    const timer = setTimeout(() => found(false), PATIENCE_MS);
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
