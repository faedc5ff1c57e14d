import type { ReadModel, SeenEvent } from './read-model.js';

/** A decoded event, as the slice that writes it declares it. */
type SliceEvent = { readonly type: string; readonly data: unknown };

/** Handles the events of one type. */
export type Handler<Document, Event> = {
  /** Keys of the documents that the event touches, each once; by default the event's stream. */
  readonly touches?: (event: SeenEvent<Event>) => readonly string[];
  /** As `fold` of a {@link ReadModel}. */
  readonly fold: (document: Document | undefined, event: SeenEvent<Event>, key: string) => Document | undefined;
};

/** A handler for each type of a union of events. Without a handler for one of them, a read model does not compile. */
export type Handlers<Document, Event extends SliceEvent> = {
  readonly [Type in Event['type']]: Handler<Document, Extract<Event, { readonly type: Type }>>;
};

/** A read model by the events that it handles. */
export type TypedReadModel<Document, Event extends SliceEvent> = Omit<
  ReadModel<Document>,
  'follows' | 'touches' | 'fold'
> & {
  readonly handlers: Handlers<Document, Event>;
  /** Types under which logs of earlier formats have stored these events. */
  readonly formerTypes?: readonly string[];
};

/** Makes a read model that follows the events it has handlers for, and ignores every other event. */
export const readModel = <Document, Event extends SliceEvent>({
  handlers,
  formerTypes = [],
  ...rest
}: TypedReadModel<Document, Event>): ReadModel<Document> => {
  // The type of an event selects the handler of exactly that event; the compiler cannot infer this.
  const byType = new Map(Object.entries(handlers) as [string, Handler<Document, unknown>][]);
  const handlerOf = ({ body }: SeenEvent): Handler<Document, unknown> | undefined =>
    byType.get((body as SliceEvent).type);
  return {
    ...rest,
    follows: [...byType.keys(), ...formerTypes],
    touches: (event) => {
      const handler = handlerOf(event);
      if (handler === undefined) return [];
      return handler.touches?.(event) ?? [event.stream];
    },
    fold: (document, event, key) => handlerOf(event)?.fold(document, event, key),
  };
};
