import { describe, expect, it } from 'vitest';

import { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import type { MessageKey } from '../../../services/notification/commands.js';
import { openDigests, type Placed } from '../../../services/reactors/notify/digests.js';
import { failure } from './sample-message.js';

const WINDOW_MS = 60_000;
const key = (id: string, recipient = 'ann@example.com'): MessageKey => ({
  id,
  execution: { project: 'shop', domain: 'production', name: id },
  ...{ revision: 7n, phase: Phase.FAILED, channel: 'mail', recipient },
});
/** The answer that a message is sent now, as a digest of these others if there are any. */
const send = (...digest: readonly string[]): Placed => ({ kind: 'send', digest: digest.map((id) => key(id)) });

/** Digests after two messages that were sent by themselves at time 0, and `lead` and `b`, which wait. */
const collecting = () => {
  const digests = openDigests({ after: 2, windowMs: WINDOW_MS });
  const place = (id: string, nowMs: number, content = failure) => digests.place(key(id), content, nowMs);
  expect([place('x', 0), place('y', 0)]).toEqual([send(), send()]);
  expect(place('lead', 0)).toEqual({ kind: 'later', atMs: WINDOW_MS });
  expect(place('b', 10)).toMatchObject({ kind: 'later' });
  return { digests, place };
};

describe('messages about failures of one launch plan', () => {
  it('are sent by themselves up to a number, and then collected in one', () => {
    const { place } = collecting();
    expect(place('c', 20)).toMatchObject({ kind: 'later' });
    expect(place('lead', WINDOW_MS - 1)).toEqual({ kind: 'later', atMs: WINDOW_MS });
    expect(place('lead', WINDOW_MS)).toEqual(send('b', 'c'));
  });

  it('wait until the digest that has them is forgotten, and are then decided anew', () => {
    const { digests, place } = collecting();
    place('lead', WINDOW_MS);
    expect(place('b', WINDOW_MS + 1_000)).toMatchObject({ kind: 'later' });
    expect(place('lead', WINDOW_MS + 2_000)).toEqual(send('b'));
    digests.forget('lead');
    expect(place('b', 3 * WINDOW_MS)).toEqual(send());
    expect(place('d', 3 * WINDOW_MS)).toEqual(send());
  });

  it('are collected at once after a digest, while the launch plan continues to fail', () => {
    const { place } = collecting();
    place('lead', WINDOW_MS);
    expect(place('d', WINDOW_MS + 10)).toEqual({ kind: 'later', atMs: 2 * WINDOW_MS + 10 });
  });

  it('are sent by themselves again after a window without other messages', () => {
    const { place } = collecting();
    place('lead', WINDOW_MS);
    expect(place('d', 2 * WINDOW_MS)).toEqual(send());
  });

  it('are counted once, however often they are placed', () => {
    const digests = openDigests({ after: 2, windowMs: WINDOW_MS });
    for (let look = 0; look < 5; look += 1) expect(digests.place(key('x'), failure, look)).toEqual(send());
    expect(digests.place(key('y'), failure, 10)).toEqual(send());
  });

  it('are sent when the message that was to be their digest is given up', () => {
    const { digests, place } = collecting();
    digests.forget('lead');
    expect(place('b', WINDOW_MS + 1_000)).toEqual(send());
  });

  it('to other recipients and about other launch plans are counted apart, and those about a success are not counted', () => {
    const { digests, place } = collecting();
    expect(digests.place(key('e', 'bob@example.com'), failure, 20)).toEqual(send());
    expect(place('f', 20, { ...failure, launchPlan: { ...failure.launchPlan!, name: 'other' } })).toEqual(send());
    expect(place('g', 20, { ...failure, phase: Phase.SUCCEEDED })).toEqual(send());
  });

  it('are all sent by themselves when `after` is 0', () => {
    const digests = openDigests({ after: 0, windowMs: WINDOW_MS });
    for (let at = 0; at < 20; at += 1) expect(digests.place(key(`m${at}`), failure, 0)).toEqual(send());
  });
});
