import { type Command, Option } from 'commander';
import { FORMS, type Form } from '../output/documents.js';
import type { ConnectionFlags } from './profile.js';

/** The flags of commands in a project and domain. */
export type ScopeFlags = ConnectionFlags & { readonly project: string; readonly domain: string };

/** The flags of commands that print what they get in the form that is asked for. */
export type FormFlags = { readonly output: Form };

/** Adds the flags that say where the server is and how to sign in. */
export const withConnection = (command: Command): Command =>
  command
    .option(
      '--server <url>',
      'http(s)://HOST:PORT of REST, or grpc(s)://HOST:PORT; otherwise --profile, FLIGHTLOG_SERVER, another profile, http://127.0.0.1:8080',
    )
    .option(
      '--profile <file>',
      'file with endpoint and credentials, or NAME for ~/.flyte/NAME.yaml; otherwise FLIGHTLOG_PROFILE, FLYTECTL_CONFIG, ~/.flyte/config.yaml',
    )
    .option('--token-file <file>', 'file with an access token; otherwise FLIGHTLOG_TOKEN_FILE');

/** Adds also the project and the domain of what the command is about. */
export const withScope = (command: Command, subject = 'the execution'): Command =>
  withConnection(command)
    .option('-p, --project <id>', `project of ${subject}`, 'flytesnacks')
    .option('-d, --domain <id>', `domain of ${subject}`, 'development');

/** Adds the flag of the form of the answer. */
export const withForm = (command: Command): Command =>
  command.addOption(new Option('-o, --output <form>', 'form of the answer').choices(FORMS).default('table'));

/** Adds the flag of the form of changes that are printed as they come. `named` is what the form `name` prints. */
export const withLiveForm = (command: Command, named: string): Command =>
  command.addOption(
    new Option(
      '-o, --output <form>',
      `form of the changes; json: one object a line; yaml: one document each; name: ${named}, one a line`,
    )
      .choices(FORMS)
      .default('table'),
  );

/** Adds examples to the help of a command, a line each. */
export const withExamples = (command: Command, examples: readonly string[]): Command =>
  command.addHelpText('after', `\nExamples:\n${examples.map((example) => `  flightlog ${example}`).join('\n')}`);
