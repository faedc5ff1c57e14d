import { describe, expect, it } from 'vitest';
import { assertNewEnough } from '../../../services/store/eventstore/nodes/server-version.js';

describe('the version of an event store', () => {
  it.each(['23.10.0', '23.10.6', '24.2.0.1', '24.10.4-preview', '25.0.1', '26.0.0', '0.0.0'])(
    'may be %s',
    (version) => {
      expect(() => assertNewEnough(version)).not.toThrow();
    },
  );

  it.each(['5.0.11', '20.10.5', '22.10.5', '23.6.0', 'unknown'])(
    'is refused when it is too old or unknown: %s',
    (version) => {
      expect(() => assertNewEnough(version)).toThrow(
        `the event store has version ${version}; 23.10 or later is required`,
      );
    },
  );

  it('must be reported', () => {
    expect(() => assertNewEnough(undefined)).toThrow('the event store does not report its version; 23.10 or');
  });
});
