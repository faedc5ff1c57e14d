import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { describe, expect, it } from 'vitest';

import {
  ExecutionCreateRequestSchema,
  ExecutionSpecSchema,
} from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { LiteralMapSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { cutInputs } from '../../../services/execution/wire/cut-inputs.js';
import { literal } from '../../support/requests/hello.js';

type Request = MessageInitShape<typeof ExecutionCreateRequestSchema>;

const encoded = (request: Request): Uint8Array =>
  toBinary(ExecutionCreateRequestSchema, create(ExecutionCreateRequestSchema, request));
const map = (...values: readonly string[]) => ({
  literals: Object.fromEntries(values.map((value) => [value, literal(value)])),
});
const rest = {
  project: 'p',
  name: 'n',
  org: 'o',
  spec: {
    labels: { values: { a: 'x'.repeat(300) } } /* long enough for a length prefix of two bytes */,
    maxParallelism: 7,
    overwriteCache: true,
  },
} satisfies Request;

const cutUp = (bytes: Uint8Array) => {
  const cut = cutInputs(bytes);
  return {
    rest: fromBinary(ExecutionCreateRequestSchema, cut.rest),
    inputs: fromBinary(LiteralMapSchema, cut.inputs),
  };
};

describe('the inputs of a request to launch', () => {
  it('are cut out, and leave the rest as it is', () => {
    const cut = cutUp(encoded({ ...rest, inputs: map('a', 'b') }));
    expect(cut.rest).toEqual(create(ExecutionCreateRequestSchema, rest));
    expect(cut.inputs).toEqual(create(LiteralMapSchema, map('a', 'b')));
  });

  it('are those of the spec when there are no others', () => {
    const old = { ...rest, spec: { ...rest.spec, inputs: map('old') } };
    expect(cutUp(encoded(old))).toEqual({
      rest: create(ExecutionCreateRequestSchema, rest),
      inputs: create(LiteralMapSchema, map('old')),
    });
    expect(cutUp(encoded({ ...old, inputs: map('new') })).inputs).toEqual(create(LiteralMapSchema, map('new')));
  });

  // Sizes around those from which the length prefix of the spec takes one byte more.
  it.each([
    [127, 124],
    [128, 125],
    [16_383, 16_379],
    [16_384, 16_380],
  ])('are cut out of a spec that has %i bytes without them', (specBytes, tagLength) => {
    const spec = { tags: ['x'.repeat(tagLength)] };
    expect(toBinary(ExecutionSpecSchema, create(ExecutionSpecSchema, spec))).toHaveLength(specBytes);
    expect(cutUp(encoded({ project: 'p', spec: { ...spec, inputs: map('old') } }))).toEqual({
      rest: create(ExecutionCreateRequestSchema, { project: 'p', spec }),
      inputs: create(LiteralMapSchema, map('old')),
    });
  });

  it('are merged when they come in several fields, as every decoder does', () => {
    const parts = [
      encoded({ ...rest, inputs: map('a') }),
      encoded({ inputs: map('b') }),
      encoded({ spec: { org: 'x' } } as never),
    ];
    const bytes = Buffer.concat(parts);
    const whole = fromBinary(ExecutionCreateRequestSchema, bytes);
    const cut = cutUp(bytes);
    expect(cut.inputs).toEqual(whole.inputs);
    delete whole.inputs;
    expect(cut.rest).toEqual(whole);
  });

  it('are cut out of a spec that has them more often than a function takes arguments', () => {
    const emptyInputs = Buffer.from([0x12, 0]); // field 2 of the spec, with no bytes
    const spec = Buffer.concat(Array.from({ length: 600_000 }, () => emptyInputs));
    const request = new BinaryWriter().tag(4 /* spec */, WireType.LengthDelimited).bytes(spec).finish();
    expect(cutUp(request)).toEqual({
      rest: create(ExecutionCreateRequestSchema, { spec: {} }),
      inputs: create(LiteralMapSchema),
    });
  });

  it('are an empty map when there are none', () => {
    expect(cutUp(encoded(rest)).inputs).toEqual(create(LiteralMapSchema));
  });

  it('are not cut out of a malformed request, which throws', () => {
    // Field 5, the inputs, announces 127 bytes and has one.
    expect(() => cutInputs(Uint8Array.from([0x2a, 0x7f, 0x01]))).toThrow('ends early');
  });
});
