import { describe, expect, it } from 'vitest';

import { unknownTypeNotes } from '../../../services/cli/log/unknown-types.js';

/** The note about a type that this release does not record. */
const note = (type: string, advice: string): string =>
  `flightlog: this release records no events of type ${type}; ${advice}`;

describe('the notes about the types of events that a command is given', () => {
  it('name the nearest type, without regard to case', () => {
    expect(unknownTypeNotes(['nodephasereported', 'ExecutionCreate'])).toEqual([
      note('nodephasereported', 'did you mean NodePhaseReported?'),
      note('ExecutionCreate', 'did you mean ExecutionCreated?'),
    ]);
  });

  it('say where the types are listed when none is near, and show no character that a terminal would obey', () => {
    expect(unknownTypeNotes(['Nope\u001b'])).toEqual([note('Nope', 'docs/events/README.md lists the types')]);
  });

  it('are none about a known type, about a type of which an event was found, and without types', () => {
    expect(unknownTypeNotes(['NodePhaseReported'])).toEqual([]);
    expect(unknownTypeNotes(['$metadata', 'Nope'], new Set(['$metadata']))).toHaveLength(1);
    expect(unknownTypeNotes()).toEqual([]);
  });
});
