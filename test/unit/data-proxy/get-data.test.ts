import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { LiteralMapSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { GetDataRequestSchema } from '../../../proto/gen/platformidl/service/dataproxy_pb.js';
import type { DataProxyServices } from '../../../services/data-proxy/ports.js';
import { getData } from '../../../services/data-proxy/rpc-get-data.js';
import type { Call } from '../../../services/kernel/rpc.js';

const integer = (value: bigint) =>
  ({
    value: {
      case: 'scalar',
      value: { value: { case: 'primitive', value: { value: { case: 'integer', value } } } },
    },
  }) as const;

const fullOutputs = create(LiteralMapSchema, { literals: { o0: integer(7n) } });

const services = { runs: { ofNode: () => Promise.resolve({ fullOutputs }) } } as unknown as DataProxyServices;

/** Reads one output of the node by its name. */
const output = (name: string) =>
  getData(services, create(GetDataRequestSchema, { flyteUrl: `flyte://v1/p/d/run/n0/o/${name}` }), {} as Call);

describe('one output of a node', () => {
  it('is found by its name', async () => {
    expect((await output('o0')).data).toMatchObject({ case: 'literal', value: integer(7n) });
  });

  it.each(['o1', 'constructor', '__proto__'])('is refused when there is none of the name %s', async (name) => {
    await expect(output(name)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: `name [${name}] not found in node execution: flyte_url`,
    });
  });
});
