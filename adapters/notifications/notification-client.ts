import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formats, testType, type Message } from '../../core/notifications/message.js';
import type { NotificationSpec } from '../../core/resources/notification.js';
import type { WebhookMasterKeys } from '../../core/secrets.js';
import { createAddressGuard } from '../../core/policy/webhook/public-address.js';
import { deriveWebhookKey } from '../../core/policy/webhook/signing-key.js';
import { renderWebhook } from '../../core/policy/webhook/webhook-request.js';
import { checkWebhookUrl, type WebhookUrlRules } from '../../core/policy/webhook/webhook-url.js';
import { given } from '../../core/units/given.js';
import { toSeconds, type Clock } from '../../core/units/time.js';
import { networkErrorCode } from '../webhook/network-errors.js';
import { createGuardedConnector, createResolver, type ResolveHost } from '../webhook/ssrf-guard.js';
import { WebhookHosts } from '../webhook/webhook-hosts.js';

export type Receiver = {
  /** Its signing key is derived from it. */
  readonly id: string;
  /** Whose connections it uses. */
  readonly organisation: string;
  readonly spec: NotificationSpec;
};

/** `detail`: what went wrong. It holds nothing of the URL but its host, and nothing of the answer but its status. */
export type Delivery = { readonly isDelivered: boolean; readonly detail?: string };

export type NotificationClient = ReturnType<typeof createNotificationClient>;

type Deps = WebhookUrlRules & {
  /** Of files that `urlFile` names. */
  readonly directory?: string;
  readonly masterKeys: WebhookMasterKeys;
  readonly clock: Clock;
  /** Default: the DNS servers of the machine. */
  readonly resolve?: ResolveHost;
  readonly timeoutMs?: number;
};

const limits = {
  connections: 10,
  perPaymaster: 1,
  sockets: 40,
  perOrganisation: 5,
  maxWaitMs: 10_000,
  origins: 256,
  bodyBytes: 64 * 1024,
};

/** Posts messages to hosts that others choose, with the guard, the signature and the bounds of webhooks. Never throws because of a host. */
export function createNotificationClient(deps: Deps) {
  const { directory, masterKeys, clock, timeoutMs = 5_000 } = deps;
  const resolver = createResolver();
  const hosts = new WebhookHosts(
    createGuardedConnector({
      guard: createAddressGuard(deps),
      resolve: deps.resolve ?? resolver.resolve,
      connectTimeoutMs: timeoutMs,
      ...given({ privateHosts: deps.privateHosts }),
    }),
    limits,
  );

  /** Throws Undelivered; a URL is read for each message, since files change. */
  async function readUrl({ url, urlFile }: NotificationSpec): Promise<URL> {
    const text = url ?? (await readLine(directory, urlFile));
    const fault = checkWebhookUrl(text, deps);
    // Its text may hold a secret.
    if (fault !== undefined) throw new Undelivered(`the URL must be ${fault.expected}`);
    return new URL(text);
  }

  async function post({ id, organisation, spec }: Receiver, message: Message): Promise<void> {
    const url = await readUrl(spec);
    const { contentType, encode } = formats[spec.format ?? 'CloudEvents'];
    const body = Buffer.from(JSON.stringify(encode(message)));
    const rendered = renderWebhook({
      webhook: { policyId: id, name: spec.name, url: url.href, method: 'POST', onError: 'Deny' },
      data: undefined,
      body: () => body,
      requestId: message.id,
      isTest: message.type === testType,
      ...deriveKeys(masterKeys, id),
      now: toSeconds(clock.now()),
    });
    const request = { ...rendered, headers: { ...rendered.headers, 'content-type': contentType } };
    const signal = AbortSignal.timeout(timeoutMs);
    const { status } = await hosts
      .inTurn(url.origin, { paymasterId: id, organisation }, (send) => send(request, signal))
      .catch((error: unknown) => {
        // It has answered 200 before.
        if (networkErrorCode(error) === 'BODY_TOO_LARGE') return { status: 200 };
        throw new Undelivered(`${url.host} ${signal.aborted ? 'did not answer in time' : whyNot(error)}`);
      });
    const hint = status >= 300 && status < 400 ? '; redirects are not followed' : '';
    if (status < 200 || status > 299) throw new Undelivered(`${url.host} answered HTTP ${status}${hint}`);
  }

  return {
    async send(receiver: Receiver, message: Message): Promise<Delivery> {
      try {
        await post(receiver, message);
        return { isDelivered: true };
      } catch (error) {
        if (!(error instanceof Undelivered)) throw error;
        return { isDelivered: false, detail: error.message };
      }
    },
    /** Of which people are shown the host alone. Undefined: it cannot be read, or must not be called. */
    hostOf: async (spec: NotificationSpec) => (await readUrl(spec).catch(() => undefined))?.host,
    /** The text with which its owner checks what it gets. */
    signingKey: (id: string): string => deriveWebhookKey(masterKeys.webhook, id),
    async stop(): Promise<void> {
      resolver.stop();
      await hosts.stop();
    },
  };
}

class Undelivered extends Error {}

/** While the master key is replaced, a host that knows only the former key finds its signature in the usual header. */
function deriveKeys({ webhook, webhookPrevious }: WebhookMasterKeys, id: string) {
  const present = deriveWebhookKey(webhook, id);
  if (webhookPrevious === undefined) return { signingKey: present };
  return { signingKey: deriveWebhookKey(webhookPrevious, id), nextKey: present };
}

async function readLine(directory: string | undefined, file = ''): Promise<string> {
  try {
    if (directory !== undefined) return (await readFile(join(directory, file), 'utf8')).trim();
  } catch {
    // Its message names the directory.
  }
  throw new Undelivered(`urlFile "${file}" cannot be read`);
}

function whyNot(error: unknown): string {
  const code = networkErrorCode(error);
  return code === 'ADDRESS_REFUSED'
    ? 'was not called, its name has no address that may be called'
    : `could not be asked (${code})`;
}
