import type { Command } from 'commander';
import { withConnection, withExamples } from '../connection/flags.js';
import type { ConnectionFlags } from '../connection/profile.js';
import type { SignInFlags } from './sign-in.js';

/** Adds `sign-in` and `sign-out`. */
export const addSignInCommands = (program: Command): void => {
  withExamples(withConnection(program.command('sign-in')), ['sign-in', 'sign-in --device --server https://HOST'])
    .description('sign in with a browser, for the commands that follow')
    .option('--device', 'print a code for a browser on another machine', false)
    .action(async (flags: SignInFlags) => {
      const { signIn } = await import('./sign-in.js');
      await signIn(flags);
    });
  withConnection(program.command('sign-out'))
    .description('remove the tokens of the sign-in from this machine, and revoke the refresh token at the issuer')
    .action(async (flags: ConnectionFlags) => {
      const { signOut } = await import('./sign-in.js');
      await signOut(flags);
    });
};
