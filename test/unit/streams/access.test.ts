import { expect, it } from 'vitest';
import { guestAccess } from '../../../services/streams/eventstore/access.js';

/** The access of a client of port 2113; streams of the category `execution` are the control plane's own. */
const access = guestAccess(new Set(['execution']));

it.each(['$settings', '$$orders-1', 'flightlog-identity', 'execution-a'])('a guest does not append to %s', (stream) => {
  expect(() => access.assertWritable(stream)).toThrow(expect.objectContaining({ code: 'PERMISSION_DENIED' }));
});

it.each(['orders-1', 'flightlog-orders'])('a guest appends to %s', (stream) => {
  expect(() => access.assertWritable(stream)).not.toThrow();
});
