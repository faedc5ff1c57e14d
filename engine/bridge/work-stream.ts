import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { Metadata } from '@grpc/grpc-js';
import { EngineService } from '../../proto/gen/platformidl/eventlog/engine_service_pb.js';
import {
  WorkRequestSchema,
  type WorkResponse,
  WorkResponseSchema,
} from '../../proto/gen/platformidl/eventlog/engine_work_pb.js';
import { ANSWER_DEPTH } from '../answer-depth.js';
import { type ControlPlane, openChannel } from '../control-plane.js';

const { work } = EngineService.method;
const PATH = `/${work.parent.typeName}/${work.name}`;

/**
 * A message to the control plane: the content of a `WorkRequest`. `case` names the kind of message, such as `join`, and
 * `value` has the message.
 */
export type WorkRequestMessage = NonNullable<MessageInitShape<typeof WorkRequestSchema>['message']>;

/** One work stream: an open bidirectional call of `EngineService.Work`. */
export interface WorkStream {
  send(message: WorkRequestMessage): void;
  close(): void;
  /** Resolves with the reason when the stream has ended; never rejects. */
  readonly ended: Promise<string>;
}

/** Opens a work stream; `onMessage` is called for each message in order. */
export const openWorkStream = (plane: ControlPlane, onMessage: (message: WorkResponse) => void): WorkStream => {
  const client = openChannel(plane);
  const call = client.makeBidiStreamRequest(
    PATH,
    (bytes: Uint8Array) => Buffer.from(bytes),
    (bytes) => fromBinary(WorkResponseSchema, bytes, { recursionLimit: ANSWER_DEPTH }),
    new Metadata(),
  );
  const ended = new Promise<string>((resolve) => {
    call.on('error', (error) => resolve(error.message));
    call.on('end', () => resolve('the control plane has ended the stream'));
  });
  call.on('data', onMessage);
  void ended.then(() => client.close());
  return {
    send: (message) => void call.write(toBinary(WorkRequestSchema, create(WorkRequestSchema, { message }))),
    close: () => call.cancel(),
    ended,
  };
};
