import type { DescMethod } from '@bufbuild/protobuf';
import {
  type AllOptions,
  type CreateReq_Options as CreateOptions,
  CreateReqSchema,
  CreateRespSchema,
  DeleteReqSchema,
  DeleteRespSchema,
  GetInfoReqSchema,
  GetInfoRespSchema,
  type ListReq_Options as ListOptions,
  ListReqSchema,
  ListRespSchema,
  PersistentSubscriptions,
  ReplayParkedReqSchema,
  ReplayParkedRespSchema,
  type Settings,
  type StreamOptions,
  type UpdateReq_Options as UpdateOptions,
  UpdateReqSchema,
  UpdateRespSchema,
} from '../../../../proto/gen/event_store/client/persistent_pb.js';
import { EmptySchema } from '../../../../proto/gen/event_store/client/values_pb.js';
import { invalid, missing } from '../../../kernel/rpc.js';
import type { ClientAccess } from '../access.js';
import { encodedMessage } from '../codec.js';
import { eventMatch } from '../read/filter.js';
import { type From, startOf } from '../read/read-request.js';
import { decodedRequest } from '../request-text.js';
import type { GroupFilter } from './configuration.js';
import { GroupFailure } from './group-failure.js';
import { ALL, groupOf, type GroupName, groupSourceOf } from './group-name.js';
import { groupInfo } from './group-info.js';
import type { GroupRegistry, NewGroup } from './groups.js';
import { groupSettingsOf } from './settings.js';

/** Answers an encoded request with an encoded answer. */
export type UnaryAnswer = (request: Uint8Array) => Promise<Buffer>;

/** Reads the start of a group. Clients before 21.10, and the official client for Node, send it in the settings. */
const streamStart = (options: StreamOptions | undefined, settings: Settings | undefined): From => {
  const chosen = options?.revisionOption;
  if (chosen?.case === undefined) return startOf(settings?.revision ?? 0n);
  return chosen.case === 'revision' ? startOf(chosen.value) : chosen.case;
};

const allStart = ({ allOption: chosen }: AllOptions): From => {
  if (chosen.case === undefined) return 'end';
  return chosen.case === 'position' ? startOf(chosen.value.commitPosition) : chosen.case;
};

const filterIn = ({ filterOption: { case: chosen, value } }: AllOptions): GroupFilter | undefined => {
  if (chosen !== 'filter') return undefined;
  const { case: on, value: expression } = value.filter;
  if (on === undefined) throw invalid('options.all.filter', 'stream_identifier or event_type is required');
  const { regex, prefix } = expression;
  const filter: GroupFilter = { on: on === 'eventType' ? 'type' : 'stream', regex, prefixes: prefix };
  eventMatch(filter.on, expression); // throws when it cannot be run
  return filter;
};

const newGroup = (options: CreateOptions | UpdateOptions | undefined): NewGroup => {
  if (options === undefined) throw missing('options');
  const { streamOption: chosen, streamIdentifier, settings } = options;
  const named = { group: groupOf(options.groupName), settings: groupSettingsOf(settings) };
  if (chosen.case === 'all')
    return { ...named, source: ALL, from: allStart(chosen.value), filter: filterIn(chosen.value) };
  const identifier = chosen.value?.streamIdentifier ?? streamIdentifier;
  const source = groupSourceOf(identifier ? { case: 'stream', value: identifier } : { case: undefined });
  return { ...named, source, from: streamStart(chosen.value, settings), filter: undefined };
};

type NamedOptions = { readonly streamOption: Parameters<typeof groupSourceOf>[0]; readonly groupName: string };

const nameIn = (options: NamedOptions | undefined): GroupName => {
  if (options === undefined) throw missing('options');
  return { source: groupSourceOf(options.streamOption), group: groupOf(options.groupName) };
};

const listedSource = (options: ListOptions | undefined): string | undefined => {
  const chosen = options?.listOption;
  if (chosen?.case === undefined) throw missing('options.list_option');
  return chosen.case === 'listForStream' ? groupSourceOf(chosen.value.streamOption) : undefined;
};

const list = async (groups: GroupRegistry, source: string | undefined): Promise<Buffer> => {
  const listed = await groups.list(source);
  if (source !== undefined && listed.length === 0)
    throw new GroupFailure('persistent-subscription-does-not-exist', { source, group: '' });
  return encodedMessage(ListRespSchema, { subscriptions: await Promise.all(listed.map(groupInfo)) });
};

const countIn = ({ case: chosen, value }: { readonly case?: string | undefined; readonly value?: unknown }): number => {
  if (chosen !== 'stopAt') return Number.MAX_SAFE_INTEGER;
  const count = Number(value);
  if (count < 0) throw invalid('options.stop_at', 'a count is needed');
  return count;
};

const {
  create,
  update,
  delete: remove,
  getInfo,
  list: listing,
  replayParked,
  restartSubsystem,
} = PersistentSubscriptions.method;

/** The unary calls about consumer groups. Those that change a group need a server that lets clients write. */
export const administration = (
  groups: GroupRegistry,
  access: ClientAccess,
): readonly (readonly [DescMethod, UnaryAnswer])[] => {
  const changing =
    (work: UnaryAnswer): UnaryAnswer =>
    async (request) => {
      access.assertGroupsAdministered();
      return work(request);
    };
  return [
    [
      create,
      changing(async (request) => {
        await groups.create(newGroup(decodedRequest(CreateReqSchema, request).options));
        return encodedMessage(CreateRespSchema, {});
      }),
    ],
    [
      update,
      changing(async (request) => {
        await groups.update(newGroup(decodedRequest(UpdateReqSchema, request).options));
        return encodedMessage(UpdateRespSchema, {});
      }),
    ],
    [
      remove,
      changing(async (request) => {
        await groups.remove(nameIn(decodedRequest(DeleteReqSchema, request).options));
        return encodedMessage(DeleteRespSchema, {});
      }),
    ],
    [
      replayParked,
      changing(async (request) => {
        const { options } = decodedRequest(ReplayParkedReqSchema, request);
        const running = await groups.running(nameIn(options));
        running.replay(countIn(options?.stopAtOption ?? {}));
        return encodedMessage(ReplayParkedRespSchema, {});
      }),
    ],
    [
      restartSubsystem,
      changing(async () => {
        await groups.closeAll((name) => new GroupFailure('persistent-subscription-dropped', name));
        return encodedMessage(EmptySchema, {});
      }),
    ],
    [
      getInfo,
      async (request) => {
        const running = await groups.running(nameIn(decodedRequest(GetInfoReqSchema, request).options));
        return encodedMessage(GetInfoRespSchema, { subscriptionInfo: await groupInfo(running) });
      },
    ],
    [listing, async (request) => list(groups, listedSource(decodedRequest(ListReqSchema, request).options))],
  ];
};
