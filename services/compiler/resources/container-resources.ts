import { create } from '@bufbuild/protobuf';

import {
  type Resources,
  Resources_ResourceName as ResourceName,
  type Resources_ResourceEntry as Entry,
  Resources_ResourceEntrySchema,
  ResourcesSchema,
} from '../../../proto/gen/platformidl/core/tasks_pb.js';
import { parseQuantity, type Quantity } from './quantity.js';

/**
 * Kubernetes quantities by resource; an absent, empty or zero value sets none. The shape of `admin.TaskResourceSpec`.
 */
export type Quantities = {
  readonly cpu?: string;
  readonly gpu?: string;
  readonly memory?: string;
  readonly ephemeralStorage?: string;
};

/** The platform's defaults and limits of a container. The shape of `admin.TaskResourceAttributes`. */
export type PlatformResources = {
  readonly defaults?: Quantities | undefined;
  readonly limits?: Quantities | undefined;
};

/** CPU and memory are always given; the others only where something asks for them. */
const RESOURCES = [
  { name: ResourceName.CPU, key: 'cpu', isAlways: true },
  { name: ResourceName.MEMORY, key: 'memory', isAlways: true },
  { name: ResourceName.EPHEMERAL_STORAGE, key: 'ephemeralStorage', isAlways: false },
  { name: ResourceName.GPU, key: 'gpu', isAlways: false },
] as const;

const isAbove = (a: Quantity, b: Quantity): boolean => a.numerator * b.denominator > b.numerator * a.denominator;

/** The text itself, or `bound` when that is the smaller quantity. */
const atMost = (text: string, bound: string | undefined): string => {
  const [value, most] = [parseQuantity(text), parseQuantity(bound ?? '')];
  if (bound === undefined || value === undefined || most === undefined) return text;
  return isAbove(value, most) ? bound : text;
};

/** The quantity itself; `undefined` for an empty one and for zero, which stands for none. */
const given = (text = ''): string | undefined =>
  text === '' || parseQuantity(text)?.numerator === 0n ? undefined : text;

type Bounds = { readonly request: string; readonly limit: string };

/** The request and the limit of one resource; `undefined` when nothing asks for it. */
const boundsOf = (
  ofTask: { readonly request: string | undefined; readonly limit: string | undefined },
  platform: { readonly byDefault: string | undefined; readonly most: string | undefined },
): Bounds | undefined => {
  const request = ofTask.request ?? ofTask.limit ?? platform.byDefault;
  if (request === undefined) return undefined;
  const limit = atMost(ofTask.limit ?? request, platform.most);
  return { request: atMost(atMost(request, platform.most), limit), limit };
};

const NOTHING: Bounds = { request: '0', limit: '0' };

const valueIn = (entries: readonly Entry[], name: ResourceName): string | undefined =>
  given(entries.find((entry) => entry.name === name)?.value);

const isKnown = ({ name }: Entry): boolean => RESOURCES.some((known) => known.name === name);

/**
 * Completes the resources of a container: its request, or else its limit, or else the platform's default; its limit, or
 * else its request; both at most the platform's limit, and the request at most the limit. Zero counts as not given.
 * Other resources stay as they were asked for.
 */
export const containerResources = (requested: Resources | undefined, platform: PlatformResources): Resources => {
  const { requests = [], limits = [] } = requested ?? {};
  const result = create(ResourcesSchema, {
    requests: requests.filter((entry) => !isKnown(entry)),
    limits: limits.filter((entry) => !isKnown(entry)),
  });
  for (const { name, key, isAlways } of RESOURCES) {
    const ofTask = { request: valueIn(requests, name), limit: valueIn(limits, name) };
    const level = { byDefault: given(platform.defaults?.[key]), most: given(platform.limits?.[key]) };
    const bounds = boundsOf(ofTask, level) ?? (isAlways ? NOTHING : undefined);
    if (bounds === undefined) continue;
    result.requests.push(create(Resources_ResourceEntrySchema, { name, value: bounds.request }));
    result.limits.push(create(Resources_ResourceEntrySchema, { name, value: bounds.limit }));
  }
  return result;
};
