import { convertToCommandError } from '@eventstore/db-client';
import { type Channel, status } from '@grpc/grpc-js';
import { ServerFeatures } from '../../../../proto/gen/event_store/client/server_features_pb.js';
import { StoreUnavailable } from '../../../kernel/fault.js';
import { callOnce } from './channel.js';

/** The first release that reports when a subscription has caught up, which filtered reads need. */
const OLDEST = '23.10';

/** Converts a version to a number for comparisons; NaN when it is malformed. */
const rank = (version: string): number => {
  const [major, minor] = version.split('.').map(Number);
  return (major ?? NaN) * 1_000 + (minor ?? NaN);
};

/**
 * Checks that a server is new enough for the log. A build without a version (0.0.0) is taken for a new one.
 *
 * @throws {StoreUnavailable} when it is older than 23.10, or does not report a version, as old servers do not.
 */
export const assertNewEnough = (version: string | undefined): void => {
  const actual = rank(version ?? '');
  if (actual === 0 || actual >= rank(OLDEST)) return;
  const found = version === undefined ? 'does not report its version' : `has version ${version}`;
  throw new StoreUnavailable(`the event store ${found}; ${OLDEST} or later is required`);
};

/** Timeout in milliseconds. A node that accepts the connection but does not answer in this time is taken to be down. */
const ANSWER_MS = 3_000;

/**
 * Asks a node for its version. Every node answers without credentials, so an answer also shows that it works.
 *
 * @returns `undefined` when the node does not implement the RPC.
 * @throws the client library's error when the node does not answer.
 */
export const serverVersion = async (channel: Channel): Promise<string | undefined> => {
  try {
    return (await callOnce(channel, ServerFeatures.method.getSupportedMethods, ANSWER_MS)).eventStoreServerVersion;
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === status.UNIMPLEMENTED) return undefined;
    throw error instanceof Error ? convertToCommandError(error) : error;
  }
};
