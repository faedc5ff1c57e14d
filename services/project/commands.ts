import type { Project } from '../../proto/gen/platformidl/admin/project_pb.js';

export type ProjectCommand =
  | { readonly type: 'RegisterProject'; readonly project: Project }
  /**
   * An empty name or description, and absent labels, leave the stored values unchanged; the state is always replaced.
   */
  | { readonly type: 'UpdateProject'; readonly project: Project };
