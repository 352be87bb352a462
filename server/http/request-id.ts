import { randomBytes } from 'node:crypto';

/** Names a request in answers, errors and log lines. */
export type RequestIds = { next(offered: string | undefined): string };

const acceptable = /^[A-Za-z0-9_.-]{1,64}$/;

/**
 * A client's or gateway's own `X-Request-Id` is kept when it is short and plain, so that one id follows a request
 * through all logs. Ours are a random prefix per process and a counter: unique without a random number per request.
 */
export function createRequestIds(): RequestIds {
  const prefix = randomBytes(6).toString('hex');
  let count = 0;
  return {
    next(offered) {
      if (offered !== undefined && acceptable.test(offered)) return offered;
      count += 1;
      return `${prefix}-${count.toString(36)}`;
    },
  };
}

const maxCallerIdLength = 128;

/**
 * A caller's own `X-Request-Id` as records keep it: its visible ASCII characters, at most 128 of them, so that a search
 * for what the caller sent finds it. Undefined when nothing is left.
 */
export function cleanRequestId(offered: string | undefined): string | undefined {
  if (offered === undefined) return undefined;
  const clean = offered.slice(0, 4 * maxCallerIdLength).replace(/[^\x21-\x7e]/g, '');
  return clean.slice(0, maxCallerIdLength) || undefined;
}
