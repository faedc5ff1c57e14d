import type { DescMessage, DescMethodUnary, MessageShape } from '@bufbuild/protobuf';
import { expect } from 'vitest';

import type { ControlPlane } from './control-plane.js';

/** One rule of the contract: what is changed in a request that holds, and how that is refused. */
export type Row<Desc extends DescMessage> = {
  readonly rule: string;
  readonly change: (request: MessageShape<Desc>) => void;
  /** What the text says; the text of no other rule. */
  readonly says: string;
  /** INVALID_ARGUMENT, unless said otherwise. */
  readonly code?: string;
};

/** Sends a request with what is wrong in it, and holds the refusal against the row: nothing is recorded. */
export const expectRefused = async <Desc extends DescMessage>(
  { unchanged, ...plane }: ControlPlane,
  transport: 'grpc' | 'rest',
  [method, whole]: readonly [DescMethodUnary<Desc>, () => MessageShape<Desc>],
  { change, says, code = 'INVALID_ARGUMENT' }: Omit<Row<Desc>, 'rule'>,
): Promise<void> => {
  const request = whole();
  change(request);
  const answer = await unchanged(() => plane[transport].refused(method, request as never));
  expect({ code: answer.code, message: answer.message }).toEqual({
    code,
    message: expect.stringContaining(says) as string,
  });
};

/** Changes a request. */
export type Changed<Request> = (request: Request) => void;

/** Several things at once: a refusal names the one that the contract looks at first. */
export const all =
  <Request>(...changes: readonly Changed<Request>[]): Changed<Request> =>
  (request) => {
    for (const change of changes) change(request);
  };

/** All rows over gRPC; over REST, behind which are the same handlers, one in four. */
export const sampled = <Each>(way: 'grpc' | 'rest', rows: readonly Each[]): readonly Each[] =>
  way === 'grpc' ? rows : rows.filter((_, at) => at % 4 === 0);
