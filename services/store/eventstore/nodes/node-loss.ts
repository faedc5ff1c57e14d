import { convertToCommandError, ErrorType, NotLeaderError } from '@eventstore/db-client';
import { status } from '@grpc/grpc-js';
import type { Endpoint } from '../address.js';

/** Errors which mean that the node or its connection cannot serve; so does the status INTERNAL. Others are answers. */
const NODE_ERRORS: readonly unknown[] = [ErrorType.UNAVAILABLE, ErrorType.CANCELLED, ErrorType.NOT_LEADER];

/** The finding that a node cannot serve, with the new leader if the node names it. */
export type NodeLoss = { readonly leader?: Endpoint };

/** @returns `undefined` when the error does not mean that the node is lost. */
export const nodeLoss = (error: unknown): NodeLoss | undefined => {
  const known = error instanceof Error ? convertToCommandError(error) : undefined;
  if (known instanceof NotLeaderError) return { leader: { host: known.leader.address, port: known.leader.port } };
  const { type, code } = (known ?? {}) as { readonly type?: unknown; readonly code?: unknown };
  return NODE_ERRORS.includes(type) || code === status.INTERNAL ? {} : undefined;
};
