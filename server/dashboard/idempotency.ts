import { createHash } from 'node:crypto';
import { DomainError, invalidInput, quote } from '../../core/errors.js';
import { isObject, parseJson } from '../../core/schema/json-value.js';
import { plusMs } from '../../core/units/time.js';
import type { Reply } from './call.js';
import type { Tools } from './deps.js';
import type { Endpoint } from './endpoint.js';

// All replicas together do a POST with an Idempotency-Key once in 24 hours, and repeat its answer after that. Answers are kept by token
// and key, so that nobody else can ask for them. One token has at most `maxKeys` of at most `maxBytes`, so that it cannot fill the database.

const keptMs = 24 * 3_600_000;
/** Longer than any request takes. A process that died meanwhile has maybe done it, and then the key is free again. */
const runningMs = 5 * 60_000;
const maxKeys = 500;
const maxBytes = 16_384;

type Kept = { readonly request: string; readonly reply?: Reply; readonly isDone?: true };

export type Once = {
  readonly key: string;
  /** Hash of the token. */
  readonly sha256: string;
  /** Whatever makes it the same request. */
  readonly request: readonly unknown[];
};

/** Whether the header counts: the others change nothing. */
export function isDoneOnce({ method, message, needs = [] }: Endpoint): boolean {
  return method === 'post' && message === undefined && !needs.includes('read');
}

/**
 * Does it, or answers what was answered. Throws IDEMPOTENCY_KEY_REUSED, IDEMPOTENCY_REPLAY, QUOTA_EXCEEDED, INVALID_INPUT, and UNAVAILABLE
 * while the database is away.
 */
export async function doOnce(
  { texts, clock, log }: Pick<Tools, 'texts' | 'clock' | 'log'>,
  { key, sha256, request }: Once,
  isSecret: boolean,
  work: () => Promise<Reply>,
): Promise<Reply> {
  if (key.length > 255 || key.split('').some((char) => char < '!' || char > '~'))
    throw invalidInput({
      field: 'Idempotency-Key',
      expected: 'at most 255 visible ASCII characters',
      value: quote(key),
    });
  const prefix = `once ${sha256} `;
  const name = `${prefix}${hashText(key)}`;
  const asked = hashText(JSON.stringify(request));
  const running = JSON.stringify({ request: asked } satisfies Kept);
  const until = plusMs(clock.now(), runningMs);
  if (!(await texts.addText(name, running, until, { prefix, most: maxKeys }))) {
    const kept = parseJson((await texts.getText(name)) ?? '');
    if (!isObject(kept))
      throw new DomainError(
        'QUOTA_EXCEEDED',
        `The token has used ${maxKeys} keys in 24 hours: send without Idempotency-Key, or later`,
      );
    return repeated(kept as Kept, asked);
  }
  let reply: Reply;
  try {
    reply = await work();
  } catch (error) {
    // It failed, so it may be sent again. Whether it was done all the same (UNAVAILABLE), only `If-Match` can tell.
    await texts.takeText(name, running).catch(forgotten);
    throw error;
  }
  const { object: _, ...shown } = reply;
  const done = { request: asked, isDone: true } as const;
  const whole = JSON.stringify({ ...done, reply: shown } satisfies Kept);
  const kept = isSecret || Buffer.byteLength(whole) > maxBytes ? JSON.stringify(done satisfies Kept) : whole;
  await texts.putText(name, kept, plusMs(clock.now(), keptMs)).catch(forgotten);
  return reply;

  function forgotten(error: unknown): void {
    log.warn('answer to an idempotency key not kept', { error });
  }
}

function repeated({ request, reply, isDone }: Kept, asked: string): Reply {
  if (request !== asked)
    throw new DomainError(
      'IDEMPOTENCY_KEY_REUSED',
      'The Idempotency-Key was sent with another method, path or body',
    );
  if (reply !== undefined) return reply;
  throw new DomainError(
    'IDEMPOTENCY_REPLAY',
    isDone === true
      ? 'It was done by an earlier request with this Idempotency-Key, whose answer is not kept: it held a secret, or was too large'
      : 'An earlier request with this Idempotency-Key is not done yet: ask again in a few seconds',
  );
}

function hashText(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
