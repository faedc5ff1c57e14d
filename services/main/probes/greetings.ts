import type { Greeting } from './probe.js';

const FRAME_TYPE = 3;
const SETTINGS = 4;

/** HTTP/2 as gRPC uses it: sends the preface and empty settings; the first frame of the answer must be settings. */
export const http2Greeting: Greeting = {
  protocol: 'HTTP/2',
  alpn: 'h2',
  bytes: Buffer.concat([
    Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    Buffer.from([0, 0, 0, SETTINGS, 0, 0, 0, 0, 0]),
  ]),
  isAnswer: (answer) => answer.length >= 9 && answer[0] === 0 && answer[FRAME_TYPE] === SETTINGS,
};

const REQUEST = 0x666c6f67;

const withLength = (body: Buffer): Buffer => {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length);
  return Buffer.concat([length, body]);
};

const API_VERSIONS = 18;

const kafkaHeader = (): Buffer => {
  const header = Buffer.alloc(10);
  header.writeInt16BE(API_VERSIONS, 0); // of version 0, which every broker answers, also before authentication
  header.writeInt32BE(REQUEST, 4);
  header.writeInt16BE(-1, 8); // no client id
  return header;
};

/** Kafka: asks which API versions the broker supports. */
export const kafkaGreeting: Greeting = {
  protocol: 'Kafka',
  bytes: withLength(kafkaHeader()),
  isAnswer: (answer) => answer.length >= 8 && answer.readInt32BE(4) === REQUEST,
};

const OP_MSG = 2_013;
const OP_REPLY = 1;

/** `{hello: 1, $db: 'admin'}` */
const helloDocument = (): Buffer => {
  const elements = Buffer.concat([
    Buffer.from('\u0010hello\0'),
    Buffer.from([1, 0, 0, 0]),
    Buffer.from('\u0002$db\0'),
    Buffer.from([6, 0, 0, 0]),
    Buffer.from('admin\0'),
    Buffer.from([0]),
  ]);
  const length = Buffer.alloc(4);
  length.writeInt32LE(elements.length + 4);
  return Buffer.concat([length, elements]);
};

const mongoMessage = (document: Buffer): Buffer => {
  const header = Buffer.alloc(21); // flags and the kind of the one section are 0
  header.writeInt32LE(header.length + document.length, 0);
  header.writeInt32LE(REQUEST, 4);
  header.writeInt32LE(OP_MSG, 12);
  return Buffer.concat([header, document]);
};

/** MongoDB: sends the command `hello`. */
export const mongoGreeting: Greeting = {
  protocol: 'MongoDB',
  bytes: mongoMessage(helloDocument()),
  isAnswer: (answer) =>
    answer.length >= 16 && answer.readInt32LE(8) === REQUEST && [OP_MSG, OP_REPLY].includes(answer.readInt32LE(12)),
};
