import { toBinary } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { type Timestamp, TimestampSchema } from '@bufbuild/protobuf/wkt';

/** The fields of `admin.Task` and `admin.Workflow`, which have the same field numbers. */
export type VersionAnswer = {
  /** `core.Identifier`. */
  readonly id: Uint8Array;
  /** `core.CompiledTask`, or `core.CompiledWorkflowClosure`. */
  readonly compiled: Uint8Array;
  readonly createdAt: Timestamp;
  readonly shortDescription: string;
};

const ID = 1;
const CLOSURE = 2;
const SHORT_DESCRIPTION = 3;
const CLOSURE_COMPILED = 1;
const CLOSURE_CREATED_AT = 2;

/**
 * Encodes the response with the compiled closure as it was registered, without decoding it: closures are large, and
 * nothing inside is needed.
 */
export const versionAnswer = ({ id, compiled, createdAt, shortDescription }: VersionAnswer): Uint8Array => {
  const writer = new BinaryWriter().tag(ID, WireType.LengthDelimited).bytes(id);
  writer.tag(CLOSURE, WireType.LengthDelimited).fork();
  writer.tag(CLOSURE_COMPILED, WireType.LengthDelimited).bytes(compiled);
  writer.tag(CLOSURE_CREATED_AT, WireType.LengthDelimited).bytes(toBinary(TimestampSchema, createdAt));
  writer.join();
  if (shortDescription !== '') writer.tag(SHORT_DESCRIPTION, WireType.LengthDelimited).string(shortDescription);
  return writer.finish();
};
