import type { Command } from 'commander';
import type { DataCommands } from '../maintenance/payload-commands.js';

/** Adds `bridge` to the command line. */
export const addBridgeCommand = (
  program: Command,
  { ownSettings, configurationOf }: Pick<DataCommands, 'ownSettings' | 'configurationOf'>,
): void => {
  program
    .command('bridge')
    .description('give launches to an engine in a Kubernetes cluster, as FlyteWorkflow objects that it runs')
    .option('--config <file>', 'settings in YAML or JSON; bridge.clusters names the clusters')
    .option('--endpoint <host:port>', 'gRPC address of the control plane (default 127.0.0.1:8081)')
    .option('--host <address>', 'address of metrics and health checks (default 127.0.0.1)')
    .option('--bridge-name <name>', 'name of the bridge in its group (default flightlog)')
    .option('--namespace-template <text>', 'namespace of an execution (default {{ project }}-{{ domain }})')
    .option('--producer-id <id>', 'producer_id of the events of the engines (default propeller)')
    .option('--capacity <n>', 'executions at a time (default 1000)')
    .option('--log-level <level>', 'least severe level that is logged (default info)')
    .addHelpText('after', ownSettings)
    .action(async (options: Readonly<Record<string, unknown>>) => {
      const { bridge } = await import('./bridge.js');
      await bridge(configurationOf(options));
    });
};
