import { fromBinary } from '@bufbuild/protobuf';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type CompiledWorkflowClosure,
  CompiledWorkflowClosureSchema,
} from '../proto/gen/platformidl/core/compiler_pb.js';
import { type Identifier } from '../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../proto/gen/platformidl/service/admin_pb.js';
import { type InterfaceClient } from './client.js';
import { definitionKey } from './walk/run.js';

const MAX_DEFINITIONS = 256;
const CLOSURE_FILE = '.compiled_workflow_closure.pb';

/** Reads the compiled closures of workflows. Versions are immutable, so the most recently used ones are cached. */
export const createDefinitions = (
  client: InterfaceClient,
): ((id: Identifier) => Promise<CompiledWorkflowClosure | undefined>) => {
  const closures = new Map<string, CompiledWorkflowClosure | undefined>();
  return async (id) => {
    const key = definitionKey(id);
    const closure =
      closures.get(key) ?? (await client.call(AdminService.method.getWorkflow, { id })).closure?.compiledWorkflow;
    closures.delete(key);
    closures.set(key, closure);
    const [oldest] = closures.keys();
    if (closures.size > MAX_DEFINITIONS && oldest !== undefined) closures.delete(oldest);
    return closure;
  };
};

/** The name of the dynamic task that a closure belongs to: compilers add a prefix to it. */
const taskNameOf = (closure: CompiledWorkflowClosure): string =>
  (closure.primary?.template?.id?.name ?? '').replace(/^dynamic_/, '');

/** Reads the files `*.compiled_workflow_closure.pb` of a folder: the graphs of dynamic tasks, by task name. */
export const readDynamicClosures = (folder: string | undefined): ReadonlyMap<string, CompiledWorkflowClosure> => {
  const files = folder === undefined ? [] : readdirSync(folder).filter((name) => name.endsWith(CLOSURE_FILE));
  return new Map(
    files.map((name) => {
      const closure = fromBinary(CompiledWorkflowClosureSchema, readFileSync(join(folder ?? '', name)));
      return [taskNameOf(closure), closure];
    }),
  );
};
