import { MongoInvalidArgumentError, MongoNetworkError, MongoServerError } from 'mongodb';
import { describe, expect, it } from 'vitest';

import { isRefusedWrite } from '../../../projections/store/mongo/driver-faults.js';

const answered = (code: number): MongoServerError => new MongoServerError({ message: 'refused', code });

describe('a failed write to MongoDB', () => {
  it.each([
    ['a duplicate key', answered(11_000)],
    ['a document that the validation of its collection refuses', answered(121)],
    ['a document that the server finds too large', answered(10_334)],
    [
      'a document that the driver finds too large',
      new MongoInvalidArgumentError('Document is larger than the maximum size 1'),
    ],
    ['a transaction that is too large', answered(257)],
  ])('would fail again for %s', (_, error) => {
    expect(isRefusedWrite(error)).toBe(true);
  });

  it.each([
    ['a server that is not reached', new MongoNetworkError('away')],
    ['a server that steps down', answered(189)],
    ['a server that denies access', answered(13)],
    ['a bad argument', new MongoInvalidArgumentError('Operation must be an object with an operation key')],
    ['a defect', new TypeError('no such method')],
  ])('may succeed later for %s', (_, error) => {
    expect(isRefusedWrite(error)).toBe(false);
  });
});
