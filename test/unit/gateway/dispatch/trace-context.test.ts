import { describe, expect, it } from 'vitest';

import { AdminService } from '../../../../proto/gen/platformidl/service/admin_pb.js';
import { traceContextIn, traceParentOf } from '../../../../services/gateway/dispatch/trace-context.js';
import { contextOf } from '../../../../services/kernel/command-context.js';
import { callOf } from './calls.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const GIVEN = `00-${TRACE}-${SPAN}-01`;

const recordedFor = (traceparent: string): string | undefined =>
  contextOf(callOf(AdminService.method.createTask, { headers: { traceparent } })).traceParent;

describe('the trace context of a caller', () => {
  it('is recorded with its command', () => expect(recordedFor(GIVEN)).toBe(GIVEN));

  it('of a later version is taken without the fields that this release does not know', () =>
    expect(recordedFor(`cc-${TRACE}-${SPAN}-01-what-comes`)).toBe(GIVEN));

  it('keeps all eight bits of its flags', () =>
    expect(traceContextIn(`00-${TRACE}-${SPAN}-a3`)).toEqual({ traceId: TRACE, spanId: SPAN, traceFlags: 0xa3 }));

  it('is written as it was read', () => expect(traceParentOf(traceContextIn(GIVEN)!)).toBe(GIVEN));

  it.each([
    '',
    'none',
    `ff-${TRACE}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `cc-${TRACE}-${SPAN}-01more`,
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-01\n`,
  ])('is ignored when it is not valid: %j', (given) => expect(recordedFor(given)).toBeUndefined());
});
