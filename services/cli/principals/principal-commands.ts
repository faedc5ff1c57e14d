import { type Command, Option } from 'commander';
import { ACCESS_ROLES } from '../../auth/permissions/roles.js';
import type { ClientFlags, UserFlags } from './principals.js';
import type { DataCommands } from '../maintenance/payload-commands.js';

type Options = Readonly<Record<string, unknown>>;

const roles = (): Option =>
  new Option('--roles <role...>', 'roles in every project and domain, repeatable').choices(ACCESS_ROLES).default([]);

const PASSWORD_HELP = `
The password is asked for on a terminal; otherwise it is the first line of standard input. Servers that run know the
change at once.
`;

const addUserCommands = (program: Command, { withData, ownSettings, configurationOf }: DataCommands): void => {
  const user = program.command('user').description('people that may sign in');
  withData(user.command('add'))
    .argument('<name>')
    .description('add a person, for signing in')
    .addOption(roles())
    .option('--full-name <text>', 'the name to show')
    .option('--email <address>', 'the e-mail address to show')
    .addHelpText('after', PASSWORD_HELP)
    .addHelpText('after', ownSettings)
    .action(async (name: string, options: UserFlags & Options) => {
      const { addUser } = await import('./principals.js');
      await addUser(configurationOf(options), name, options);
    });
  withData(user.command('passwd'))
    .argument('<name>')
    .description('change a password, and end the sign-ins with the old one; access tokens stay valid until they expire')
    .addHelpText('after', PASSWORD_HELP)
    .addHelpText('after', ownSettings)
    .action(async (name: string, options: Options) => {
      const { changePassword } = await import('./principals.js');
      await changePassword(configurationOf(options), name);
    });
  withData(user.command('remove'))
    .argument('<name>')
    .description('remove a person, and end the sign-ins; access tokens stay valid until they expire')
    .addHelpText('after', ownSettings)
    .action(async (name: string, options: Options) => {
      const { removeUser } = await import('./principals.js');
      await removeUser(configurationOf(options), name);
    });
  withData(user.command('list'))
    .description('print the users, one a line, with their roles')
    .addHelpText('after', ownSettings)
    .action(async (options: Options) => {
      const { listUsers } = await import('./principals.js');
      await listUsers(configurationOf(options));
    });
};

const addClientCommands = (program: Command, { withData, ownSettings, configurationOf }: DataCommands): void => {
  const client = program.command('client').description('the programs that get tokens');
  withData(client.command('add'))
    .argument('<id>')
    .description('let a program get tokens; prints its secret, once, unless it is --public')
    .addOption(roles())
    .option(
      '--redirect-uri <url...>',
      'address to which authorization codes may be sent; repeatable. If all have http and a loopback host, any port is allowed in them',
    )
    .option('--public', 'without a secret, as a program on the machines of its users', false)
    .addHelpText('after', ownSettings)
    .action(async (id: string, options: ClientFlags & Options) => {
      const { addClient } = await import('./principals.js');
      await addClient(configurationOf(options), id, options);
    });
  withData(client.command('remove'))
    .argument('<id>')
    .description('let a program get no more tokens; those that were given stay valid until they expire')
    .addHelpText('after', ownSettings)
    .action(async (id: string, options: Options) => {
      const { removeClient } = await import('./principals.js');
      await removeClient(configurationOf(options), id);
    });
  withData(client.command('list'))
    .description('print the clients, one a line, with their roles')
    .addHelpText('after', ownSettings)
    .action(async (options: Options) => {
      const { listClients } = await import('./principals.js');
      await listClients(configurationOf(options));
    });
};

/** Adds the commands below `user` and `client`: the people and programs that the authorization server knows. */
export const addPrincipalCommands = (program: Command, commands: DataCommands): void => {
  addUserCommands(program, commands);
  addClientCommands(program, commands);
};
