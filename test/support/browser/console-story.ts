import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';

import { startChromium } from './chromium.js';
import { openPage } from './console-page.js';
import { flightlog } from '../processes/command.js';
import { type ServerProcess, startServerProcess } from '../processes/server-process.js';
import { type Credentials, post } from './sign-in.js';
import { overGrpc, type Transport, transport } from '../clients/transports.js';

/** The console in a browser, with its server, which can be killed and started again at the same address. */
export type ConsoleStory = {
  /** The data directory of the server. */
  readonly data: string;
  /** Errors of the scripts of all pages, and breaches of their content security policy. */
  readonly errors: readonly string[];
  /** The running server. @throws {Error} before the first start. */
  readonly server: () => ServerProcess;
  /** Opens a page in a browser context of its own. */
  readonly open: () => Promise<Page>;
  /** Starts the server on the data of the story; its HTTP port is free at first, and stays the same. */
  readonly start: (args?: readonly string[]) => Promise<void>;
  /** Kills the server while a page is open, starts it without arguments, and waits until the page has noticed both. */
  readonly restart: (page: Page) => Promise<void>;
  readonly close: () => Promise<void>;
};

/** Begins a story; nothing runs before its first `start` and `open`. */
export const consoleStory = (name: string, env: Readonly<Record<string, string>> = {}): ConsoleStory => {
  const data = mkdtempSync(join(tmpdir(), `flightlog-${name}-`));
  const errors: string[] = [];
  let server: ServerProcess | undefined;
  let browser: Browser | undefined;

  const running = (): ServerProcess => {
    if (!server) throw new Error('the story has no server yet');
    return server;
  };
  const start = async (args: readonly string[] = []): Promise<void> => {
    const port = server ? ['--http-port', new URL(server.ready.http).port] : [];
    server = await startServerProcess({
      data,
      args: [...port, ...args],
      env: { FLIGHTLOG_PROJECTS: '[flytesnacks]', ...env },
    });
  };
  return {
    data,
    errors,
    server: running,
    open: async () => openPage((browser ??= await startChromium()), errors),
    start,
    restart: async (page) => {
      await running().kill();
      await page.getByText('The server does not answer; trying again').waitFor();
      await start();
      await page.getByText('The server does not answer; trying again').waitFor({ state: 'detached' });
    },
    close: async () => {
      await browser?.close();
      await server?.stop();
      rmSync(data, { recursive: true });
    },
  };
};

/** Adds a user to the authorization server in a data directory, with a role in all projects and domains, or none. */
export const addUser = (data: string, { name, password }: Credentials, role?: string) => {
  const roles = role === undefined ? [] : ['--roles', role];
  return flightlog(['user', 'add', name, ...roles, '--data', data], { input: `${password}\n` }).ended;
};

/** Adds a client to the authorization server of a story, and makes a transport that calls as this client. */
export const clientOf = async ({ data, server }: ConsoleStory, name: string, role: string): Promise<Transport> => {
  const { stdout } = await flightlog(['client', 'add', name, '--roles', role, '--data', data]).ended;
  const fields = { grant_type: 'client_credentials', scope: 'all' };
  const { body } = await post(`${server().ready.http}/oauth2/token`, fields, `${name}:${stdout.trim()}`);
  const headers = { authorization: `Bearer ${body['access_token'] ?? ''}` };
  const grpc = overGrpc(server().ready);
  return transport(grpc.name, grpc.callersPackage, (rpc, request) => grpc.send(rpc, request, headers), grpc.close);
};

/** Opens an address of the console, which leads to the sign-in page; signs in there, and waits for the address. */
export const signIn = async (page: Page, { name, password }: Credentials, address: string): Promise<void> => {
  await page.goto(address);
  await page.getByLabel('User name').fill(name);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(address);
};
