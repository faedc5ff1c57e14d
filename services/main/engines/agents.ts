import type { AgentClient } from '../../agents/agent-client.js';
import type { Configuration } from '../../config/configuration.js';

/** Clients of the configured agents. */
export type Agents = { readonly clients: readonly AgentClient[]; close(): void };

/** Opens a client for each configured agent; the library for their calls is loaded only when there is one. */
export const openAgents = async ({ agents, max_message_bytes: maxBytes }: Configuration): Promise<Agents> => {
  if (agents.length === 0) return { clients: [], close: () => undefined };
  const { agentClient } = await import('../../agents/agent-client.js');
  const clients = agents.map((agent) => agentClient(agent, maxBytes));
  return {
    clients,
    close: () => {
      for (const client of clients) client.close();
    },
  };
};
