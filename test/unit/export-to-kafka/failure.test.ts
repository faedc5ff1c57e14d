import kafkajs from 'kafkajs';
import { expect, it } from 'vitest';
import { ExportRefused, isOfConnection } from '../../../services/reactors/export-to-kafka/failure.js';

const { KafkaJSConnectionError, KafkaJSNumberOfRetriesExceeded, KafkaJSProtocolError } = kafkajs;
const RETRIED = { retryCount: 5, retryTime: 1_000 };

it.each([
  ['a refused connection', true, new KafkaJSConnectionError('connect ECONNREFUSED')],
  [
    'a closed connection',
    true,
    Object.assign(new Error('Closed connection'), { name: 'KafkaJSConnectionClosedError' }),
  ],
  ['an error that the broker answered', false, new KafkaJSProtocolError(new Error('the leader moved'))],
  ['topics that an operator must decide about', false, new ExportRefused('the topics have events')],
])('%s is a failure of the connection: %s, also when it is given up after retries', (_, isConnection, error) => {
  expect(isOfConnection(error)).toBe(isConnection);
  expect(isOfConnection(new KafkaJSNumberOfRetriesExceeded(error, RETRIED))).toBe(isConnection);
});
