import {
  type ProjectRegistered,
  ProjectRegisteredSchema,
  type ProjectUpdated,
  ProjectUpdatedSchema,
} from '../../proto/gen/platformidl/eventlog/project_pb.js';
import { eventShape, messageCodec } from '../kernel/encoding/message-codec.js';
import { type StreamName, streamName } from '../kernel/stream.js';

/** The category of the streams, `project-{id}`. */
export const PROJECT_CATEGORY = 'project';

export type ProjectEvent =
  | { readonly type: 'ProjectRegistered'; readonly data: ProjectRegistered }
  | { readonly type: 'ProjectUpdated'; readonly data: ProjectUpdated };

export const projectStream = (id: string): StreamName => streamName(PROJECT_CATEGORY, [id]);

export const projectCodec = messageCodec<ProjectEvent>({
  ProjectRegistered: eventShape(ProjectRegisteredSchema),
  ProjectUpdated: eventShape(ProjectUpdatedSchema),
});
