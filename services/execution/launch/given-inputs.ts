import { create, toBinary } from '@bufbuild/protobuf';
import type { ExecutionCreateRequest } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { type LiteralMap, LiteralMapSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { MAX_INLINE_BYTES } from '../../kernel/ports/payload-store.js';

/* oxlint-disable typescript/no-deprecated -- flyteconsole still sends inputs in the spec */

/** The inputs of a caller: a decoded map, or the bytes of a large one. */
export type GivenInputs = LiteralMap | Uint8Array;

/** The inputs of a request. Older clients send them inside the spec. */
export const givenInputs = ({ inputs, spec }: ExecutionCreateRequest): LiteralMap => {
  const isEmpty = Object.keys(inputs?.literals ?? {}).length === 0;
  return (isEmpty ? spec?.inputs : inputs) ?? create(LiteralMapSchema);
};

/**
 * Removes inputs from the spec of a request that are not recorded there: those that are not used, because the request
 * has others, and large ones. The inputs that are used have a field of their own, whatever their size.
 */
export const removeInputs = ({ inputs, spec }: ExecutionCreateRequest): void => {
  if (spec?.inputs === undefined) return;
  const isUsed = Object.keys(inputs?.literals ?? {}).length === 0;
  if (!isUsed || toBinary(LiteralMapSchema, spec.inputs).length > MAX_INLINE_BYTES) delete spec.inputs;
};
