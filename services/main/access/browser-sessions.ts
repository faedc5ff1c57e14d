import { resolve } from 'node:path';
import type { Logger } from 'pino';
import type { AuthorizationServer } from '../../auth/server/authorization-server.js';
import type { BrowserSessions } from '../../auth/browser/sessions.js';
import { signInLimits } from '../../auth/server/sign-in-limits.js';
import type { IssuerClient } from '../../auth/browser/issuer-client.js';
import { refusalCode } from '../../auth/issuer-errors.js';
import type { Configuration } from '../../config/configuration.js';
import type { AuditTrail } from '../../kernel/ports/audit-trail.js';
import type { Authentication } from '../../kernel/ports/authentication.js';
import { keyFile } from '../../store/key-file.js';
import { attemptRecorder } from './authorization-server.js';

type Settings = Pick<Configuration, 'data' | 'auth'>;

type Services = {
  readonly authentication: Authentication | undefined;
  readonly authorization: AuthorizationServer | undefined;
  readonly audit: AuditTrail | undefined;
  readonly logger: Logger;
  /** The URL that is listened on, once it is known. */
  readonly listening: () => string;
};

/** The issuer that signs people in: that of this process, or else the first one if a client for browsers is set. */
const issuerOf = async ({ auth }: Settings, server: AuthorizationServer | undefined) => {
  const { client_id: clientId, client_secret: clientSecret, scopes } = auth.browser;
  const [external] = auth.issuers;
  if (!server && (clientId === '' || !external)) return undefined;
  // Loaded where it is needed: a start without authentication pays nothing for it.
  const { ownIssuer, externalIssuer } = await import('../../auth/browser/issuer-client.js');
  const { audience } = auth.public_client;
  const issuer: IssuerClient = server
    ? ownIssuer(server)
    : externalIssuer(
        { issuer: external?.issuer ?? '', clientId, clientSecret, scope: scopes.join(' '), audience },
        Date.now,
      );
  return { issuer, name: () => server?.issuer ?? external?.issuer ?? '' };
};

const reasonOf = (error: unknown): string =>
  error instanceof Error ? `${error.message}${refusalCode(error)}` : 'unknown';

/** Opens browser sessions; `undefined` without authentication, and where no issuer signs people in by browser. */
export const openBrowserSessions = async (
  settings: Settings,
  { authentication, authorization, audit, logger, listening }: Services,
): Promise<BrowserSessions | undefined> => {
  const found = authentication && (await issuerOf(settings, authorization));
  if (!found) return undefined;
  const { auth, data } = settings;
  const { browserSessions } = await import('../../auth/browser/sessions.js');
  const { cookieJar } = await import('../../auth/browser/cookie-jar.js');
  const { sealerWith } = await import('../../auth/browser/sealed.js');
  const baseUrl = (): string => auth.browser.address || auth.server.issuer || listening();
  const sealer = sealerWith(keyFile(resolve(data), 'session.key'), Date.now);
  return browserSessions({
    baseUrl,
    jar: cookieJar({ baseUrl, sealer, now: Date.now }),
    issuer: found.issuer,
    authentication,
    isBehindProxy: auth.behind_tls,
    limits: signInLimits(auth.server.failures_per_minute),
    onAttempt: attemptRecorder(audit, found.name),
    onFailure: (error) => logger.warn({ reason: reasonOf(error) }, 'sign-in failed'),
    now: Date.now,
  });
};
