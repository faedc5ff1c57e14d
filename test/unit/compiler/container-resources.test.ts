import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { Resources_ResourceName as Name, ResourcesSchema } from '../../../proto/gen/platformidl/core/tasks_pb.js';
import {
  containerResources,
  type PlatformResources,
} from '../../../services/compiler/resources/container-resources.js';

type Amounts = Readonly<Partial<Record<keyof typeof Name, string>>>;

const entries = (amounts: Amounts) =>
  Object.entries(amounts).map(([name, value]) => ({ name: Name[name as keyof typeof Name], value }));

const read = (list: readonly { readonly name: Name; readonly value: string }[]): Amounts =>
  Object.fromEntries(list.map(({ name, value }) => [Name[name], value]));

/** The requests and limits of a container as they are completed from the defaults and limits of the platform. */
const completed = (requests: Amounts, limits: Amounts, platform: PlatformResources) => {
  const given = create(ResourcesSchema, { requests: entries(requests), limits: entries(limits) });
  const result = containerResources(given, platform);
  return { requests: read(result.requests), limits: read(result.limits) };
};

const PLATFORM = { defaults: { cpu: '2', memory: '200Mi' }, limits: { cpu: '4', memory: '1Gi', gpu: '1' } };

describe('the resources of a container', () => {
  it.each<readonly [string, { requests?: Amounts; limits?: Amounts }, Amounts]>([
    ['are the defaults when it requests nothing', {}, { CPU: '2', MEMORY: '200Mi' }],
    [
      'are its requests, which are its limits too',
      { requests: { CPU: '1', MEMORY: '1Mi' } },
      { CPU: '1', MEMORY: '1Mi' },
    ],
    ['are its limits, which are its requests too', { limits: { CPU: '500m' } }, { CPU: '500m', MEMORY: '200Mi' }],
    [
      'are at most the limits of the platform',
      { requests: { CPU: '8' }, limits: { CPU: '9' } },
      { CPU: '4', MEMORY: '200Mi' },
    ],
    [
      'request at most their own limit',
      { requests: { CPU: '3' }, limits: { CPU: '1' } },
      { CPU: '1', MEMORY: '200Mi' },
    ],
  ])('%s', (_, { requests = {}, limits = {} }, wanted) => {
    expect(completed(requests, limits, PLATFORM)).toEqual({ requests: wanted, limits: wanted });
  });

  it('have a GPU or ephemeral storage when given, the GPU at most to the limit of the platform', () => {
    expect(completed({ GPU: '2' }, { EPHEMERAL_STORAGE: '1Gi' }, PLATFORM)).toMatchObject({
      requests: { GPU: '1', EPHEMERAL_STORAGE: '1Gi' },
      limits: { GPU: '1', EPHEMERAL_STORAGE: '1Gi' },
    });
  });

  it('that are zero count as not given, those of the platform too', () => {
    const platform = { ...PLATFORM, defaults: { ...PLATFORM.defaults, gpu: '0', ephemeralStorage: '0Gi' } };
    const wanted = { CPU: '3', MEMORY: '200Mi' };
    expect(completed({ CPU: '0', MEMORY: '0Mi', GPU: '0' }, { CPU: '3', MEMORY: '0' }, platform)).toEqual({
      requests: wanted,
      limits: wanted,
    });
  });

  it('are zero without a request and a default, and unlimited when the limit of the platform is zero', () => {
    expect(completed({ CPU: '64' }, {}, { limits: { cpu: '0' } })).toEqual({
      requests: { CPU: '64', MEMORY: '0' },
      limits: { CPU: '64', MEMORY: '0' },
    });
  });
});
