import { convertToCommandError, ErrorType, NotLeaderError } from '@eventstore/db-client';
import { status } from '@grpc/grpc-js';
import type { Endpoint } from '../address.js';

/** The node cannot serve, or its connection cannot. What it has answered says nothing against it. */
const NODE_ERRORS: readonly unknown[] = [ErrorType.UNAVAILABLE, ErrorType.CANCELLED, ErrorType.NOT_LEADER];

/** What has become of a node, by what became of a call: another is to be asked, and perhaps it is named. */
export type NodeLoss = { readonly leader?: Endpoint };

/** @returns `undefined` where the node is as good as before. */
export const nodeLoss = (error: unknown): NodeLoss | undefined => {
  const known = error instanceof Error ? convertToCommandError(error) : undefined;
  if (known instanceof NotLeaderError) return { leader: { host: known.leader.address, port: known.leader.port } };
  const { type, code } = (known ?? {}) as { readonly type?: unknown; readonly code?: unknown };
  return NODE_ERRORS.includes(type) || code === status.INTERNAL ? {} : undefined;
};
