import kafkajs from 'kafkajs';
import { expect, it } from 'vitest';
import { ExportRefused, isOfConnection } from '../../../services/reactors/export-to-kafka/failure.js';

const { KafkaJSConnectionError, KafkaJSNumberOfRetriesExceeded, KafkaJSProtocolError } = kafkajs;
const RETRIED = { retryCount: 5, retryTime: 1_000 };

it.each([
  ['a refused connection', new KafkaJSConnectionError('connect ECONNREFUSED'), true],
  [
    'a closed connection, after retries',
    Object.assign(new Error('Closed connection'), { name: 'KafkaJSConnectionClosedError' }),
    true,
  ],
  ['an answer of the broker', new KafkaJSProtocolError(new Error('the leader moved')), false],
  ['topics that an operator must decide about', new ExportRefused('the topics have events'), false],
])('a failure is one of the connection, or not: %s', (_, error, is) => {
  expect(isOfConnection(error)).toBe(is);
  expect(isOfConnection(new KafkaJSNumberOfRetriesExceeded(error, RETRIED))).toBe(is);
});
