import { convertToCommandError } from '@eventstore/db-client';
import { type Channel, status } from '@grpc/grpc-js';
import { ServerFeatures } from '../../../../proto/gen/event_store/client/server_features_pb.js';
import { StoreUnavailable } from '../../../kernel/fault.js';
import { ask } from './channel.js';

/** The first release that says when a subscription has caught up, which filtered reads wait for. */
const OLDEST = '23.10';

/** A version as one number that grows with it; NaN where it is none. */
const rank = (version: string): number => {
  const [major, minor] = version.split('.').map(Number);
  return (major ?? NaN) * 1_000 + (minor ?? NaN);
};

/**
 * Whether a server can keep the log. A build without a number (0.0.0) is taken for a new one.
 *
 * @throws {StoreUnavailable} when it is older than that, or so old that it does not say.
 */
export const assertNewEnough = (version: string | undefined): void => {
  const is = rank(version ?? '');
  if (is === 0 || is >= rank(OLDEST)) return;
  const named = version === undefined ? 'does not say its version' : `is of version ${version}`;
  throw new StoreUnavailable(`the event store ${named}; ${OLDEST} or a newer one is needed`);
};

/** A node that has not said so soon what it is takes connections, and nothing more. */
const ANSWER_MS = 3_000;

/**
 * The version that a node says it is of; `undefined` where it does not say. Every node answers without credentials, so
 * an answer shows that it works.
 *
 * @throws what the library makes of the error of a node that does not answer.
 */
export const serverVersion = async (channel: Channel): Promise<string | undefined> => {
  try {
    return (await ask(channel, ServerFeatures.method.getSupportedMethods, ANSWER_MS)).eventStoreServerVersion;
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === status.UNIMPLEMENTED) return undefined;
    throw error instanceof Error ? convertToCommandError(error) : error;
  }
};
