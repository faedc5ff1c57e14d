import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { type ClientDuplexStream, type Client, Metadata, status, type StatusObject } from '@grpc/grpc-js';

import {
  type ReportRequestSchema as Request,
  ReportRequestSchema,
  type ReportResponse,
  ReportResponseSchema,
} from '../../../proto/gen/platformidl/eventlog/engine_report_pb.js';

const PATH = '/platformidl.eventlog.EngineService/Report';

/** The status of a stream. */
export type Ended = { readonly code: keyof typeof status; readonly message: string };

/** An open stream of events. */
export type ReportStream = {
  readonly call: ClientDuplexStream<Buffer, Buffer>;
  readonly send: (...events: readonly MessageInitShape<typeof Request>[]) => void;
  readonly sendBytes: (bytes: Uint8Array) => void;
  /** All answers so far. */
  readonly answers: readonly ReportResponse[];
  /** Waits for at least this many answers, or the end of the stream; gives all answers so far. */
  readonly answered: (count: number) => Promise<readonly ReportResponse[]>;
  readonly ended: Promise<Ended>;
};

const asIs = (bytes: Buffer): Buffer => bytes;

/** Opens a stream to `EngineService.Report`. */
export const openReport = (client: Client, headers: Readonly<Record<string, string>> = {}): ReportStream => {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  const call = client.makeBidiStreamRequest(PATH, asIs, asIs, metadata);
  const answers: ReportResponse[] = [];
  const waiters = new Set<() => void>();
  let isOver = false;
  const wakeAll = (): void => {
    for (const each of waiters) each();
  };
  call.on('data', (bytes: Buffer) => {
    answers.push(fromBinary(ReportResponseSchema, bytes));
    wakeAll();
  });
  call.on('error', () => undefined); // the status reports it
  const ended = new Promise<Ended>((resolve) => {
    call.on('status', ({ code, details }: StatusObject) => {
      isOver = true;
      resolve({ code: status[code] as keyof typeof status, message: details });
      wakeAll();
    });
  });
  const sendBytes = (bytes: Uint8Array): void => void call.write(Buffer.from(bytes));
  return {
    call,
    sendBytes,
    send: (...events) => {
      for (const event of events) sendBytes(toBinary(ReportRequestSchema, create(ReportRequestSchema, event)));
    },
    answers,
    answered: (count) =>
      new Promise((resolve) => {
        const each = (): void => {
          if (answers.length < count && !isOver) return;
          waiters.delete(each);
          resolve([...answers]);
        };
        waiters.add(each);
        each();
      }),
    ended,
  };
};
