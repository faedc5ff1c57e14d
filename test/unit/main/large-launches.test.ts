import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { expect, it } from 'vitest';

import { largeLaunches } from '../../../services/main/large-requests/large-launches.js';

const { LengthDelimited, Varint } = WireType;

const project = (name: string): Uint8Array => new BinaryWriter().tag(1, LengthDelimited).string(name).finish();

it('a large launch that hides another project in a field of the wrong wire type is not decoded', () => {
  // The decoder of the library reads the number of field 3 as its length, and skips the project that follows.
  const mine = project('mine');
  const request = new BinaryWriter().raw(project('other')).tag(3, Varint).uint32(mine.length).raw(mine).finish();
  expect(() => largeLaunches().read(request)).toThrow('has wire type 0 in place of 2');
});
