import { convertToCommandError } from '@eventstore/db-client';
import { type Channel, status } from '@grpc/grpc-js';
import { ServerFeatures } from '../../../../proto/gen/event_store/client/server_features_pb.js';
import { ask } from './channel.js';

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
