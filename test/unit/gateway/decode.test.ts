import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { expect, it } from 'vitest';

import { TaskCreateRequestSchema } from '../../../proto/gen/platformidl/admin/task_pb.js';
import { decodeStrictly } from '../../../services/gateway/decode.js';
import { targetReader } from '../../../services/gateway/dispatch/target.js';

const { LengthDelimited } = WireType;

const project = (name: string): Uint8Array => new BinaryWriter().tag(2, LengthDelimited).string(name).finish();

it('a task whose id hides another project in a field of the wrong wire type is not decoded', () => {
  // The decoder of the library reads the length of field 1 as its number, and then its content as further fields.
  const id = new BinaryWriter().raw(project('mine')).tag(1, LengthDelimited).bytes(project('other')).finish();
  const request = new BinaryWriter().tag(1, LengthDelimited).bytes(id).finish();
  expect(targetReader(TaskCreateRequestSchema, { project: 'id.project' })(request).project).toBe('mine');
  expect(() => decodeStrictly(TaskCreateRequestSchema, request)).toThrow('has wire type 2 in place of 0');
});
