import type { DescMessage, DescMethodUnary, MessageShape } from '@bufbuild/protobuf';
import { expect } from 'vitest';

import type { ControlPlane } from '../processes/control-plane.js';

/** One rule of the interface: a change that makes a valid request invalid, and the refusal. */
export type Row<Desc extends DescMessage> = {
  /** Numbers are steps of the RPC: `3 before 5` violates the rules of both, and the refusal of step 3 is given. */
  readonly rule: string;
  readonly change: (request: MessageShape<Desc>) => void;
  /** A part of the refusal's text; other rules may have it too. */
  readonly says: string;
  /** INVALID_ARGUMENT, unless said otherwise. */
  readonly code?: string;
};

/** Sends the invalid request, and expects the refusal of the row, and that nothing is recorded. */
export const expectRefused = async <Desc extends DescMessage>(
  { unchanged, ...plane }: ControlPlane,
  transport: 'grpc' | 'rest',
  [method, whole]: readonly [DescMethodUnary<Desc>, () => MessageShape<Desc>],
  { change, says, code = 'INVALID_ARGUMENT' }: Omit<Row<Desc>, 'rule'>,
): Promise<void> => {
  const request = whole();
  change(request);
  const answer = await unchanged(() => plane[transport].attempt(method, request as never));
  expect({ code: answer.code, message: answer.message }).toEqual({
    code,
    message: expect.stringContaining(says) as string,
  });
};

/** Changes a request. */
export type Changed<Request> = (request: Request) => void;

/** Applies several changes; the refusal is for the one that the RPC checks first. */
export const all =
  <Request>(...changes: readonly Changed<Request>[]): Changed<Request> =>
  (request) => {
    for (const change of changes) change(request);
  };

/** All rows over gRPC; every fourth over REST, which has the same handlers. */
export const sampled = <Each>(transport: 'grpc' | 'rest', rows: readonly Each[]): readonly Each[] =>
  transport === 'grpc' ? rows : rows.filter((_, at) => at % 4 === 0);
