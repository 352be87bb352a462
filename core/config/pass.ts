import { createHmac, timingSafeEqual } from 'node:crypto';
import type { WebhookMasterKeys } from '../secrets.js';
import type { Clock } from '../units/time.js';

export const passHeader = 'x-paymaster-pass';

const lifeMs = 60_000;
/** Clocks of pods differ by seconds: a pass that seems to live longer than this is not one of ours. */
const maxMs = 2 * lifeMs;

/**
 * How the dashboard tells a JSON-RPC server that its caller may see explanations of one paymaster. The dashboard has checked whose the
 * token is; the servers know some tokens only, and no scopes. A pass is `<end, ms>.<HMAC-SHA256, base64url>` under a key made from the
 * webhook master key, which both have. It shows a decision; nothing is signed for it.
 */
export type Passes = ReturnType<typeof createPasses>;

/** Both functions throw UNAVAILABLE while the keys in force are not mounted. */
export function createPasses({
  masterKeys,
  clock,
}: {
  readonly masterKeys: WebhookMasterKeys;
  readonly clock: Clock;
}) {
  return {
    issue(paymasterId: string): string {
      const end = String(clock.now() + lifeMs);
      return `${end}.${seal(masterKeys.webhook, paymasterId, end)}`;
    },

    admits(paymasterId: string, pass: string): boolean {
      const [, end = '', mac = ''] = /^([0-9]{1,15})\.([\w-]{43})$/.exec(pass) ?? [];
      const leftMs = Number(end) - clock.now();
      if (mac === '' || leftMs <= 0 || leftMs > maxMs) return false;
      return [masterKeys.webhook, masterKeys.webhookPrevious].some(
        (key) => key !== undefined && isEqual(seal(key, paymasterId, end), mac),
      );
    },
  };
}

function seal(master: Uint8Array, paymasterId: string, end: string): string {
  const key = createHmac('sha256', master)
    .update(JSON.stringify(['explanation pass']))
    .digest();
  return createHmac('sha256', key)
    .update(JSON.stringify([paymasterId, end]))
    .digest('base64url');
}

function isEqual(left: string, right: string): boolean {
  return timingSafeEqual(Buffer.from(left), Buffer.from(right));
}
