import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { NamedEntityIdentifier } from '../../proto/gen/platformidl/admin/common_pb.js';
import {
  type ActiveLaunchPlanListRequest,
  LaunchPlanSchema,
  LaunchPlanState,
} from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import type { Identifier } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { versionNotFound, type SentIdentifier, versionOf, withResourceType } from '../../services/kernel/identifier.js';
import { type Call, missing, type Route, route, RpcError } from '../../services/kernel/rpc.js';
import type { StreamName } from '../../services/kernel/stream.js';
import { LAUNCH_PLAN_CATEGORY, launchPlanStream } from '../../services/launch-plan/events.js';
import { findFresh, type Freshness, latestDocument } from '../query/freshness.js';
import type { LinkedEntities } from '../query/columns.js';
import { listMessage } from '../query/list-message.js';
import type { ListPage } from '../query/list-query.js';
import type { Condition, ReadStore, StoredDocument } from '../runtime/read-store.js';
import { listVersionNames, listVersions, type VersionList } from '../query/versions/version-list.js';
import { launchPlanCollection, launchPlanColumns } from './columns.js';
import { launchPlanKey } from './projection.js';
import { fieldBytes } from '../../services/kernel/encoding/field-bytes.js';

/** The time at which the schedule of a version fires next, in milliseconds since 1970; `undefined` when it does not. */
type NextFire = (id: Identifier) => number | undefined;

const ID = LaunchPlanSchema.field.id.number;

/**
 * Adds the next fire time to an encoded launch plan. It is not part of the view, because it changes with the clock. It
 * is appended as a second closure, which Protobuf decoders merge into the first.
 */
const withNextFire = (plan: Uint8Array, nextFire: NextFire): Uint8Array => {
  const { id } = fromBinary(LaunchPlanSchema, fieldBytes(plan, ID));
  const atMs = id && nextFire(id);
  if (atMs === undefined) return plan;
  const addition = create(LaunchPlanSchema, { closure: { nextFireAt: timestampFromMs(atMs) } });
  return Buffer.concat([plan, toBinary(LaunchPlanSchema, addition)]);
};

export type LaunchPlanReads = {
  readonly store: ReadStore;
  readonly entities: LinkedEntities;
  readonly freshness: Freshness;
  readonly nextFire: NextFire;
};

const ACTIVE: Condition = { field: 'state', is: '=', value: LaunchPlanState.ACTIVE };

const message = ({ elements, token }: ListPage, nextFire: NextFire): Uint8Array =>
  listMessage({ elements: elements.map((plan) => withNextFire(plan, nextFire)), token });

const found = async (reads: LaunchPlanReads, sent: SentIdentifier | undefined, call: Call): Promise<Uint8Array> => {
  const id = versionOf('LAUNCH_PLAN', withResourceType('LAUNCH_PLAN', sent));
  const stream = launchPlanStream(id);
  const key = launchPlanKey(stream, id.version);
  const document = await latestDocument(reads, call, launchPlanCollection, { stream, key });
  if (document === undefined) throw versionNotFound('LAUNCH_PLAN', id);
  return withNextFire(document.response, reads.nextFire);
};

const PARTS = ['project', 'domain', 'name'] as const;

/**
 * The active version: one activated by events that are not yet projected, else that of the view unless those events
 * have deactivated it.
 */
const activeIn = (
  changed: readonly StoredDocument[],
  inView: Uint8Array | undefined,
  stream: StreamName,
): Uint8Array | undefined => {
  const active = changed.find(({ fields }) => fields['state'] === LaunchPlanState.ACTIVE);
  if (active !== undefined || inView === undefined) return active?.response;
  const version = fromBinary(LaunchPlanSchema, inView).id?.version ?? '';
  return changed.some(({ key }) => key === launchPlanKey(stream, version)) ? undefined : inView;
};

const foundActive = async (
  reads: LaunchPlanReads,
  id: NamedEntityIdentifier | undefined,
  call: Call,
): Promise<Uint8Array> => {
  if (id === undefined) throw missing('id');
  const empty = PARTS.find((part) => id[part] === '');
  if (empty !== undefined) throw missing(empty);
  const stream = launchPlanStream(id);
  const where = PARTS.map((field): Condition => ({ field, is: '=', value: id[field] }));
  const active = await findFresh(reads, call, { stream, collection: launchPlanCollection }, async (unprojected) => {
    const changed = await unprojected(launchPlanCollection, { under: stream });
    const { elements } = await reads.store.find(launchPlanCollection, {
      where: [...where, ACTIVE],
      orderBy: { field: 'recorded', direction: 'descending' },
      limit: 1,
    });
    return activeIn(changed, elements[0], stream);
  });
  if (active !== undefined) return withNextFire(active, reads.nextFire);
  const text = PARTS.map((part) => id[part]).join(':');
  throw new RpcError('NOT_FOUND', `No active launch plan could be found: ${text}`);
};

const listActive = async (
  list: VersionList & Pick<LaunchPlanReads, 'nextFire'>,
  request: ActiveLaunchPlanListRequest,
  call: Call,
): Promise<Uint8Array> => {
  const { project, domain } = request;
  const active = { ...list, rpc: 'ListActiveLaunchPlans', where: [ACTIVE] };
  return message(await listVersions(active, { project, domain }, { ...request, filters: '' }, call), list.nextFire);
};

/** Routes of the reads of launch plans. */
export const launchPlansRoutes = (reads: LaunchPlanReads): readonly Route[] => {
  const list = {
    ...reads,
    category: LAUNCH_PLAN_CATEGORY,
    collection: launchPlanCollection,
    columns: launchPlanColumns,
  };
  return [
    route(AdminService.method.getLaunchPlan, ({ id }, call) => found(reads, id, call)),
    route(AdminService.method.getActiveLaunchPlan, ({ id }, call) => foundActive(reads, id, call)),
    route(AdminService.method.listActiveLaunchPlans, (request, call) => listActive(list, request, call)),
    route(AdminService.method.listLaunchPlans, async (request, call) =>
      message(await listVersions({ ...list, rpc: 'ListLaunchPlans' }, request.id, request, call), reads.nextFire),
    ),
    route(AdminService.method.listLaunchPlanIds, (request, call) =>
      listVersionNames({ ...list, rpc: 'ListLaunchPlanIds' }, request, call),
    ),
  ];
};
