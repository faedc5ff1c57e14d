import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useSyncExternalStore } from 'react';

import { callRpc } from './call.js';
import type { Scope } from './ids.js';

/**
 * The position of the last event of the stream after an action, and the id of the action's request. The event has
 * another request id when the action recorded nothing.
 */
export type Recorded = {
  readonly position: bigint;
  /** The project and domain of the action; `undefined` when it is about the whole control plane. */
  readonly scope: Scope | undefined;
  readonly requestId: string;
};

let last: Recorded | undefined;
const listeners = new Set<() => void>();

const setLast = (next: Recorded | undefined): void => {
  last = next;
  for (const listener of listeners) listener();
};

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** The event to show for the last action of this page; `undefined` when there is nothing to show. */
export const useRecorded = (): Recorded | undefined => useSyncExternalStore(subscribe, () => last);

/** Stops showing the event of the last action. */
export const forgetRecorded = (): void => setLast(undefined);

type Act = <Input extends DescMessage, Output extends DescMessage>(
  method: DescMethodUnary<Input, Output>,
  init: MessageInitShape<Input>,
) => Promise<MessageShape<Output>>;

/**
 * Gives a function that calls an RPC, shows what was recorded, and begins to read again what the page shows. An action
 * ends with the answer of the server, not with these reads, which may have to wait for views. Without a scope,
 * reading what was recorded needs the permission to read every project.
 */
export const useAct = (scope?: Scope): Act => {
  const client = useQueryClient();
  const { project, domain } = scope ?? {};
  return useCallback(
    async (method, init) => {
      const { message, position, requestId } = await callRpc(method, init);
      const place = project === undefined || domain === undefined ? undefined : { project, domain };
      setLast(position === undefined ? undefined : { position, scope: place, requestId });
      void client.invalidateQueries();
      return message;
    },
    [client, project, domain],
  );
};
