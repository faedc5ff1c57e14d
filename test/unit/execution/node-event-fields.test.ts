import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { type NodeExecutionEvent, NodeExecutionEventSchema } from '../../../proto/gen/platformidl/event/event_pb.js';
import { readNodeEvent, type NodeEventFields } from '../../../services/execution/events.js';

/** Texts of one to four bytes a character, and one whose length takes two bytes. */
const word = fc.constantFrom('', 'a', 'flytesnacks', 'é–𐍈', 'x'.repeat(200));
/** From the beginning of the year 1 to the end of the year 9999. */
const time = fc.record({
  seconds: fc.bigInt({ min: -62_135_596_800n, max: 253_402_300_799n }),
  nanos: fc.nat(999_999_999),
});
const executionId = fc.record({ project: word, domain: word, name: word, org: word }, { requiredKeys: [] });
const nodeId = fc.record({ nodeId: word, executionId }, { requiredKeys: [] });
const literals = fc.record({ literals: fc.dictionary(word, fc.record({ hash: word })) });
const taskNode = fc.record({ checkpointUri: word, catalogKey: fc.record({ artifactTag: fc.record({ name: word }) }) });

/** A part of the event, with one to four of its fields. */
const part = fc.oneof(
  fc.record({ id: nodeId }),
  fc.record({ producerId: word, nodeName: word, eventVersion: fc.nat() }),
  fc.record({ phase: fc.integer({ min: -1, max: 12 }) }),
  fc.record({ occurredAt: time }),
  fc.record({ reportedAt: time }),
  fc.record({
    inputValue: fc.oneof(
      fc.record({ case: fc.constant('inputUri'), value: word }),
      fc.record({ case: fc.constant('inputData'), value: literals }),
    ),
  }),
  fc.record({
    outputResult: fc.oneof(
      fc.record({ case: fc.constant('outputUri'), value: word }),
      fc.record({ case: fc.constant('error'), value: fc.record({ code: word, message: word }) }),
      fc.record({ case: fc.constant('outputData'), value: literals }),
    ),
  }),
  fc.record({
    targetMetadata: fc.oneof(
      fc.record({ case: fc.constant('workflowNodeMetadata'), value: fc.record({ executionId }) }),
      fc.record({ case: fc.constant('taskNodeMetadata'), value: taskNode }),
    ),
  }),
  fc.record({ parentNodeMetadata: fc.record({ nodeId: word }) }),
  fc.record({ parentTaskMetadata: fc.record({ id: fc.record({ nodeExecutionId: nodeId, retryAttempt: fc.nat() }) }) }),
  fc.record({ isParent: fc.boolean(), isDynamic: fc.boolean(), isArray: fc.boolean(), isEager: fc.boolean() }),
  fc.record({ deckUri: word, retryGroup: word, specNodeId: word }),
);

const bytesOf = (parts: readonly object[]): Uint8Array =>
  Buffer.concat(parts.map((each) => toBinary(NodeExecutionEventSchema, create(NodeExecutionEventSchema, each))));

/** The fields that are used, from the parsed report or from the whole message. */
const usedFields = (
  event: Omit<NodeEventFields, 'first'>,
  { id, retryGroup, specNodeId }: Pick<NodeExecutionEvent, 'id' | 'retryGroup' | 'specNodeId'>,
): object => {
  const { phase, occurredAt, reportedAt, inputValue, outputResult, targetMetadata, deckUri } = event;
  const { parentTaskMetadata, parentNodeMetadata, isParent, isDynamic, isArray, isEager } = event;
  const parents = { parentTaskMetadata, parentNodeMetadata };
  const times = { occurredAt, reportedAt };
  const parts = { phase, inputValue, outputResult, targetMetadata, deckUri };
  return { id, retryGroup, specNodeId, isParent, isDynamic, isArray, isEager, ...parents, ...times, ...parts };
};

describe('the event of a node from an engine', () => {
  it('is read as protobuf decodes it, with any fields in any order, also repeated', () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        const message = bytesOf(parts);
        const parsed = readNodeEvent(message);
        const whole = fromBinary(NodeExecutionEventSchema, message);
        expect(usedFields(parsed, parsed.first())).toEqual(usedFields(whole, whole));
      }),
      { numRuns: 500 },
    );
  });

  it('has only the last field of each oneof', () => {
    const first = [
      { inputValue: { case: 'inputUri', value: 's3://i' } },
      { outputResult: { case: 'outputUri', value: 's3://o' } },
      { targetMetadata: { case: 'workflowNodeMetadata', value: { executionId: { name: 'n' } } } },
    ];
    const second = [
      { inputValue: { case: 'inputData', value: { literals: {} } } },
      { outputResult: { case: 'outputData', value: { literals: {} } } },
      { targetMetadata: { case: 'taskNodeMetadata', value: { checkpointUri: 's3://c' } } },
    ];
    const error = { outputResult: { case: 'error', value: { code: 'E' } } };
    for (const parts of [
      [...first, ...second],
      [...second, ...first],
      [...first, error, ...second],
    ]) {
      const message = bytesOf(parts);
      const [parsed, whole] = [readNodeEvent(message), fromBinary(NodeExecutionEventSchema, message)];
      expect(usedFields(parsed, parsed.first())).toEqual(usedFields(whole, whole));
    }
  });

  it('is refused when the bytes end early', () => {
    const whole = bytesOf([{ id: { nodeId: 'n0' }, deckUri: 's3://deck' }]);
    expect(() => readNodeEvent(whole.subarray(0, -1))).toThrow();
  });
});
