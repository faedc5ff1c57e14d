import type { sendUnaryData, ServerReadableStream } from '@grpc/grpc-js';
import {
  type AppendReq_Options as AppendOptions,
  AppendReqSchema,
  AppendRespSchema,
} from '../../../proto/gen/event_store/client/streams_pb.js';
import { bytesOf, expectedOf, isLeaderWanted, nameOf, proposedOf, refusalOf } from './append-request.js';
import type { Proposed } from './log-file.js';
import type { Node } from './node.js';
import { invalidArgument, tooLarge } from './refusals.js';
import { type Append, type Expected, MAX_APPEND_BYTES, type Outcome } from './streams.js';
import { decoded, empty, encoded, positionFields } from './wire.js';

/** The last revision of a stream after an append; `undefined` is a stream without events. */
const revisionOption = (revision: bigint | undefined) =>
  revision === undefined
    ? ({ case: 'noStream', value: empty } as const)
    : ({ case: 'currentRevision', value: revision } as const);

/** The expected revision, as the answer repeats it. */
const echoOf = (expected: Expected) => {
  if (typeof expected === 'bigint') return { case: 'expectedRevision', value: expected } as const;
  const names = {
    any: 'expectedAny',
    'no-stream': 'expectedNoStream',
    'stream-exists': 'expectedStreamExists',
  } as const;
  return { case: names[expected], value: empty } as const;
};

/** The answer to a call with one append. @throws the refusal of an outcome that this answer cannot express. */
const appendAnswer = ({ stream, expected }: Append, outcome: Outcome): Buffer => {
  if (outcome.kind === 'written')
    return encoded(AppendRespSchema, {
      result: {
        case: 'success',
        value: {
          currentRevisionOption: revisionOption(outcome.revision),
          positionOption: { case: 'position', value: positionFields(outcome.position) },
        },
      },
    });
  if (outcome.kind !== 'wrong-version') throw refusalOf(stream, outcome);
  const { current } = outcome;
  return encoded(AppendRespSchema, {
    result: {
      case: 'wrongExpectedVersion',
      value: {
        currentRevisionOption:
          current === undefined
            ? { case: 'currentNoStream', value: empty }
            : { case: 'currentRevision', value: current },
        expectedRevisionOption: echoOf(expected),
      },
    },
  });
};

/** Reads the append of a call, which has one message with options and one for each event. */
const appendOf = async (call: ServerReadableStream<Buffer, Buffer>): Promise<Append> => {
  let options: AppendOptions | undefined;
  const events: Proposed[] = [];
  for await (const bytes of call as AsyncIterable<Buffer>) {
    const { content } = decoded(AppendReqSchema, bytes);
    if (content.case === 'options') options = content.value;
    else if (content.case === 'proposedMessage') events.push(proposedOf(content.value));
    if (bytesOf(events) > MAX_APPEND_BYTES) throw tooLarge(MAX_APPEND_BYTES);
  }
  if (options === undefined) throw invalidArgument('options are missing');
  return { stream: nameOf(options), expected: expectedOf(options.expectedStreamRevision), events };
};

/** Serves one append for each call. */
export const handleAppend =
  (node: Node) =>
  (call: ServerReadableStream<Buffer, Buffer>, respond: sendUnaryData<Buffer>): void => {
    const mayAnswer = node.remember();
    const run = async (): Promise<Buffer> => {
      const append = await appendOf(call);
      return appendAnswer(append, await node.write(append, isLeaderWanted(call)));
    };
    run().then(
      (bytes) => mayAnswer() && respond(null, bytes),
      (error: unknown) => mayAnswer() && respond(error as Error),
    );
  };
