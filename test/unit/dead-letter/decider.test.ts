import { create } from '@bufbuild/protobuf';
import { describe, it } from 'vitest';

import {
  DeadLetterRecordedSchema,
  DeadLetterRetryRequestedSchema,
  DeadLetterSettledSchema,
  DeadLetterSkippedSchema,
} from '../../../proto/gen/platformidl/eventlog/dead_letter_pb.js';
import type { DeadLetterRecord } from '../../../services/dead-letter/commands.js';
import { deadLetterDecider, letterMessage, MAX_DEAD_LETTERS } from '../../../services/dead-letter/decider.js';
import type { DeadLetterEvent } from '../../../services/dead-letter/events.js';
import { given } from '../../support/streams/given.js';

const reactor = 'release-slots';
const letter: DeadLetterRecord = {
  position: 7n,
  stream: 'launchPlanSlots-atlas:staging:nightly',
  revision: 2n,
  reason: 'payload abc is missing',
  sinceMs: 1_700_000_000_000,
  attempts: 8,
  parked: false, // its stream can be read; only the work has failed
};
/** The identification of the letter in commands and events. */
const about = { reactor, position: letter.position };

const recorded = (of: DeadLetterRecord = letter): DeadLetterEvent => ({
  type: 'DeadLetterRecorded',
  data: create(DeadLetterRecordedSchema, { letter: letterMessage(reactor, of) }),
});
const retried: DeadLetterEvent = {
  type: 'DeadLetterRetryRequested',
  data: create(DeadLetterRetryRequestedSchema, about),
};
const skipped: DeadLetterEvent = { type: 'DeadLetterSkipped', data: create(DeadLetterSkippedSchema, about) };
const settled: DeadLetterEvent = { type: 'DeadLetterSettled', data: create(DeadLetterSettledSchema, about) };

const record = (of: DeadLetterRecord = letter) => ({ type: 'RecordDeadLetter', reactor, letter: of }) as const;
const retry = { type: 'RetryDeadLetter', ...about } as const;
const skip = { type: 'SkipDeadLetter', ...about } as const;
const settle = { type: 'SettleDeadLetter', ...about } as const;

describe('a dead letter', () => {
  it('is recorded once', () => {
    given(deadLetterDecider).when(record()).then(recorded());
    given(deadLetterDecider, recorded()).when(record()).thenNothing();
  });

  it('accepts one retry request at a time, and is recorded again when the retry fails', () => {
    given(deadLetterDecider, recorded()).when(retry).then(retried);
    given(deadLetterDecider, recorded(), retried).when(retry).thenNothing();
    const later = { ...letter, reason: 'the payload is still missing' };
    given(deadLetterDecider, recorded(), retried).when(record(later)).then(recorded(later));
    given(deadLetterDecider, recorded(), retried, recorded(later)).when(retry).then(retried);
  });

  it('is settled once its work is done, with or without a retry request', () => {
    given(deadLetterDecider, recorded(), retried).when(settle).then(settled);
    given(deadLetterDecider, recorded()).when(settle).then(settled);
    given(deadLetterDecider, recorded(), settled).when(settle).thenNothing();
    given(deadLetterDecider).when(settle).thenNothing();
  });

  it('is skipped once, and not recorded again after that', () => {
    given(deadLetterDecider, recorded()).when(skip).then(skipped);
    given(deadLetterDecider, recorded(), retried).when(skip).then(skipped);
    given(deadLetterDecider, recorded(), skipped).when(skip).thenNothing();
    given(deadLetterDecider, recorded(), skipped).when(record()).thenNothing();
  });

  it('that is settled or skipped cannot be retried, and one that was not recorded can be neither retried nor skipped', () => {
    given(deadLetterDecider).when(retry).thenRefused({ kind: 'no-dead-letter' });
    given(deadLetterDecider).when(skip).thenRefused({ kind: 'no-dead-letter' });
    given(deadLetterDecider, recorded(), settled).when(retry).thenRefused({ kind: 'no-dead-letter' });
    given(deadLetterDecider, recorded(), skipped).when(retry).thenRefused({ kind: 'no-dead-letter' });
  });

  it('is recognized by stream and revision, because its event has another position in a copy of the log', () => {
    given(deadLetterDecider, recorded())
      .when(record({ ...letter, position: 900n }))
      .thenNothing();
    given(deadLetterDecider, recorded(), skipped)
      .when(record({ ...letter, position: 900n }))
      .thenNothing();
    const other = { ...letter, stream: 'launchPlanSlots-atlas:staging:hourly' };
    given(deadLetterDecider, recorded(), skipped).when(record(other)).then(recorded(other));
  });

  it('is refused to a reactor with too many of them, until one is skipped or settled', () => {
    const full = Array.from({ length: MAX_DEAD_LETTERS }, (_, at) =>
      recorded({ ...letter, position: BigInt(at + 1), revision: BigInt(at) }),
    );
    const further = { ...letter, position: 5_000n, revision: 5_000n }; // of another event than all of these
    given(deadLetterDecider, ...full)
      .when(record(further))
      .thenRefused({ kind: 'dead-letters-full' });
    for (const ended of [skipped, settled])
      given(deadLetterDecider, ...full, ended)
        .when(record(further))
        .then(recorded(further));
  });
});
