import type { Configuration } from './configuration.js';
import { openLogger } from './logger.js';
import { registerSamples } from './samples.js';
import { type Running, startServer } from './server.js';
import { onStopSignals } from './stop-signals.js';
import { runEngine } from '../engine/engine.js';

const say = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

const greet = (server: Running): void => {
  const { http } = server;
  const api = `${http}/api/v1`;
  say(`flightlog sandbox (no authentication, this machine only)

  gRPC  ${server.grpc}
  REST  ${api}
  data  ${server.data}
`);
  say(`Try:

  curl -s '${api}/executions/flytesnacks/development?limit=5'
  curl -s '${api}/executions/flytesnacks/development/churn-v1'
  npx flightlog log cat --data ${server.data} --execution flytesnacks/development/churn-v1 --limit 5
`);
};

const fill = async (server: Running): Promise<void> => {
  if (server.isEmpty) {
    const { registered, execution } = await registerSamples(server.grpc);
    say(`registered ${registered} sample tasks, workflows and launch plans, and launched ${execution}`);
  } else {
    say(`found ${server.executions} executions; registered nothing again`);
  }
};

/** Serves with samples and a simulated engine until it is told to stop. */
export const runSandbox = async (
  configuration: Configuration,
  { engineRate }: { readonly engineRate: number },
): Promise<void> => {
  const logger = openLogger(configuration.log_level);
  const server = await startServer(configuration, logger);
  greet(server);
  await fill(server);
  say('a simulated engine runs what is launched; schedules do not fire and notifications are not sent yet');
  say('Ctrl-C stops');
  const stop = new AbortController();
  const engine = runEngine(
    {
      endpoint: server.grpc,
      concurrency: 16,
      rate: engineRate,
      failureProbability: 0,
      seed: 'sandbox',
      gates: 'auto',
      untilIdle: false,
    },
    { signal: stop.signal, logger },
  );
  await Promise.race([onStopSignals(), engine]);
  stop.abort();
  await engine;
  await server.close();
  say('stopped; the data is kept');
};
