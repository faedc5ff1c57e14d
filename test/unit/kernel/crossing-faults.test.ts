import { describe, expect, it } from 'vitest';

import { faultFailures } from '../../../services/gateway/status.js';
import { crossingOf, faultOfCrossing } from '../../../services/kernel/crossing-faults.js';
import * as faults from '../../../services/kernel/fault.js';
import { LogEndsEarly } from '../../../services/kernel/log-readers/log-end.js';

type FaultClass = new (...parts: readonly unknown[]) => faults.Fault;

/** Every class of `fault.ts`, so that one without a line in the table of crossing faults is found. */
const classes = Object.values(faults).filter(
  (each) => each.prototype instanceof faults.Fault,
) as unknown as FaultClass[];

/** A fault as another thread receives it. */
const crossed = (fault: faults.Fault): faults.Fault => faultOfCrossing(structuredClone(crossingOf(fault)));

const fieldsOf = (fault: faults.Fault): unknown => [fault.message, Object.entries(fault)];

describe('a fault that crosses to another thread', () => {
  it.each(classes.map((each) => [each.name, each] as const))('keeps its class, message and fields: %s', (_, Class) => {
    const fault = new Class('a text', 7n, 'a reason');
    const arrived = crossed(fault);
    expect(arrived).toBeInstanceOf(Class);
    expect(fieldsOf(arrived)).toEqual(fieldsOf(fault));
  });

  it('has a class in `fault.ts` for each code that the gateway answers', () => {
    const codes = classes.map((each) => new each('a text', 7n, 'a reason').code);
    expect(codes.sort()).toEqual(Object.keys(faultFailures).sort());
  });

  it('has message and stack of its first cause, for the log, and arrives as the class of its code', () => {
    const first = Object.assign(new TypeError('an error that cannot be cloned'), { call: () => undefined });
    const { cause } = crossed(new faults.StoreUnavailable('away', new Error('no answer', { cause: first })));
    expect(cause).toBeInstanceOf(Error);
    expect(cause).toMatchObject({ message: first.message, stack: first.stack });
    expect(crossed(new faults.StoreUnavailable('away')).cause).toBeUndefined();
    expect(crossed(new faults.StreamParked('tally-a', 7n, first))).toMatchObject({ stream: 'tally-a', position: 7n });
    expect(crossed(new LogEndsEarly(1n, 2n))).toBeInstanceOf(faults.StoreUnavailable);
  });
});
