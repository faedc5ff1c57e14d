import { describe, expect, it } from 'vitest';

import { revisionIn } from '../../../services/reactors/export-to-kafka/reconcile.js';

const PROTOBUF = { 'content-type': 'application/cloudevents+protobuf' };

describe('the event of a message', () => {
  it('is found in a CloudEvent', () => {
    const value = Buffer.from('{"stream":"task-a:b:c","sequence":"00000000000000000007"}');
    expect(revisionIn({}, value)).toEqual({ stream: 'task-a:b:c', revision: 7 });
  });

  it.each([
    ['text', 'plain text', {}],
    ['null', 'null', {}],
    ['a number', '7', {}],
    ['an empty object', '{}', {}],
    ['JSON without a sequence', '{"stream":"orders"}', {}],
    ['JSON whose stream is a number', '{"stream":7,"sequence":"7"}', {}],
    ['a message of protobuf without attributes', '', PROTOBUF],
  ])('is not found in %s', (_name, text, headers) => {
    expect(revisionIn(headers, Buffer.from(text))).toBeUndefined();
  });
});
