import { NamedEntityState as State } from '../../proto/gen/platformidl/admin/common_pb.js';
import type { NamedEntityEvent } from './events.js';

/** The description and state of a name; the state is `undefined` before the first update. */
export type NamedEntityNotes = { readonly description: string; readonly state: State | undefined };

export const initialNotes = (): NamedEntityNotes => ({ description: '', state: undefined });

export const evolveNotes = (_notes: NamedEntityNotes, { data }: NamedEntityEvent): NamedEntityNotes => {
  const { description = '', state = State.NAMED_ENTITY_ACTIVE } = data.metadata ?? {};
  return { description, state };
};
