import type { Endpoint } from '../routes.js';
import { isRead } from '../status.js';

/** The permissions of RPCs that change something, unless they only read. Engines report with `events`. */
const OF_COMMANDS: ReadonlySet<string> = new Set(['register', 'execute', 'admin']);

/** True for RPCs by which people and programs change something; false for reads and for reports of engines. */
export const isCommand = ({ requires, method }: Pick<Endpoint, 'requires' | 'method'>): boolean =>
  OF_COMMANDS.has(requires.permission) && !isRead(method);
