import { create } from '@bufbuild/protobuf';

import {
  type ExecutionCreateResponse,
  ExecutionCreateResponseSchema,
} from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { contextOf } from '../../kernel/command-context.js';
import { type Call, RpcError } from '../../kernel/rpc.js';
import type { Launched, LaunchRefusal } from '../launch/answer.js';
import type { Actor } from '../launch/launch.js';
import type { ExecutionId } from '../wire/envelope.js';
import { refusalError } from './refusals.js';

const errorOf = (id: ExecutionId, refusal: LaunchRefusal): RpcError => {
  switch (refusal.kind) {
    case 'invalid':
      return refusal.error;
    case 'execution':
      return refusalError(refusal.refusal, { id });
    case 'limit-reached': {
      const { max, plan } = refusal;
      return new RpcError(
        'ALREADY_EXISTS',
        `concurrency limit (${max}) reached for launch plan ${plan}; skipping execution`,
      );
    }
  }
};

/** Launches for the caller of a request, and makes the answer or the error of the result. */
export const answerLaunch = async (
  call: Call,
  launch: (actor: Actor) => Promise<Launched>,
): Promise<ExecutionCreateResponse> => {
  const launched = await launch({ ...contextOf(call), principal: call.principal });
  if (launched.position !== undefined) call.answeredAt(launched.position);
  if (launched.kind === 'refused') throw errorOf(launched.id, launched.refusal);
  return create(ExecutionCreateResponseSchema, { id: launched.id });
};
