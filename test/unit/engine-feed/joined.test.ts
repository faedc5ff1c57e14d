import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { WorkJoinSchema } from '../../../proto/gen/platformidl/eventlog/engine_work_pb.js';
import { joiningOf } from '../../../services/streams/engine-feed/joined.js';

/** The joining of an engine `e` to the group `g`, with other names in its message. */
const joining = (named: { group?: string; engine?: string; producerId?: string }) =>
  joiningOf(create(WorkJoinSchema, { group: 'g', engine: 'e', freePlaces: 1, ...named }), {});

describe('an engine that joins', () => {
  it('has its own name as producer when it names none', () => {
    expect(joining({})).toMatchObject({ group: 'g', engine: 'e', producerId: 'e' });
  });

  it.each([
    [{ engine: '' }, 'missing join.engine'],
    [{ engine: 'x'.repeat(201) }, 'join.engine: longer than 200'],
    [{ engine: 'e\u001b[31m' }, 'join.engine: control characters'],
    [{ group: 'g\n' }, 'join.group: control characters'],
    [{ producerId: 'p\u202e' }, 'join.producer_id: control characters'],
  ])('is refused as %j', (named, reason) => {
    expect(() => joining(named)).toThrow(reason);
  });
});
