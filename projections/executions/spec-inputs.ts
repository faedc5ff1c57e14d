import { create, toBinary } from '@bufbuild/protobuf';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { ExecutionSchema, type ExecutionSpec } from '../../proto/gen/platformidl/admin/execution_pb.js';

/* oxlint-disable typescript/no-deprecated -- flyteconsole still sends inputs in the spec */

/**
 * Inputs that came in the spec of an execution, as an encoded execution that has only them. Put before the encoded rest
 * of the execution, they make up the whole: the concatenation of two encodings of a message is the encoding of both
 * merged.
 */
export type SpecInputs = Uint8Array;

/** Separates a spec from the inputs in it. */
export const separateInputs = (
  whole: ExecutionSpec,
): { readonly spec: ExecutionSpec; readonly specInputs: SpecInputs | undefined } => {
  const { inputs, ...spec } = whole;
  if (inputs === undefined) return { spec: whole, specInputs: undefined };
  return { spec, specInputs: toBinary(ExecutionSchema, create(ExecutionSchema, { spec: { inputs } })) };
};

/** Puts the inputs of the spec before the rest of an encoded execution. */
export const withInputs = (specInputs: SpecInputs | undefined, rest: Uint8Array): Uint8Array =>
  specInputs ? Buffer.concat([specInputs, rest]) : rest;

/**
 * The inputs that {@link withInputs} has put before an encoded execution; `undefined` when there are none. The rest of
 * an execution begins with its id, so only these inputs can begin with a spec.
 */
export const inputsBefore = (encoded: Uint8Array): SpecInputs | undefined => {
  const reader = new BinaryReader(encoded);
  if (reader.len === 0) return undefined;
  const [field, wireType] = reader.tag();
  if (field !== ExecutionSchema.field.spec.number || wireType !== WireType.LengthDelimited) return undefined;
  reader.skip(wireType, field);
  return encoded.subarray(0, reader.pos);
};
