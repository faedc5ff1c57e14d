import type { KoaContextWithOIDC } from 'oidc-provider';
import { ROUTES } from './endpoints.js';

/** The seconds between two polls of a device: the default of RFC 8628, which some clients want spelled out. */
const POLL_SECONDS = 5;

/** The user code in the address of the page, which a device prints or shows as a QR code. */
const codeIn = ({ method, path, query }: KoaContextWithOIDC): string | undefined =>
  method === 'GET' && path === ROUTES.code_verification && typeof query['user_code'] === 'string'
    ? query['user_code']
    : undefined;

const isDeviceAnswer = ({ method, path, status }: KoaContextWithOIDC): boolean =>
  method === 'POST' && path === ROUTES.device_authorization && status === 200;

/**
 * Middleware of Koa that completes answers of the device flow. It adds the polling interval to a new device code. Where
 * the address has a user code, it shows the form filled in with it; the page of the library would send itself by a
 * script.
 */
export const completeDeviceAnswers =
  (showCode: (context: KoaContextWithOIDC, code: string) => void) =>
  async (context: KoaContextWithOIDC, next: () => Promise<unknown>): Promise<void> => {
    await next();
    const code = codeIn(context);
    if (code !== undefined && context.status === 200) showCode(context, code);
    if (isDeviceAnswer(context)) context.body = { ...(context.body as object), interval: POLL_SECONDS };
  };
