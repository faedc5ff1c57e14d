import { equals, fromBinary, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { LENIENT_JSON, STRICT_JSON } from '../../../services/gateway/rest/dialects.js';
import { routeTable } from '../../../services/gateway/routes.js';
import { wireFault } from '../../../services/gateway/wire/check.js';
import { eventSequences, fixtureFolders } from '../../support/requests/fixtures.js';

const endpoints = new Map(routeTable([]).map((endpoint) => [endpoint.name, endpoint]));
const requests = [...fixtureFolders(), ...eventSequences()].flatMap(({ entries }) => [...entries]);

describe('recorded requests of clients', () => {
  it.each(requests)('$path passes the check of its encoding, and is the same in either dialect of JSON', (request) => {
    const endpoint = endpoints.get(`${request.service}.${request.method}`)!;
    const { input } = endpoint.method;
    expect(wireFault(input, request.bytes)).toBeUndefined();
    const message = fromBinary(input, request.bytes);
    for (const dialect of [STRICT_JSON, LENIENT_JSON]) {
      const read = dialect.read(endpoint, dialect.write(input, message));
      expect(equals(input, read, message), dialect.mediaType).toBe(true);
      expect(toBinary(input, read).length).toBe(toBinary(input, message).length);
    }
  });
});
